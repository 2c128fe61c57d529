package fsm

import (
	"fmt"
	"math"
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

// M-22: money that is too late, wrong or second is recorded once as due back; repeating the call repeats the answer.
func TestMoneyDueBack(t *testing.T) {
	r := newShowRig(t, nil)
	b := r.held("u1", "1", "A1", "A2") // 30000 INR
	wrong := r.must(r.pay(b, "PAY-1", 29_999, "INR"), CodeAmountMismatch)
	if p := wrong.Booking.Payments[0]; p.Status != PaymentRefundDue || p.RefundAmount != 29_999 || wrong.Refund != 29_999 || wrong.Booking.Status != StatusPending {
		t.Fatalf("wrong amount: %+v", wrong)
	}
	r.must(r.pay(b, "PAY-2", 30_000, "USD"), CodeAmountMismatch)
	if got := r.must(r.pay(b, "PAY-1", 30_000, "INR"), CodeAmountMismatch); !got.Replayed || len(got.Booking.Payments) != 2 {
		t.Fatalf("the same reference with the right amount: %+v", got)
	}
	done := r.must(r.pay(b, "PAY-3", 30_000, "INR"), CodeOK)                                                              // the hold lived on
	if sum := done.Booking.Payment; sum.Status != PaymentCaptured || sum.Amount != 30_000 || sum.RefundAmount != 29_999 { // of INR alone
		t.Fatalf("summary: %+v", sum)
	}
	second := r.must(r.confirm(b, "PAY-4"), CodeBookingState)
	if second.Refund != 30_000 || second.Booking.Status != StatusConfirmed || second.Booking.ConfirmedBy != "PAY-3" {
		t.Fatalf("second reference: %+v", second)
	}
	r.unchanged("repeats", b, func() {
		for ref, code := range map[string]Code{"PAY-1": CodeAmountMismatch, "PAY-2": CodeAmountMismatch, "PAY-3": CodeOK, "PAY-4": CodeBookingState} {
			if got := r.must(r.confirm(b, ref), code); !got.Replayed || got.Booking.Status != StatusConfirmed {
				t.Fatalf("%s again: %+v", ref, got)
			}
		}
	})
	if total := r.m.Stats(); total.Confirms != 1 || total.LatePayments != 3 {
		t.Errorf("counted %+v", total)
	}
	r.must(r.pay(b, "PAY-5", -1, ""), CodeInvalid)
	r.must(r.confirm(b, ""), CodeInvalid)
}

// M-5, M-22: money of another currency is due back in that currency, and never added to the booking's own.
func TestForeignMoney(t *testing.T) {
	r := newShowRig(t, nil)
	b := r.held("u1", "1", "A1", "A2") // 30000 INR
	for range 2 {
		got := r.must(r.pay(b, "PAY-1", 70_000, "JPY"), CodeAmountMismatch)
		if got.Refund != 70_000 || got.RefundCurrency != "JPY" {
			t.Fatalf("the answer says %d %s", got.Refund, got.RefundCurrency)
		}
		if want := (PaymentSummary{Status: PaymentRefundDue}); got.Booking.Payment != want {
			t.Fatalf("nothing came in INR, yet %+v", got.Booking.Payment)
		}
		kept, err := ResultFromWire(got.Wire())
		if err != nil || kept.RefundCurrency != "JPY" || kept.Booking.Payment != got.Booking.Payment {
			t.Fatalf("kept as %+v: %v", kept, err)
		}
	}
	r.must(r.confirm(b, "PAY-2"), CodeOK)
	late := r.must(r.confirm(b, "PAY-3"), CodeBookingState)
	if late.RefundCurrency != "INR" {
		t.Fatalf("money without a currency is due back in %q", late.RefundCurrency)
	}
	got := r.must(r.cancel(b), CodeOK)
	if want := (PaymentSummary{PaymentRefundDue, 30_000, 60_000}); got.Booking.Payment != want || got.RefundCurrency != "" {
		t.Fatalf("cancelled: %+v, %q", got.Booking.Payment, got.RefundCurrency)
	}
}

// M-22: money of any amount is recorded as due back, and sums stop at what an int64 holds.
func TestHugeMoney(t *testing.T) {
	r := newShowRig(t, nil)
	b := r.held("u1", "1", "A1")
	for _, ref := range []string{"PAY-1", "PAY-2"} {
		got := r.must(r.pay(b, ref, math.MaxInt64, ""), CodeAmountMismatch)
		if got.Refund != math.MaxInt64 || got.Booking.Payment.RefundAmount != math.MaxInt64 || got.Booking.Status != StatusPending {
			t.Fatalf("%s: %+v", ref, got)
		}
	}
	r.must(r.confirm(b, "PAY-3"), CodeOK)
	if got := r.must(r.cancel(b), CodeOK).Booking.Payment; got != (PaymentSummary{PaymentRefundDue, 15_000, math.MaxInt64}) {
		t.Fatalf("cancelled: %+v", got)
	}
}

// M-21, M-22: the confirming reference answers 200 whatever became of the booking; a late one 410, once.
func TestRepeatedReference(t *testing.T) {
	r := newShowRig(t, nil)
	b := r.held("u1", "1", "A1")
	r.must(r.confirm(b, "PAY-1"), CodeOK)
	r.must(r.cancel(b), CodeOK)
	if got := r.must(r.confirm(b, "PAY-1"), CodeOK); !got.Replayed || got.Booking.Status != StatusCancelled {
		t.Fatalf("after the cancel: %+v", got)
	}
	late := r.held("u2", "1", "A2")
	r.now = late.ExpiresAt
	first := r.must(r.confirm(late, "PAY-2"), CodeHoldExpired)
	again := r.must(r.confirm(late, "PAY-2"), CodeHoldExpired)
	if first.Refund != 15_000 || again.Refund != 15_000 || len(again.Booking.Payments) != 1 || again.Booking.Payment.Status != PaymentRefundDue {
		t.Fatalf("late money: %+v, again %+v", first, again)
	}
}

// A booking remembers a bounded number of payments and of refused references.
func TestPaymentsLimit(t *testing.T) {
	r := newShowRig(t, nil)
	b := r.held("u1", "1", "A1")
	for i := range PaymentsPerBookingMax {
		r.must(r.pay(b, fmt.Sprint("PAY-", i), 1, ""), CodeAmountMismatch)
		r.must(r.refuseReference(b.Ref, fmt.Sprint("REF-", i)), CodeOK)
	}
	r.unchanged("one too many", b, func() {
		r.must(r.confirm(b, "PAY-X"), CodeFull)
		r.must(r.refuseReference(b.Ref, "REF-X"), CodeFull)
		r.must(r.confirm(b, "PAY-0"), CodeAmountMismatch)
		r.must(r.refuseReference(b.Ref, "REF-0"), CodeOK)
	})
}

// A booking that refused a reference never takes it; one that has money of it does not refuse it.
func TestRefuseReference(t *testing.T) {
	r := newShowRig(t, nil)
	b := r.held("u1", "1", "A1")
	r.must(r.refuseReference(b.Ref, "PAY-1"), CodeOK)
	r.unchanged("a refused reference", b, func() {
		r.must(r.confirm(b, "PAY-1"), CodePaymentRefReused)
		r.must(r.refuseReference(b.Ref, "PAY-1"), CodeOK)
	})
	r.must(r.confirm(b, "PAY-2"), CodeOK)
	r.must(r.refuseReference(b.Ref, "PAY-2"), CodePaymentRefReused)
	r.must(r.confirm(b, "PAY-2"), CodeOK)
	r.must(r.refuseReference(BookingRef{7}, "PAY-3"), CodeOK) // a booking that is not there takes no money
	late := r.held("u1", "1", "A2")
	r.now = late.ExpiresAt
	r.must(r.confirm(late, "PAY-4"), CodeHoldExpired)
	r.must(r.refuseReference(late.Ref, "PAY-4"), CodePaymentRefReused) // late money keeps its claim
}

// M-21: a reference is bound to one booking in the whole cluster.
func TestClaims(t *testing.T) {
	const take, finalise = wire.ClaimAction_CLAIM_ACTION_TAKE, wire.ClaimAction_CLAIM_ACTION_FINALISE
	const withdraw, takeOver = wire.ClaimAction_CLAIM_ACTION_WITHDRAW, wire.ClaimAction_CLAIM_ACTION_TAKE_OVER
	a, b, c, none := BookingRef{1}, BookingRef{2}, BookingRef{3}, BookingRef{}
	type step struct {
		action   wire.ClaimAction
		booking  BookingRef
		from     BookingRef
		code     Code
		claimant BookingRef // of a refusal
		final    bool
	}
	cases := map[string]struct {
		steps []step
		left  int // claims
	}{
		"take, finalise":                   {[]step{{take, a, none, CodeOK, none, false}, {finalise, a, none, CodeOK, none, false}, {take, b, none, CodePaymentRefReused, a, true}, {takeOver, b, a, CodePaymentRefReused, a, true}, {withdraw, a, none, CodeOK, none, false}, {take, b, none, CodePaymentRefReused, a, true}}, 1},
		"tentative":                        {[]step{{take, a, none, CodeOK, none, false}, {take, b, none, CodePaymentRefReused, a, false}, {take, a, none, CodeOK, none, false}}, 1},
		"withdrawn":                        {[]step{{take, a, none, CodeOK, none, false}, {withdraw, a, none, CodeOK, none, false}, {take, b, none, CodeOK, none, false}}, 1},
		"withdrawn by one of two attempts": {[]step{{take, a, none, CodeOK, none, false}, {take, a, none, CodeOK, none, false}, {withdraw, a, none, CodeOK, none, false}, {take, b, none, CodePaymentRefReused, a, false}, {withdraw, a, none, CodeOK, none, false}, {withdraw, a, none, CodeOK, none, false}}, 0},
		"withdrawn by another":             {[]step{{take, a, none, CodeOK, none, false}, {withdraw, b, none, CodeOK, none, false}, {take, b, none, CodePaymentRefReused, a, false}}, 1},
		"taken over":                       {[]step{{take, a, none, CodeOK, none, false}, {takeOver, b, a, CodeOK, none, false}, {finalise, a, none, CodePaymentRefReused, b, false}, {withdraw, a, none, CodeOK, none, false}, {finalise, b, none, CodeOK, none, false}}, 1},
		"taken over from another":          {[]step{{take, a, none, CodeOK, none, false}, {takeOver, b, c, CodePaymentRefReused, a, false}}, 1},
		"taken over twice":                 {[]step{{take, a, none, CodeOK, none, false}, {take, a, none, CodeOK, none, false}, {takeOver, b, a, CodeOK, none, false}, {takeOver, c, a, CodePaymentRefReused, b, false}, {withdraw, b, none, CodeOK, none, false}}, 0},
		"taken over by two attempts":       {[]step{{take, a, none, CodeOK, none, false}, {takeOver, b, a, CodeOK, none, false}, {takeOver, b, a, CodeOK, none, false}, {withdraw, b, none, CodeOK, none, false}, {take, c, none, CodePaymentRefReused, b, false}, {withdraw, b, none, CodeOK, none, false}}, 0},
		"taken over from itself":           {[]step{{take, a, none, CodeOK, none, false}, {takeOver, a, a, CodeOK, none, false}, {withdraw, a, none, CodeOK, none, false}, {take, b, none, CodePaymentRefReused, a, false}}, 1},
		"taken over from nobody":           {[]step{{takeOver, b, a, CodeOK, none, false}, {take, a, none, CodePaymentRefReused, b, false}}, 1},
		"finalised unseen":                 {[]step{{finalise, a, none, CodeOK, none, false}, {take, b, none, CodePaymentRefReused, a, true}}, 1},
		"withdrawn unseen":                 {[]step{{withdraw, a, none, CodeOK, none, false}}, 0},
		"of no booking":                    {[]step{{take, none, none, CodeInvalid, none, false}}, 0},
		"of an unknown kind":               {[]step{{0, a, none, CodeInvalid, none, false}, {9, a, none, CodeInvalid, none, false}}, 0},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			for i, s := range test.steps {
				got := r.claim(s.action, "PAY-1", s.booking, s.from)
				if got.Code != s.code || got.Claimant != s.claimant || got.ClaimFinal != s.final {
					t.Fatalf("step %d: %+v", i+1, got)
				}
			}
			if n := r.m.Stats().Claims; n != test.left {
				t.Fatalf("%d claims are left", n)
			}
		})
	}
}

