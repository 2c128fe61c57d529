package rest

import (
	"strconv"

	"github.com/houseful/houseful/fsm"
)

// The bodies about seats are appended by hand, without reflection and without an allocation per seat: a map of 500
// seats is built 40 times a second while a show is hot.

// seatBytesEstimate is the usual length of one seat in a seat map, for the first allocation.
const seatBytesEstimate = 112

// appendSeatMap writes the body of GET /shows/{id}/seats. There is one status a seat.
func appendSeatMap(dst []byte, show *fsm.Show, statuses []byte) []byte {
	definition := show.Definition
	layout := definition.Layout
	dst = append(dst, `{"showId":`...)
	dst = appendString(dst, string(show.ID))
	dst = appendVersion(append(dst, ','), show)
	dst = append(dst, `,"seats":[`...)
	var rowPart []byte // `","row":"A","number":`, the same for a whole row
	var tierPart []byte
	rows := layout.Wire().Rows
	for r, row := range rows {
		tier := row.Tier
		rowPart = append(appendString(append(rowPart[:0], `","row":`...), row.Label), `,"number":`...)
		tierPart = appendString(append(tierPart[:0], `,"tier":`...), layout.Wire().Tiers[tier].Name)
		tierPart = strconv.AppendInt(append(tierPart, `,"price":`...), definition.TierPrices[tier], 10)
		tierPart = append(tierPart, `,"status":"`...)
		seat, _ := layout.RowSeats(r)
		for _, span := range row.Blocks {
			for number := span.First; number <= span.Last; number++ {
				if seat > 0 {
					dst = append(dst, ',')
				}
				dst = strconv.AppendUint(append(dst, `{"seatId":`...), uint64(seat)+1, 10)
				dst = append(dst, `,"label":"`...) // letters and a number: nothing to escape
				dst = append(dst, layout.Label(seat)...)
				dst = append(dst, rowPart...)
				dst = strconv.AppendUint(dst, uint64(number), 10)
				dst = append(dst, tierPart...)
				dst = append(dst, statusName(statuses[seat])...)
				dst = append(dst, `"}`...)
				seat++
			}
		}
	}
	return append(dst, `]}`...)
}

// statusName gives the name behind a letter of an availability string.
func statusName(letter byte) string {
	switch letter {
	case 'H':
		return "HELD"
	case 'B':
		return "BOOKED"
	case 'X':
		return "BLOCKED"
	}
	return "AVAILABLE"
}

// appendAvailability writes the full form of GET /shows/{id}/availability, which is also the stream's snapshot.
func appendAvailability(dst []byte, show *fsm.Show, letters []byte) []byte {
	dst = appendVersion(append(dst, '{'), show)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, letters...)
	return append(dst, `"}`...)
}

// appendChanges writes the delta form: the seats that changed after the version that was asked about.
func appendChanges(dst []byte, show *fsm.Show, changes []fsm.SeatChange) []byte {
	dst = appendVersion(append(dst, '{'), show)
	dst = append(dst, `,"changes":[`...)
	for i, change := range changes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(append(dst, '['), uint64(change.Seat)+1, 10)
		dst = append(dst, ',', '"', change.Status.Letter(), '"', ']')
	}
	return append(dst, `]}`...)
}

// appendVersion writes what every body about seats carries: which version it is, of when, of which layout, whether
// the show sells, and its census (M-33).
func appendVersion(dst []byte, show *fsm.Show) []byte {
	dst = strconv.AppendUint(append(dst, `"version":`...), show.Version, 10)
	dst = appendTime(append(dst, `,"asOf":`...), show.AsOf)
	dst = strconv.AppendUint(append(dst, `,"layoutVersion":`...), show.LayoutVersion, 10)
	dst = append(dst, `,"showStatus":"`...)
	dst = append(dst, show.Status.String()...)
	dst = append(dst, `","counts":`...)
	return appendCounts(dst, show.Counts)
}
