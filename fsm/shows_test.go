package fsm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

// Who may hold, confirm and extend after what staff did, and what staff may do next; repeats change nothing.
func TestSaleStates(t *testing.T) {
	const pause, resume = wire.ShowAction_SHOW_ACTION_PAUSE, wire.ShowAction_SHOW_ACTION_RESUME
	const stop, cancel = wire.ShowAction_SHOW_ACTION_CLOSE, wire.ShowAction_SHOW_ACTION_CANCEL
	type actions = []wire.ShowAction
	for _, c := range []struct {
		actions               actions
		last                  Code
		status                ShowStatus
		hold, confirm, extend Code
	}{
		{actions{resume}, CodeOK, ShowOnSale, CodeOK, CodeOK, CodeOK},
		{actions{pause}, CodeOK, ShowPaused, CodeSalePaused, CodeOK, CodeOK},
		{actions{stop}, CodeOK, ShowClosed, CodeSaleClosed, CodeOK, CodeOK},
		{actions{cancel}, CodeOK, ShowCancelled, CodeSaleClosed, CodeBookingState, CodeBookingState},
		{actions{pause, resume}, CodeOK, ShowOnSale, CodeOK, CodeOK, CodeOK},
		{actions{stop, resume}, CodeOK, ShowOnSale, CodeOK, CodeOK, CodeOK},
		{actions{pause, stop}, CodeOK, ShowClosed, CodeSaleClosed, CodeOK, CodeOK},
		{actions{stop, cancel}, CodeOK, ShowCancelled, CodeSaleClosed, CodeBookingState, CodeBookingState},
		{actions{cancel, resume}, CodeSaleClosed, ShowCancelled, CodeSaleClosed, CodeBookingState, CodeBookingState},
		{actions{cancel, pause}, CodeSaleClosed, ShowCancelled, CodeSaleClosed, CodeBookingState, CodeBookingState},
		{actions{cancel, stop}, CodeSaleClosed, ShowCancelled, CodeSaleClosed, CodeBookingState, CodeBookingState},
	} {
		t.Run(fmt.Sprint(c.actions), func(t *testing.T) {
			r := newShowRig(t, nil)
			b := r.held("u1", "1", "A1")
			var got *Result
			for i, action := range c.actions {
				want := CodeOK
				if i == len(c.actions)-1 {
					want = c.last
				}
				got = r.must(r.control("1", action), want)
			}
			if show, _ := r.m.Show("1", r.now); show.Status != c.status {
				t.Fatalf("the show is %s", show.Status)
			}
			if again := r.control("1", c.actions[len(c.actions)-1]); got.Code == CodeOK && again.Show.Version != got.Show.Version {
				t.Fatalf("a repeat changed something: %+v", again.Show)
			}
			r.must(r.hold("u2", "1", "B1"), c.hold)
			r.now++
			r.must(r.extend(b), c.extend)
			r.must(r.confirm(b, "PAY-1"), c.confirm)
		})
	}
	r := newShowRig(t, nil)
	r.must(r.control("none", pause), CodeShowNotFound)
	r.must(r.control("1", 77), CodeInvalid)
}

// The sale opens and closes to the millisecond.
func TestSaleTimes(t *testing.T) {
	r := newShowRig(t, func(d *wire.ShowDefinition) {
		d.Spec.SalesOpenAtMs, d.Spec.SalesCloseAtMs = int64(start)+1000, int64(start)+2000
	})
	r.now = start + 999
	if got := r.must(r.hold("u1", "1", "A1"), CodeSaleNotOpen); got.At != start+1000 {
		t.Errorf("opens at %d", got.At)
	}
	r.now = start + 1000
	b := r.held("u1", "1", "A1")
	r.now = start + 1999
	r.held("u2", "1", "A2")
	r.now = start + 2000
	r.must(r.hold("u3", "1", "A3"), CodeSaleClosed)
	r.must(r.extend(b), CodeOK)
	r.must(r.confirm(b, "PAY-1"), CodeOK)
}