// M-25: the largest minutesBefore that still lies ahead decides, inclusive, in milliseconds; the refund is rounded down.
func TestRefundBoundaries(t *testing.T) {
	starts := start + 24*3_600_000
	for _, c := range []struct {
		before Time
		refund int64
	}{
		{120 * 60_000, 15_001}, {120*60_000 - 1, 7_500}, {20 * 60_000, 7_500}, {20*60_000 - 1, 0}, {0, 0}, {-1, 0},
	} {
		r := newShowRig(t, func(d *wire.ShowDefinition) {
			d.TierPrices[0] = 15_001
			d.Spec.HoldSeconds, d.Spec.SalesCloseAtMs = 3600, d.Spec.EndsAtMs
		})
		b := r.held("u1", "1", "A1")
		r.must(r.confirm(b, "PAY-1"), CodeOK)
		// The policy is stamped at the hold: a later one is for later holds.
		r.must(r.putShow("1", func(d *wire.ShowDefinition) {
			d.Spec.HoldSeconds, d.Spec.SalesCloseAtMs, d.Spec.RefundPolicy = 3600, d.Spec.EndsAtMs, nil
		}), CodeOK)
		r.now = starts - c.before
		got := r.must(r.cancel(b), CodeOK).Booking
		status := PaymentCaptured
		if c.refund > 0 {
			status = PaymentRefundDue
		}
		if got.Payment.RefundAmount != c.refund || got.Payment.Status != status || got.Status != StatusCancelled || got.TotalAmount != 15_001 {
			t.Errorf("%d ms before the start: %+v", c.before, got.Payment)
		}
		if again := r.must(r.cancel(b), CodeOK).Booking; again.Payment != got.Payment || r.seat("1", "A1") != SeatAvailable {
			t.Errorf("cancelled twice: %+v", again.Payment)
		}
	}
}

