package fsm

import (
	"fmt"
	"sort"
	"strconv"

	"github.com/houseful/houseful/fsm/wire"
)

// Layout is the furniture of a screen as a show sees it: immutable, and shared by every show that has the same.
type Layout struct {
	wire   *wire.Layout
	key    string // canonical encoding; equal layouts are one
	labels []string
	rows   []layoutRow
	rowOf  map[string]int // by label
	refs   int            // shows and bookings that use it; the machine's
}

// layoutRow is a row, with the places of its seats in the layout.
type layoutRow struct {
	first SeatIndex // of its first seat
	spans []*wire.Span
}

// NewLayout checks a layout and indexes its seats. The error says what to change, in terms of rows and numbers.
func NewLayout(layout *wire.Layout) (*Layout, error) {
	if len(layout.GetTiers()) == 0 || len(layout.GetRows()) == 0 {
		return nil, fmt.Errorf("a layout needs at least one row with a tier")
	}
	total, err := checkRows(layout)
	if err != nil {
		return nil, err
	}
	l := &Layout{
		wire: layout, key: string(appendLayout(nil, layout)), labels: make([]string, 0, total),
		rows: make([]layoutRow, len(layout.Rows)), rowOf: make(map[string]int, len(layout.Rows)),
	}
	for r, row := range layout.Rows {
		l.rowOf[row.Label] = r
		l.rows[r] = layoutRow{first: SeatIndex(len(l.labels)), spans: row.Blocks}
		for _, span := range row.Blocks {
			for number := span.First; number <= span.Last; number++ {
				l.labels = append(l.labels, row.Label+strconv.FormatUint(uint64(number), 10))
			}
		}
	}
	return l, nil
}

// seatDigitsMax is the most digits in a seat's number.
const seatDigitsMax = 6

// checkRows checks every row by itself and against the others, and counts the seats.
func checkRows(layout *wire.Layout) (total int, err error) {
	tiers := make(map[string]bool, len(layout.Tiers))
	for _, tier := range layout.Tiers {
		if tier.Name == "" || tiers[tier.Name] {
			return 0, fmt.Errorf("tier %q: a tier needs a name of its own", tier.Name)
		}
		tiers[tier.Name] = true
	}
	rows := make(map[string]bool, len(layout.Rows))
	for _, row := range layout.Rows {
		switch {
		case !validRowLabel(row.Label):
			return 0, fmt.Errorf("row %q: a row's label is 1 to %d letters", row.Label, RowLabelCharsMax)
		case rows[row.Label]:
			return 0, fmt.Errorf("row %q appears twice", row.Label)
		case int(row.Tier) >= len(layout.Tiers):
			return 0, fmt.Errorf("row %q: its tier does not exist", row.Label)
		}
		rows[row.Label] = true
		seats, err := checkRow(row)
		if err != nil {
			return 0, fmt.Errorf("row %q: %w", row.Label, err)
		}
		if total += seats; total > SeatsPerScreenMax {
			return 0, fmt.Errorf("more than %d seats", SeatsPerScreenMax)
		}
	}
	return total, nil
}

