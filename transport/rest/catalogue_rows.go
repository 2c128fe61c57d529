package rest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

// layoutBuilder makes a layout of a screen's rows. Tiers stand in the order in which the rows name them, and those
// that no row has behind them.
type layoutBuilder struct {
	layout wire.Layout
	tiers  map[string]uint32
	labels map[string]bool
	seats  int
}

func newLayoutBuilder() *layoutBuilder {
	return &layoutBuilder{tiers: make(map[string]uint32), labels: make(map[string]bool)}
}

// tier gives a tier's index, and its place in the layout if it has none yet.
func (b *layoutBuilder) tier(name string) uint32 {
	index, ok := b.tiers[name]
	if !ok {
		index = uint32(len(b.layout.Tiers))
		b.tiers[name] = index
		b.layout.Tiers = append(b.layout.Tiers, &wire.Tier{Name: name})
	}
	return index
}

// addRow reads a row as a client writes it. What is wrong with it is kept in o.
func (b *layoutBuilder) addRow(o *object) {
	row := &wire.Row{Label: o.text("row", meta.NameBytesMax)}
	switch {
	case o.err != nil:
	case !validRowLabel(row.Label):
		o.fail("row", "must be 1 to %d letters", fsm.RowLabelCharsMax)
	case b.labels[row.Label]:
		o.fail("row", "row %s appears twice", row.Label)
	}
	b.labels[row.Label] = true
	tier := o.text("tier", meta.NameBytesMax)
	spec := o.text("seats", BodyBytesMax)
	if o.err != nil {
		return
	}
	row.Tier = b.tier(tier)
	var err error
	if row.Blocks, err = parseBlocks(spec); err != nil {
		o.fail("seats", "%s", err)
		return
	}
	for _, block := range row.Blocks {
		b.seats += int(block.Last-block.First) + 1
	}
	if b.seats > fsm.SeatsPerScreenMax {
		o.fail("seats", "the screen has more than %d seats", fsm.SeatsPerScreenMax)
		return
	}
	row.Attributes = readAttributes(o, row.Blocks)
	row.Pairs = readPairs(o, row.Blocks)
	b.layout.Rows = append(b.layout.Rows, row)
}

func validRowLabel(label string) bool {
	for _, c := range []byte(label) {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(label) >= 1 && len(label) <= fsm.RowLabelCharsMax
}

// parseBlocks reads the seats of a row, for example "1-4,5-8". Each part between commas is a block of neighbours: a
// comma is an aisle. Numbers start at 1, ascend, and none comes twice.
func parseBlocks(text string) ([]*wire.Span, error) {
	blocks, err := meta.ParseSpans(text)
	if err != nil {
		return nil, fmt.Errorf("%w; a comma is an aisle", err)
	}
	last := uint32(0)
	for _, block := range blocks {
		switch {
		case block.Last < block.First:
			return nil, fmt.Errorf("range %d-%d runs backwards", block.First, block.Last)
		case block.First <= last:
			return nil, fmt.Errorf("seat %d stands after seat %d; numbers ascend, and none comes twice", block.First, last)
		case block.Last > fsm.SeatsPerScreenMax:
			return nil, fmt.Errorf("seat number %d is above %d", block.Last, fsm.SeatsPerScreenMax)
		}
		last = block.Last
	}
	return blocks, nil
}

// readAttributes reads what is special about single seats, by number.
func readAttributes(o *object, blocks []*wire.Span) []*wire.SeatAttributes {
	var attributes []*wire.SeatAttributes
	o.entries("attributes", fsm.SeatsPerScreenMax, func(key string, value *fastjson.Value) {
		field := "attributes." + clip(key)
		number, err := strconv.ParseUint(key, 10, 32)
		if err != nil || strconv.FormatUint(number, 10) != key || !inOneBlock(blocks, uint32(number), uint32(number)) {
			o.fail(field, "is not a seat of this row")
			return
		}
		if names := readNames(o, field, value, AttributesPerSeatMax); len(names) > 0 {
			attributes = append(attributes, &wire.SeatAttributes{Number: uint32(number), Names: names})
		}
	})
	slices.SortFunc(attributes, func(a, b *wire.SeatAttributes) int { return int(a.Number) - int(b.Number) })
	return attributes
}

// readNames reads a list of short texts, none empty.
func readNames(o *object, field string, list *fastjson.Value, most int) []string {
	values, err := list.Array()
	if err != nil || len(values) > most {
		o.fail(field, "must be a list of at most %d texts", most)
		return nil
	}
	names := make([]string, 0, len(values))
	for _, value := range values {
		text, ok := view(value)
		if !ok || text == "" || len(text) > meta.NameBytesMax {
			o.fail(field, "must be texts of 1 to %d bytes", meta.NameBytesMax)
			return nil
		}
		names = append(names, strings.Clone(text))
	}
	return names
}

// readPairs reads the sofa pairs of a row: two neighbours without an aisle, each seat in one pair.
func readPairs(o *object, blocks []*wire.Span) []*wire.Span {
	var pairs []*wire.Span
	for i, value := range o.list("pairs", fsm.SeatsPerScreenMax) {
		text, _ := view(value)
		pair, err := meta.ParseSpans(text)
		if err != nil || len(pair) != 1 || pair[0].Last != pair[0].First+1 || !inOneBlock(blocks, pair[0].First, pair[0].Last) {
			o.fail("pairs["+strconv.Itoa(i)+"]", `must be two neighbours of this row such as "3-4", without an aisle between them`)
			return nil
		}
		pairs = append(pairs, pair[0])
	}
	slices.SortFunc(pairs, func(a, b *wire.Span) int { return int(a.First) - int(b.First) })
	for i := 1; i < len(pairs); i++ {
		if pairs[i].First <= pairs[i-1].Last {
			o.fail("pairs", "seat %d is in two pairs", pairs[i].First)
		}
	}
	return pairs
}

// inOneBlock reports whether the seats first to last stand together.
func inOneBlock(blocks []*wire.Span, first, last uint32) bool {
	i, _ := slices.BinarySearchFunc(blocks, first, func(block *wire.Span, number uint32) int {
		return int(block.Last) - int(number)
	})
	return i < len(blocks) && blocks[i].First <= first && last <= blocks[i].Last
}

// seatCount is the number of seats of a layout.
func seatCount(layout *wire.Layout) (seats int) {
	for _, row := range layout.GetRows() {
		for _, block := range row.Blocks {
			seats += int(block.Last-block.First) + 1
		}
	}
	return seats
}