// M-25: parts are given back one after another; refunds add up, each rounded down; the last seat ends the booking.
func TestPartCancel(t *testing.T) {
	r := newShowRig(t, func(d *wire.ShowDefinition) { d.TierPrices = []int64{101, 203, 405} })
	b := r.held("u1", "1", "A1", "A2", "C1", "E1") // 101 + 101 + 203 + 405
	if got := r.must(r.cancel(b, "A2"), CodeOK).Booking; got.TotalAmount != 709 || got.Status != StatusPending || got.Seats[1].Remains {
		t.Fatalf("part of a hold: %+v", got)
	}
	r.must(r.pay(b, "PAY-0", 810, ""), CodeAmountMismatch) // the seats that remain are paid for
	r.must(r.pay(b, "PAY-1", 709, ""), CodeOK)
	r.unchanged("seats that are gone or were never there", b, func() {
		r.must(r.cancel(b, "A2"), CodeOK)
		r.must(r.cancel(b, "C1", "A3"), CodeInvalid)
		r.must(r.cancel(b, "C1", "C1"), CodeInvalid)
	})
	r.now = start + 23*3_600_000 // one hour before: 50 %
	if got := r.must(r.cancel(b, "A1", "A2"), CodeOK).Booking; got.Payment.RefundAmount != 810+50 || got.TotalAmount != 608 || got.Status != StatusConfirmed {
		t.Fatalf("A1: %+v", got)
	}
	if got := r.must(r.cancel(b, "C1"), CodeOK).Booking; got.Payment.RefundAmount != 810+50+101 || r.seat("1", "E1") != SeatBooked || r.seat("1", "C1") != SeatAvailable {
		t.Fatalf("C1: %+v", got)
	}
	got := r.must(r.cancel(b, "E1"), CodeOK).Booking
	if got.Payment.RefundAmount != 810+50+101+202 || got.Status != StatusCancelled || got.TotalAmount != 405 {
		t.Fatalf("the last seat: %+v", got)
	}
	if s := got.Seats[3]; !s.Remains || s.Status != BookedSeatCancelled {
		t.Fatalf("an ended booking keeps its last seats: %+v", s)
	}
	if c := r.counts("1"); c != (Counts{Available: 40, Total: 40}) {
		t.Fatalf("census %+v", c)
	}
}