func validRowLabel(label string) bool {
	for _, c := range []byte(label) {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(label) >= 1 && len(label) <= RowLabelCharsMax
}

// checkRow checks a row's numbers: ascending, no number twice, attributes and pairs on seats that are there.
func checkRow(row *wire.Row) (seats int, err error) {
	if len(row.Blocks) == 0 {
		return 0, fmt.Errorf("no seats")
	}
	last := uint32(0)
	for _, span := range row.Blocks {
		if span.First == 0 || span.First <= last || span.Last < span.First {
			return 0, fmt.Errorf("seats %d-%d: numbers start at 1, ascend, and none comes twice", span.First, span.Last)
		}
		if last = span.Last; last > SeatsPerScreenMax {
			return 0, fmt.Errorf("seat number %d is above %d", last, SeatsPerScreenMax)
		}
		seats += int(span.Last-span.First) + 1
	}
	for _, attribute := range row.Attributes {
		if !contains(row.Blocks, attribute.Number, attribute.Number) {
			return 0, fmt.Errorf("attributes of seat %d, which is not there", attribute.Number)
		}
	}
	paired := make(map[uint32]bool, 2*len(row.Pairs))
	for _, pair := range row.Pairs {
		if pair.Last != pair.First+1 || !contains(row.Blocks, pair.First, pair.Last) {
			return 0, fmt.Errorf("pair %d-%d: a pair is two neighbours without an aisle", pair.First, pair.Last)
		}
		if paired[pair.First] || paired[pair.Last] {
			return 0, fmt.Errorf("pair %d-%d: a seat has one partner", pair.First, pair.Last)
		}
		paired[pair.First], paired[pair.Last] = true, true
	}
	return seats, nil
}

func contains(spans []*wire.Span, first, last uint32) bool {
	for _, span := range spans {
		if span.First <= first && first <= last && last <= span.Last {
			return true
		}
	}
	return false
}

// Seats is the number of seats.
func (l *Layout) Seats() int { return len(l.labels) }

// Label is a seat's label, for example C8.
func (l *Layout) Label(seat SeatIndex) string { return l.labels[seat] }

// Find gives the seat with a label.
func (l *Layout) Find(label string) (SeatIndex, bool) {
	letters := 0
	for letters < len(label) && (label[letters] < '0' || label[letters] > '9') {
		letters++
	}
	row, ok := l.rowOf[label[:letters]]
	if !ok || letters == len(label) || label[letters] == '0' || len(label)-letters > seatDigitsMax {
		return 0, false
	}
	number := uint32(0)
	for _, c := range []byte(label[letters:]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		number = 10*number + uint32(c-'0')
	}
	seat := l.rows[row].first
	for _, span := range l.rows[row].spans {
		if number >= span.First && number <= span.Last {
			return seat + SeatIndex(number-span.First), true
		}
		seat += SeatIndex(span.Last - span.First + 1)
	}
	return 0, false
}

// Row gives the 0-based row of a seat.
func (l *Layout) Row(seat SeatIndex) int {
	return sort.Search(len(l.rows), func(r int) bool { return l.rows[r].first > seat }) - 1
}

// RowLabel is a row's label.
func (l *Layout) RowLabel(row int) string { return l.wire.Rows[row].Label }

// RowSeats gives the first seat of a row and the one after its last.
func (l *Layout) RowSeats(row int) (first, end SeatIndex) {
	if row+1 < len(l.rows) {
		return l.rows[row].first, l.rows[row+1].first
	}
	return l.rows[row].first, SeatIndex(len(l.labels))
}

// Number is a seat's number in its row.
func (l *Layout) Number(seat SeatIndex) uint32 {
	row := l.rows[l.Row(seat)]
	offset := uint32(seat - row.first)
	for _, span := range row.spans {
		if size := span.Last - span.First + 1; offset >= size {
			offset -= size
			continue
		}
		return span.First + offset
	}
	panic("fsm: a seat outside its row")
}

// Tier is a seat's tier: an index into Tiers.
func (l *Layout) Tier(seat SeatIndex) int { return int(l.wire.Rows[l.Row(seat)].Tier) }

// TierName is a seat's tier by name.
func (l *Layout) TierName(seat SeatIndex) string { return l.wire.Tiers[l.Tier(seat)].Name }

// Wire gives the layout's description: tiers, rows, aisles, attributes, pairs. It must not be changed.
func (l *Layout) Wire() *wire.Layout { return l.wire }

// Definition is a show as it was resolved against the catalogue: immutable. A booking keeps the one it was made
// under, so its prices and refund policy never change (M-7).
type Definition struct {
	Spec       *wire.ShowSpec
	Layout     *Layout
	TierPrices []int64 // by tier of the layout, minor units
	ShowNames
	TheatreID string
	CityID    string
	TimeZone  string
	refs      int // shows and bookings that use it; the machine's
}

// NewDefinition checks a definition and indexes its layout.
func NewDefinition(d *wire.ShowDefinition) (*Definition, error) { return newDefinition(d, NewLayout) }

// newDefinition is NewDefinition with a way to index a layout, for who knows many that are equal.
func newDefinition(d *wire.ShowDefinition, index func(*wire.Layout) (*Layout, error)) (*Definition, error) {
	if err := CheckSpec(d.GetSpec()); err != nil {
		return nil, err
	}
	if d.Layout == nil {
		return nil, fmt.Errorf("a show needs a layout")
	}
	layout, err := index(d.Layout)
	if err != nil {
		return nil, err
	}
	if len(d.TierPrices) != len(d.Layout.Tiers) {
		return nil, fmt.Errorf("%d prices for %d tiers", len(d.TierPrices), len(d.Layout.Tiers))
	}
	for i, price := range d.TierPrices {
		if price < 0 || price > PriceMax {
			return nil, fmt.Errorf("tier %s: a price is 0 to %d minor units", d.Layout.Tiers[i].Name, int64(PriceMax))
		}
	}
	return &Definition{
		Spec: d.Spec, Layout: layout, TierPrices: d.TierPrices, TheatreID: d.TheatreId, CityID: d.CityId, TimeZone: d.TimeZone,
		ShowNames: ShowNames{MovieTitle: d.MovieTitle, TheatreName: d.TheatreName, ScreenName: d.ScreenName},
	}, nil
}

// Price is a seat's price in minor units.
func (d *Definition) Price(seat SeatIndex) int64 { return d.TierPrices[d.Layout.Tier(seat)] }

// Wire gives the definition as it travels in the log.
func (d *Definition) Wire() *wire.ShowDefinition {
	return &wire.ShowDefinition{
		Spec: d.Spec, Layout: d.Layout.wire, TierPrices: d.TierPrices, MovieTitle: d.MovieTitle, TheatreId: d.TheatreID,
		TheatreName: d.TheatreName, ScreenName: d.ScreenName, CityId: d.CityID, TimeZone: d.TimeZone,
	}
}