// What PUT may change while seats are held or booked, and that the same body changes nothing.
func TestPutShow(t *testing.T) {
	smaller := func(d *wire.ShowDefinition) {
		d.Spec.ScreenId, d.Layout = "SCR-2", smallLayout(4)
		d.TierPrices = []int64{1, 2}
	}
	currency := func(d *wire.ShowDefinition) { d.Spec.Currency = "USD" }
	price := func(d *wire.ShowDefinition) {
		d.Spec.Pricing, d.TierPrices = &wire.Pricing{Strategy: PricingFlat, Amount: 7}, []int64{7, 7, 7}
	}
	for name, change := range map[string]func(*wire.ShowDefinition){"screenId": smaller, "currency": currency, "pricing": price} {
		r := newShowRig(t, nil)
		r.must(r.block("1", "A2", "E1"), CodeOK)
		b := r.held("u1", "1", "A1")
		r.must(r.putShow("1", change), CodeShowInUse)
		r.must(r.confirm(b, "PAY-1"), CodeOK)
		r.must(r.putShow("1", change), CodeShowInUse)
		r.must(r.cancel(b), CodeOK)
		due := r.held("u1", "1", "A1")
		r.must(r.putShow("1", change), CodeShowInUse)
		r.now = due.ExpiresAt
		got := r.must(r.putShow("1", change), CodeOK).Show
		if got.Revision != 2 || got.LayoutVersion != 2 || r.seat("1", "A2") != SeatBlocked {
			t.Errorf("%s: %+v, A2 is %s", name, got, r.seat("1", "A2"))
		}
		if name == "screenId" && got.Counts != (Counts{Available: 9, Blocked: 1, Total: 10}) {
			t.Errorf("%s: %+v", name, got.Counts)
		}
		if _, _, complete, _ := r.m.SeatChanges("1", r.now, 1, nil); name == "screenId" && complete {
			t.Error("changes over a change of seats were called complete")
		}
		r.must(r.release(r.held("u1", "1", "A3"), false), CodeOK)
	}
	r := newShowRig(t, nil)
	b := r.held("u1", "1", "A1")
	version, _ := r.m.ShowVersion("1")
	titles := func(d *wire.ShowDefinition) { d.MovieTitle, d.TierPrices = "Another", []int64{1, 1, 1} }
	if got := r.must(r.putShow("1", titles), CodeOK); got.Created || got.Show.Version != version || got.Show.Revision != 1 {
		t.Errorf("the same body changed %+v", got.Show)
	}
	// The rest applies to new holds; prices stay as they were computed (M-7), whatever the screen has become.
	rest := func(d *wire.ShowDefinition) {
		d.Spec.HoldSeconds, d.Spec.MaxSeatsPerBooking, d.MovieTitle = 60, 1, "Dune: Part Two"
		d.TierPrices, d.Layout = []int64{1, 1, 1}, smallLayout(4)
		d.TierPrices = d.TierPrices[:2]
	}
	r.must(r.putShow("1", rest), CodeOK)
	if got := r.booking(b.Ref); got.ExpiresAt != b.ExpiresAt || got.TotalAmount != 15_000 || got.MovieTitle != "Dune: Part Two" {
		t.Errorf("the old hold: %+v", got)
	}
	if got := r.held("u2", "1", "E8"); got.ExpiresAt != r.now+60_000 || got.TotalAmount != 40_000 {
		t.Errorf("a new hold: %+v", got)
	}
	r.must(r.hold("u2", "1", "A3", "A4"), CodeInvalid)
	r.must(r.control("1", wire.ShowAction_SHOW_ACTION_CANCEL), CodeOK)
	r.must(r.putShow("1", currency), CodeSaleClosed)
	for field, change := range map[string]func(*wire.ShowDefinition){
		"holdSeconds":        func(d *wire.ShowDefinition) { d.Spec.HoldSeconds = 3601 },
		"maxSeatsPerBooking": func(d *wire.ShowDefinition) { d.Spec.MaxSeatsPerBooking = 101 },
		"maxHoldsPerUser":    func(d *wire.ShowDefinition) { d.Spec.MaxHoldsPerUser = 0 },
		"endsAt":             func(d *wire.ShowDefinition) { d.Spec.EndsAtMs = int64(TimeMax) + 1 },
		"salesCloseAt":       func(d *wire.ShowDefinition) { d.Spec.SalesOpenAtMs = d.Spec.SalesCloseAtMs },
		"currency":           func(d *wire.ShowDefinition) { d.Spec.Currency = "inr" },
		"refundPolicy":       func(d *wire.ShowDefinition) { d.Spec.RefundPolicy[1].MinutesBefore = 120 },
		"pricing":            func(d *wire.ShowDefinition) { d.Spec.Pricing = nil },
		"2 prices":           func(d *wire.ShowDefinition) { d.TierPrices = d.TierPrices[:2] },
	} {
		if got := r.must(r.putShow("2", change), CodeInvalid); !strings.HasPrefix(got.Reason, field) {
			t.Errorf("%s: %q", field, got.Reason)
		}
	}
}

