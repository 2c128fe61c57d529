package fsm

import (
	"strconv"
	"strings"
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

func itoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// M-1: what a layout may be, and that the error says what to change.
func TestLayouts(t *testing.T) {
	span := func(first, last uint32) *wire.Span { return &wire.Span{First: first, Last: last} }
	for _, c := range []struct {
		change func(*wire.Layout)
		err    string
	}{
		{func(*wire.Layout) {}, ""},
		{func(l *wire.Layout) { l.Rows[0].Label = "ABC" }, ""},
		{func(l *wire.Layout) { l.Rows[0].Pairs = []*wire.Span{span(1, 2), span(3, 4)} }, ""},
		{func(l *wire.Layout) { l.Rows = nil }, "at least one row"},
		{func(l *wire.Layout) { l.Tiers = nil }, "at least one row with a tier"},
		{func(l *wire.Layout) { l.Tiers[1].Name = "SILVER" }, `tier "SILVER"`},
		{func(l *wire.Layout) { l.Tiers[1].Name = "" }, `tier ""`},
		{func(l *wire.Layout) { l.Rows[1].Label = "A" }, `row "A" appears twice`},
		{func(l *wire.Layout) { l.Rows[1].Label = "ABCD" }, "1 to 3 letters"},
		{func(l *wire.Layout) { l.Rows[1].Label = "" }, "1 to 3 letters"},
		{func(l *wire.Layout) { l.Rows[1].Label = "A1" }, "1 to 3 letters"},
		{func(l *wire.Layout) { l.Rows[1].Tier = 3 }, "tier does not exist"},
		{func(l *wire.Layout) { l.Rows[1].Blocks = nil }, `row "B": no seats`},
		{func(l *wire.Layout) { l.Rows[1].Blocks[0] = span(0, 4) }, "start at 1"},
		{func(l *wire.Layout) { l.Rows[1].Blocks[1] = span(4, 8) }, "none comes twice"},
		{func(l *wire.Layout) { l.Rows[1].Blocks[0] = span(3, 2) }, "ascend"},
		{func(l *wire.Layout) { l.Rows[1].Blocks[1] = span(5, 100_001) }, "above 100000"},
		{func(l *wire.Layout) { l.Rows[1].Blocks[1] = span(5, 1<<32-1) }, "above 100000"},
		{func(l *wire.Layout) { l.Rows[0].Blocks[1], l.Rows[1].Blocks[1] = span(5, 60_000), span(5, 60_000) }, "more than 100000"},
		{func(l *wire.Layout) { l.Rows[1].Attributes = []*wire.SeatAttributes{{Number: 9}} }, "seat 9, which is not there"},
		{func(l *wire.Layout) { l.Rows[1].Pairs = []*wire.Span{span(4, 5)} }, "without an aisle"},
		{func(l *wire.Layout) { l.Rows[1].Pairs = []*wire.Span{span(1, 3)} }, "two neighbours"},
		{func(l *wire.Layout) { l.Rows[1].Pairs = []*wire.Span{span(1, 2), span(2, 3)} }, "one partner"},
		{func(l *wire.Layout) { l.Rows[1].Pairs = []*wire.Span{span(1<<32-1, 0)} }, "two neighbours"}, // failed once: a number wrapped
	} {
		description := testLayout()
		c.change(description)
		l, err := NewLayout(description)
		if (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
			t.Errorf("want %q, got %v", c.err, err)
		}
		if err == nil {
			checkLayout(t, l)
		}
	}
}

// M-2: equal layouts are one, however many shows have them, and go with the last.
func TestLayoutsAreShared(t *testing.T) {
	r := newRig(t)
	for _, id := range []string{"1", "2", "3"} {
		r.must(r.putShow(id, nil), CodeOK)
	}
	first, _ := r.m.Show("1", r.now)
	third, _ := r.m.Show("3", r.now)
	if len(r.m.layouts) != 1 || first.Definition.Layout != third.Definition.Layout {
		t.Errorf("%d layouts for one", len(r.m.layouts))
	}
	b := r.held("u1", "1", "A1")
	r.must(r.release(b, false), CodeOK)
	for _, id := range []string{"1", "2", "3"} {
		r.must(r.putShow(id, func(d *wire.ShowDefinition) {
			d.Spec.ScreenId, d.Layout, d.TierPrices = "S", smallLayout(4), []int64{1, 2}
		}), CodeOK)
	}
	if len(r.m.layouts) != 2 { // the booking still tells its seats by the old one
		t.Errorf("%d layouts", len(r.m.layouts))
	}
	if got := r.booking(b.Ref); got.Seats[0].Label != "A1" || got.TotalAmount != 15_000 {
		t.Errorf("the old booking: %+v", got)
	}
	r.now += 2 * day
	r.pulseUntilIdle()
	if len(r.m.layouts) != 1 {
		t.Errorf("%d layouts after the booking left", len(r.m.layouts))
	}
}

// Every reference has one text of 30 characters that reads back, and no other text reads as one.
func TestBookingRef(t *testing.T) {
	ref := NewBookingRef(513, [14]byte{0xff, 1})
	if got, err := ParseBookingRef(ref.String()); err != nil || got != ref || ref.Shard() != 513 || len(ref.String()) != 30 {
		t.Errorf("%s: %s %v", ref, got, err)
	}
	for _, text := range []string{"", "BMS-", ref.String()[1:], ref.String() + "0", strings.ToLower(ref.String()), "XYZ" + ref.String()[3:], ref.String()[:29] + "1", ref.String()[:29] + "U"} {
		if _, err := ParseBookingRef(text); err == nil {
			t.Errorf("%q was read as a reference", text)
		}
	}
}
