package rest

import (
	"slices"

	"github.com/houseful/houseful/fsm"
)

// seatSelection is the seats of a request: labels or 1-based ids, sorted, none twice. Its slices are reused.
type seatSelection struct {
	labels  []string // views of the request's body
	seatIDs []uint32
}

// read takes the seats out of a body with the fields seats and seatIds. most bounds their number. Both absent is an
// error only when the call needs seats.
func (sel *seatSelection) read(body *object, most int, needed bool) {
	sel.labels, sel.seatIDs = sel.labels[:0], sel.seatIDs[:0]
	switch {
	case body.has("seats") && body.has("seatIds"):
		body.fail("seatIds", "and seats name the same thing twice; give one of them")
	case body.has("seats"):
		sel.readLabels(body, most)
	case body.has("seatIds"):
		sel.readIDs(body, most)
	case needed:
		body.fail("seats", "is needed: at least one seat")
	}
}

func (sel *seatSelection) readLabels(body *object, most int) {
	values := body.list("seats", most)
	for _, value := range values {
		label, ok := view(value)
		if !ok || !validSeatLabel(label) {
			body.fail("seats", "%s is not a seat label such as C8", clip(string(value.MarshalTo(nil))))
			return
		}
		sel.labels = append(sel.labels, label)
	}
	if len(values) == 0 {
		body.fail("seats", "must name at least one seat")
	}
	slices.Sort(sel.labels)
	for i := 1; i < len(sel.labels); i++ {
		if sel.labels[i] == sel.labels[i-1] {
			body.fail("seats", "%s appears twice", sel.labels[i])
		}
	}
}

func (sel *seatSelection) readIDs(body *object, most int) {
	values := body.list("seatIds", most)
	for _, value := range values {
		id, ok := integerOf(value)
		if !ok || id < 1 || id > fsm.SeatsPerScreenMax {
			body.fail("seatIds", "%s is not a seat id: a whole number from 1", clip(string(value.MarshalTo(nil))))
			return
		}
		sel.seatIDs = append(sel.seatIDs, uint32(id))
	}
	if len(values) == 0 {
		body.fail("seatIds", "must name at least one seat")
	}
	slices.Sort(sel.seatIDs)
	for i := 1; i < len(sel.seatIDs); i++ {
		if sel.seatIDs[i] == sel.seatIDs[i-1] {
			body.fail("seatIds", "%d appears twice", sel.seatIDs[i])
		}
	}
}

// validSeatLabel reports whether text may be a seat's label: a row of 1 to 3 letters and a number without leading
// zeros. Whether the seat exists is the show's to say.
func validSeatLabel(text string) bool {
	row := 0
	for row < len(text) && (text[row] >= 'A' && text[row] <= 'Z' || text[row] >= 'a' && text[row] <= 'z') {
		row++
	}
	number := text[row:]
	const digitsMax = 6 // of fsm.SeatsPerScreenMax
	if row < 1 || row > fsm.RowLabelCharsMax || len(number) < 1 || len(number) > digitsMax || number[0] == '0' {
		return false
	}
	for i := range len(number) {
		if number[i] < '0' || number[i] > '9' {
			return false
		}
	}
	return true
}