// A cancelled show ends thousands of bookings a piece at a time, with the whole money back, whatever happens between.
func TestCancelShowInChunks(t *testing.T) {
	const bookings = 3000
	r := newRig(t)
	r.must(r.putShow("1", func(d *wire.ShowDefinition) { *d = *largeDefinition(40, 100); d.Spec.RefundPolicy = nil }), CodeOK)
	r.must(r.putShow("2", func(d *wire.ShowDefinition) { d.MovieTitle = "unharmed" }), CodeOK)
	bystander := r.held("u1", "2", "A1")
	var all []*Booking
	for i := range bookings {
		b := r.must(r.do(&wire.Command{Body: &wire.Command_Hold{Hold: &wire.Hold{ShowId: "1", UserId: fmt.Sprint("u", i), SeatIds: []uint32{uint32(i + 1)}}}}), CodeOK).Booking
		if all = append(all, b); i%2 == 0 {
			r.must(r.confirm(b, fmt.Sprint("PAY-", i)), CodeOK)
		}
	}
	got := r.must(r.control("1", wire.ShowAction_SHOW_ACTION_CANCEL), CodeOK)
	if left := got.Show.Counts.Held + got.Show.Counts.Booked; left != bookings-CancelWorkMax {
		t.Fatalf("one command ended %d bookings", bookings-left)
	}
	// Before their turn: a buyer who cancels gets everything, one who pays gets it back, one who gives up may.
	if b := r.must(r.cancel(all[0]), CodeOK).Booking; b.Payment.RefundAmount != 20000 {
		t.Errorf("cancelled by its buyer: %+v", b.Payment)
	}
	if b := r.must(r.confirm(all[1], "PAY-1"), CodeSaleClosed); b.Refund != 20000 {
		t.Errorf("paid after the cancel: %+v", b)
	}
	r.must(r.extend(all[3]), CodeSaleClosed)
	r.must(r.release(all[3], false), CodeOK)
	other := restored(t, snapshotOf(t, r.m))
	pulses := 0
	for ; r.counts("1").Available < 4000; pulses++ {
		if at, ok := r.m.NextExpiry(); !ok || at > r.now || pulses > bookings {
			t.Fatalf("after %d pulses nothing more is due: %+v", pulses, r.counts("1"))
		}
		r.pulse()
	}
	if pulses != 3 {
		t.Errorf("it took %d pulses", pulses)
	}
	sibling := &rig{t: t, m: other, now: r.now, counter: r.counter - uint64(pulses)}
	for range pulses {
		sibling.pulse()
	}
	if sibling.audit().Digest != r.audit().Digest {
		t.Error("a replica that restored in the middle went another way")
	}
	for i, b := range all[4:] {
		if b = r.booking(b.Ref); b.Status != StatusCancelled || b.Payment.RefundAmount != int64(20000*((i+1)%2)) {
			t.Fatalf("booking %d: %s %+v", i+4, b.Status, b.Payment)
		}
	}
	if b := r.booking(bystander.Ref); b.Status != StatusPending {
		t.Errorf("a booking of another show is %s", b.Status)
	}
}

