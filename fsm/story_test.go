package fsm

import (
	"fmt"
	"math"
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

// story applies a fixed sequence of commands of every kind, with refusals, retries, expiries and leaves, and gives the
// log. The first half ends in a state that has something of everything; halfway is called there.
func story(t testing.TB, halfway func(r *rig)) *rig {
	t.Helper()
	r := newRig(t)
	r.record = true
	r.storySale()
	r.storyStaff()
	if halfway != nil {
		halfway(r)
	}
	r.storyAftermath()
	return r
}

func (r *rig) storySale() {
	r.must(r.putShow("1", nil), CodeOK)
	r.must(r.putShow("2", func(d *wire.ShowDefinition) {
		d.Layout, d.TierPrices = smallLayout(6), []int64{20_001, 9_999}
		d.Layout.Rows[0].Attributes = []*wire.SeatAttributes{{Number: 1, Names: []string{"wheelchair"}}}
		d.Layout.Rows[0].Pairs = []*wire.Span{{First: 3, Last: 4}}
		d.Layout.Tiers[0].Perks = []string{"160° recline"}
		d.Spec.MaxHoldsPerUser = 1
		d.Spec.Pricing = &wire.Pricing{
			Strategy: PricingTierTime, Base: []*wire.TierAmount{{Tier: "GOLD", Amount: 20_001}, {Tier: "SILVER", Amount: 9_999}},
			Bands: []*wire.TimeBand{{FromHour: 12, Percent: 110}, {FromHour: 0, Percent: 100}},
		}
	}), CodeOK)
	a := r.held("u1", "1", "A1", "A2")
	r.must(r.hold("u2", "1", "A2", "A3"), CodeSeatUnavailable)
	r.must(r.hold("u1", "1", "A2", "A3"), CodeSeatUnavailable)
	r.must(r.hold("u2", "2", "Z9"), CodeInvalid)
	r.must(r.claim(wire.ClaimAction_CLAIM_ACTION_TAKE, "PAY-1", a.Ref, BookingRef{}), CodeOK)
	r.must(r.confirm(a, "PAY-1"), CodeOK)
	r.must(r.claim(wire.ClaimAction_CLAIM_ACTION_FINALISE, "PAY-1", a.Ref, BookingRef{}), CodeOK)
	r.must(r.confirm(a, "PAY-2"), CodeBookingState)
	r.now += 1_000
	k := r.must(r.keyed("key-1", "body-1", "u2", "1", "B1", "B2", "B3"), CodeOK).Booking
	r.must(r.keyed("key-1", "body-1", "u2", "1", "B1", "B2", "B3"), CodeOK)
	r.must(r.keyed("key-1", "body-2", "u2", "1", "B4"), CodeIdempotencyKeyReused)
	r.must(r.do(&wire.Command{Body: &wire.Command_FindByKey{FindByKey: &wire.FindByKey{ShowId: "1", IdempotencyKey: []byte("key-1           ")}}}), CodeOK)
	r.must(r.cancel(k, "B3"), CodeOK)
	r.must(r.pay(k, "PAY-3", 1, "INR"), CodeAmountMismatch)
	r.must(r.pay(k, "PAY-8", math.MaxInt64, "USD"), CodeAmountMismatch)
	r.must(r.pay(k, "PAY-4", 30_000, "INR"), CodeOK)
	r.must(r.cancel(k, "B1"), CodeOK)
	c := r.must(r.do(&wire.Command{Body: &wire.Command_Hold{Hold: &wire.Hold{
		ShowId: "2", UserId: "u3", UserName: "Asha", SeatIds: []uint32{1, 2}, Contact: &wire.Contact{Email: "a@example.org", Phone: "+91 1", Locale: "kn"},
	}}}), CodeOK).Booking
	r.must(r.hold("u3", "2", "B2"), CodeHoldLimit)
	r.now += 60_000
	r.must(r.extend(c), CodeOK)
	r.must(r.extend(c), CodeExtendLimit)
	d := r.must(r.replace(c, "u3", "2", "A2", "A3"), CodeOK).Booking
	r.must(r.refuseReference(d.Ref, "PAY-5"), CodeOK)
	r.must(r.confirm(d, "PAY-5"), CodePaymentRefReused)
	r.must(r.claim(wire.ClaimAction_CLAIM_ACTION_TAKE, "PAY-5", d.Ref, BookingRef{}), CodeOK)
	r.must(r.claim(wire.ClaimAction_CLAIM_ACTION_TAKE_OVER, "PAY-5", a.Ref, d.Ref), CodeOK)
	r.must(r.claim(wire.ClaimAction_CLAIM_ACTION_TAKE, "PAY-6", d.Ref, BookingRef{}), CodeOK)
	r.must(r.claim(wire.ClaimAction_CLAIM_ACTION_WITHDRAW, "PAY-6", d.Ref, BookingRef{}), CodeOK)
	r.must(r.release(r.held("u4", "1", "C1"), false), CodeOK)
	r.must(r.release(r.held("u4", "1", "C2"), true), CodeOK)
	r.must(r.cancel(r.held("u4", "1", "C3")), CodeOK)
}

func (r *rig) storyStaff() {
	r.must(r.block("1", "E1", "E2"), CodeOK)
	r.must(r.unblock("1", "E2"), CodeOK)
	r.must(r.block("1", "A1"), CodeSeatUnavailable)
	r.must(r.control("1", wire.ShowAction_SHOW_ACTION_PAUSE), CodeOK)
	r.must(r.hold("u5", "1", "C1"), CodeSalePaused)
	r.must(r.control("1", wire.ShowAction_SHOW_ACTION_RESUME), CodeOK)
	r.browseSent("1", 1)
	r.must(r.putShow("1", func(d *wire.ShowDefinition) { d.Spec.HoldSeconds, d.MovieTitle = 300, "Dune: Part Two" }), CodeOK)
	r.must(r.putShow("1", func(d *wire.ShowDefinition) { d.Spec.Currency = "USD" }), CodeShowInUse)
	r.must(r.putShow("3", func(d *wire.ShowDefinition) { d.Spec.SalesOpenAtMs = int64(start) + 3_600_000 }), CodeOK)
	r.must(r.hold("u1", "3", "A1"), CodeSaleNotOpen)
	r.must(r.putShow("3", func(d *wire.ShowDefinition) {
		d.Spec.ScreenId, d.Layout, d.TierPrices = "SCR-9", smallLayout(4), []int64{5, 6}
	}), CodeOK)
	r.must(r.do(&wire.Command{Body: &wire.Command_RaiseRules{RaiseRules: &wire.RaiseRules{Version: RulesVersion}}}), CodeOK)
	r.must(r.putShow("4", func(d *wire.ShowDefinition) { *d = *largeDefinition(4, 100) }), CodeOK)
	for i := range CancelWorkMax + 40 {
		b := r.must(r.do(&wire.Command{Body: &wire.Command_Hold{Hold: &wire.Hold{ShowId: "4", UserId: fmt.Sprint("v", i%150), SeatIds: []uint32{uint32(i + 1)}}}}), CodeOK).Booking
		if i%4 == 0 {
			r.must(r.confirm(b, fmt.Sprint("PAY-V", i)), CodeOK)
		}
	}
	r.must(r.control("4", wire.ShowAction_SHOW_ACTION_CANCEL), CodeOK) // 40 are left to the pulses
	late := r.held("u6", "1", "D1")
	r.now = late.ExpiresAt
	r.must(r.confirm(late, "PAY-7"), CodeHoldExpired)
	r.must(r.do(&wire.Command{Body: &wire.Command_ReadBooking{ReadBooking: &wire.ReadBooking{Booking: late.Ref[:]}}}), CodeOK)
	r.held("u6", "1", "D2")
	r.held("u7", "1", "D3", "D4")
}

func (r *rig) storyAftermath() {
	from := r.now
	for _, step := range []Time{1, 301_000, day, 2 * day, 92 * day, 501 * day} {
		r.now = from + step
		r.pulseUntilIdle()
		if step == 301_000 {
			r.must(r.control("1", wire.ShowAction_SHOW_ACTION_CLOSE), CodeOK)
			r.must(r.hold("u1", "1", "C1"), CodeSaleClosed)
		}
	}
	r.must(r.putShow("1", func(d *wire.ShowDefinition) { d.Spec.EndsAtMs = int64(start + 900*day) }), CodeOK)
	r.browseSent("2", 2)
	r.must(r.claim(wire.ClaimAction_CLAIM_ACTION_TAKE, "PAY-1", BookingRef{5}, BookingRef{}), CodeOK)
}