// M-7: prices are rounded down a seat, by each strategy; the error names the field.
func TestResolvePrices(t *testing.T) {
	tiers := []*wire.Tier{{Name: "GOLD", MultiplierPercent: 133}, {Name: "SILVER", MultiplierPercent: 100}}
	base := []*wire.TierAmount{{Tier: "GOLD", Amount: 10_001}, {Tier: "SILVER", Amount: 99}}
	bands := []*wire.TimeBand{{FromHour: 21, Percent: 150}, {FromHour: 12, Percent: 110}, {FromHour: 0, Percent: 90}}
	for _, c := range []struct {
		name    string
		pricing *wire.Pricing
		hour    int
		prices  []int64
		err     string
	}{
		{"flat", &wire.Pricing{Strategy: PricingFlat, Amount: 20_000}, 0, []int64{20_000, 20_000}, ""},
		{"tier", &wire.Pricing{Strategy: PricingTier, Base: base}, 0, []int64{10_001, 99}, ""},
		{"tier_time morning", &wire.Pricing{Strategy: PricingTierTime, Base: base, Bands: bands}, 11, []int64{9_000, 89}, ""},
		{"tier_time noon", &wire.Pricing{Strategy: PricingTierTime, Base: base, Bands: bands}, 12, []int64{11_001, 108}, ""},
		{"tier_time 20", &wire.Pricing{Strategy: PricingTierTime, Base: base, Bands: bands}, 20, []int64{11_001, 108}, ""},
		{"tier_time 21", &wire.Pricing{Strategy: PricingTierTime, Base: base, Bands: bands}, 21, []int64{15_001, 148}, ""},
		{"multiplier", &wire.Pricing{Strategy: PricingMultiplier, Amount: 99}, 0, []int64{131, 99}, ""},
		{"no base", &wire.Pricing{Strategy: PricingTier, Base: base[:1]}, 0, nil, "pricing.base"},
		{"no band", &wire.Pricing{Strategy: PricingTierTime, Base: base, Bands: bands[:2]}, 11, nil, "pricing.bands"},
		{"unknown", &wire.Pricing{Strategy: "auction"}, 0, nil, "pricing.strategy"},
		{"nothing", nil, 0, nil, "pricing"},
		{"negative", &wire.Pricing{Strategy: PricingMultiplier, Amount: -1}, 0, nil, "pricing.amount"},
		{"too high", &wire.Pricing{Strategy: PricingMultiplier, Amount: PriceMax}, 0, nil, "pricing: tier GOLD"},
	} {
		prices, err := ResolvePrices(c.pricing, tiers, c.hour)
		if !slices.Equal(prices, c.prices) || (err == nil) != (c.err == "") || (err != nil && !strings.HasPrefix(err.Error(), c.err)) {
			t.Errorf("%s: %v %v", c.name, prices, err)
		}
	}
	// M-6: a tier without a multiplier is a standard one.
	standard := []*wire.Tier{{Name: "STANDARD"}, {Name: "GOLD", MultiplierPercent: 133}}
	if prices, err := ResolvePrices(&wire.Pricing{Strategy: PricingMultiplier, Amount: 99}, standard, 0); err != nil || !slices.Equal(prices, []int64{99, 131}) {
		t.Errorf("a standard tier: %v %v", prices, err)
	}
	// Failed once with a panic: a product above 64 bits.
	huge := []*wire.Tier{{Name: "GOLD", MultiplierPercent: 4_000_000_000}}
	if prices, err := ResolvePrices(&wire.Pricing{Strategy: PricingMultiplier, Amount: PriceMax}, huge, 0); err == nil {
		t.Errorf("a price of %v was accepted", prices)
	}
}
