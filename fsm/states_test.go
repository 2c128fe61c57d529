package fsm

import (
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

// bookingIn makes a booking of A1 and A2 in a state, by name. "DUE" is a hold past its deadline that the log has not
// ended yet.
func bookingIn(r *rig, state string) *Booking {
	r.t.Helper()
	b := r.held("u1", "1", "A1", "A2")
	switch state {
	case "PENDING":
	case "DUE":
		r.now = b.ExpiresAt
	case "EXPIRED":
		r.now = b.ExpiresAt
		r.pulse()
	case "CONFIRMED":
		r.must(r.confirm(b, "PAY-1"), CodeOK)
	case "RELEASED":
		r.must(r.release(b, false), CodeOK)
	case "FAILED":
		r.must(r.release(b, true), CodeOK)
	case "CANCELLED":
		r.must(r.confirm(b, "PAY-1"), CodeOK)
		r.must(r.cancel(b), CodeOK)
	case "CANCELLED UNPAID":
		r.must(r.cancel(b), CodeOK)
	default:
		r.t.Fatalf("unknown state %s", state)
	}
	return b
}

// M-4, M-21 to M-25: what every call does in every state.
func TestStateTable(t *testing.T) {
	calls := map[string]func(r *rig, b *Booking) *Result{
		"confirm":       func(r *rig, b *Booking) *Result { return r.confirm(b, "PAY-1") },
		"confirm other": func(r *rig, b *Booking) *Result { return r.confirm(b, "PAY-2") },
		"release":       func(r *rig, b *Booking) *Result { return r.release(b, false) },
		"fail":          func(r *rig, b *Booking) *Result { return r.release(b, true) },
		"extend":        func(r *rig, b *Booking) *Result { r.now += 1000; return r.extend(b) },
		"cancel":        func(r *rig, b *Booking) *Result { return r.cancel(b) },
		"cancel A1":     func(r *rig, b *Booking) *Result { return r.cancel(b, "A1") },
	}
	cases := []struct {
		state, call string
		code        Code
		status      BookingStatus
		money       bool // the call records a payment that is due back
		seat        SeatStatus
	}{
		{"PENDING", "confirm", CodeOK, StatusConfirmed, false, SeatBooked},
		{"PENDING", "release", CodeOK, StatusReleased, false, SeatAvailable},
		{"PENDING", "fail", CodeOK, StatusFailed, false, SeatAvailable},
		{"PENDING", "extend", CodeOK, StatusPending, false, SeatHeld},
		{"PENDING", "cancel", CodeOK, StatusCancelled, false, SeatAvailable},
		{"PENDING", "cancel A1", CodeOK, StatusPending, false, SeatAvailable},
		{"DUE", "confirm", CodeHoldExpired, StatusExpired, true, SeatAvailable},
		{"DUE", "release", CodeOK, StatusExpired, false, SeatAvailable},
		{"DUE", "fail", CodeOK, StatusExpired, false, SeatAvailable},
		{"DUE", "extend", CodeHoldExpired, StatusExpired, false, SeatAvailable},
		{"DUE", "cancel", CodeOK, StatusExpired, false, SeatAvailable},
		{"DUE", "cancel A1", CodeOK, StatusExpired, false, SeatAvailable},
		{"EXPIRED", "confirm", CodeHoldExpired, StatusExpired, true, SeatAvailable},
		{"EXPIRED", "release", CodeOK, StatusExpired, false, SeatAvailable},
		{"EXPIRED", "fail", CodeOK, StatusExpired, false, SeatAvailable},
		{"EXPIRED", "extend", CodeHoldExpired, StatusExpired, false, SeatAvailable},
		{"EXPIRED", "cancel", CodeOK, StatusExpired, false, SeatAvailable},
		{"CONFIRMED", "confirm", CodeOK, StatusConfirmed, false, SeatBooked},
		{"CONFIRMED", "confirm other", CodeBookingState, StatusConfirmed, true, SeatBooked},
		{"CONFIRMED", "release", CodeBookingState, StatusConfirmed, false, SeatBooked},
		{"CONFIRMED", "fail", CodeBookingState, StatusConfirmed, false, SeatBooked},
		{"CONFIRMED", "extend", CodeBookingState, StatusConfirmed, false, SeatBooked},
		{"CONFIRMED", "cancel", CodeOK, StatusCancelled, false, SeatAvailable},
		{"CONFIRMED", "cancel A1", CodeOK, StatusConfirmed, false, SeatAvailable},
		{"RELEASED", "confirm", CodeBookingState, StatusReleased, true, SeatAvailable},
		{"RELEASED", "release", CodeOK, StatusReleased, false, SeatAvailable},
		{"RELEASED", "fail", CodeOK, StatusReleased, false, SeatAvailable},
		{"RELEASED", "extend", CodeBookingState, StatusReleased, false, SeatAvailable},
		{"RELEASED", "cancel", CodeOK, StatusReleased, false, SeatAvailable},
		{"FAILED", "confirm", CodeBookingState, StatusFailed, true, SeatAvailable},
		{"FAILED", "release", CodeOK, StatusFailed, false, SeatAvailable},
		{"FAILED", "fail", CodeOK, StatusFailed, false, SeatAvailable},
		{"FAILED", "extend", CodeBookingState, StatusFailed, false, SeatAvailable},
		{"FAILED", "cancel", CodeOK, StatusFailed, false, SeatAvailable},
		{"CANCELLED", "confirm", CodeOK, StatusCancelled, false, SeatAvailable},
		{"CANCELLED", "confirm other", CodeBookingState, StatusCancelled, true, SeatAvailable},
		{"CANCELLED", "release", CodeOK, StatusCancelled, false, SeatAvailable},
		{"CANCELLED", "extend", CodeBookingState, StatusCancelled, false, SeatAvailable},
		{"CANCELLED", "cancel", CodeOK, StatusCancelled, false, SeatAvailable},
		{"CANCELLED", "cancel A1", CodeOK, StatusCancelled, false, SeatAvailable},
		{"CANCELLED UNPAID", "confirm", CodeBookingState, StatusCancelled, true, SeatAvailable},
	}
	for _, c := range cases {
		t.Run(c.state+"/"+c.call, func(t *testing.T) {
			r := newShowRig(t, nil)
			b := bookingIn(r, c.state)
			payments := len(r.booking(b.Ref).Payments)
			got := calls[c.call](r, b)
			after := r.booking(b.Ref)
			if got.Code != c.code || after.Status != c.status || r.seat("1", "A1") != c.seat {
				t.Fatalf("code %d, %s, seat %s: %+v", got.Code, after.Status, r.seat("1", "A1"), got)
			}
			if got.Booking == nil || got.Booking.Status != c.status || got.Booking.Version != after.Version {
				t.Fatalf("the answer shows %+v, the booking is %+v", got.Booking, after)
			}
			if c.money != (got.Code != CodeOK && len(after.Payments) == payments+1) || (c.money && got.Refund != 30000) {
				t.Fatalf("payments: %+v, refund %d", after.Payments, got.Refund)
			}
			if again := calls[c.call](r, b); c.call == "confirm" || c.call == "confirm other" {
				// Money that came once is recorded once, and the answer is the same as the first time.
				if again.Code != got.Code || again.Refund != got.Refund || !again.Replayed || len(again.Booking.Payments) != len(after.Payments) {
					t.Fatalf("again: %+v", again)
				}
			}
		})
	}
}

// A call in an ended state that answers 200 changes nothing; another's booking is not touched and nothing is recorded.
func TestNothingChanges(t *testing.T) {
	for _, state := range []string{"EXPIRED", "RELEASED", "FAILED", "CANCELLED"} {
		r := newShowRig(t, nil)
		b := bookingIn(r, state)
		r.unchanged(state+" release", b, func() { r.must(r.release(b, false), CodeOK) })
		r.unchanged(state+" cancel", b, func() { r.must(r.cancel(b), CodeOK) })
		r.unchanged(state+" part cancel", b, func() { r.must(r.cancel(b, "A2"), CodeOK) })
		r.unchanged(state+" cancel of another seat", b, func() { r.must(r.cancel(b, "A3"), CodeInvalid) })
	}
	for _, state := range []string{"PENDING", "EXPIRED", "CONFIRMED", "CANCELLED"} {
		r := newShowRig(t, nil)
		b := bookingIn(r, state)
		stranger := *b
		stranger.User = "u2"
		r.unchanged("a stranger", b, func() {
			r.must(r.confirm(&stranger, "PAY-9"), CodeNotYourBooking)
			r.must(r.release(&stranger, false), CodeNotYourBooking)
			r.must(r.extend(&stranger), CodeNotYourBooking)
			r.must(r.cancel(&stranger), CodeNotYourBooking)
		})
		unknown := *b
		unknown.Ref = BookingRef{1, 2, 3}
		r.must(r.confirm(&unknown, "PAY-9"), CodeBookingNotFound)
		r.must(r.release(&unknown, false), CodeBookingNotFound)
		r.must(r.extend(&unknown), CodeBookingNotFound)
		r.must(r.cancel(&unknown), CodeBookingNotFound)
	}
}

// A hold is live while log time < expiresAt: to the millisecond, in calls and in reads.
func TestDeadline(t *testing.T) {
	r := newShowRig(t, nil)
	b := r.held("u1", "1", "A1")
	r.now = b.ExpiresAt - 1
	r.must(r.hold("u2", "1", "A1"), CodeSeatUnavailable)
	if got, _ := r.m.Booking(b.Ref, b.ExpiresAt-1); got.Status != StatusPending {
		t.Errorf("a millisecond before its deadline it is %s", got.Status)
	}
	if got, _ := r.m.Booking(b.Ref, b.ExpiresAt); got.Status != StatusExpired || got.Seats[0].Status != BookedSeatExpired {
		t.Errorf("at its deadline it reads as %s", got.Status)
	}
	if list := r.m.Bookings(BookingFilter{User: "u1", Status: StatusExpired, Limit: 9}, b.ExpiresAt); len(list) != 1 {
		t.Errorf("at its deadline it is not listed as expired: %v", list)
	}
	r.now = b.ExpiresAt
	r.must(r.hold("u2", "1", "A1"), CodeOK) // M-13: no pulse was needed
	if got := r.booking(b.Ref); got.Status != StatusExpired {
		t.Errorf("the overdue hold is %s", got.Status)
	}
}

// M-3: the edges between a seat's states; every other one is refused and leaves the seat.
func TestSeatEdges(t *testing.T) {
	r := newShowRig(t, nil)
	r.must(r.block("1", "A1", "A2"), CodeOK)
	r.must(r.hold("u1", "1", "A1"), CodeSeatUnavailable) // BLOCKED → HELD
	if got := r.hold("u1", "1", "A1").Refused[0]; got.Status != SeatBlocked || got.FreeAt != 0 || !got.Mine.IsZero() {
		t.Errorf("refused with %+v", got)
	}
	r.must(r.block("1", "A2", "A3"), CodeOK) // what is as wanted is left alone
	r.must(r.unblock("1", "A1", "A2", "A3", "A4"), CodeOK)
	b := r.held("u1", "1", "A1")
	r.must(r.block("1", "A1", "A4"), CodeSeatUnavailable) // HELD → BLOCKED, all or none
	r.must(r.unblock("1", "A1"), CodeSeatUnavailable)     // HELD → AVAILABLE by staff
	r.must(r.hold("u2", "1", "A1"), CodeSeatUnavailable)  // HELD → HELD by another
	if got := r.hold("u1", "1", "A1", "A2"); got.Code != CodeSeatUnavailable || got.Refused[0].Mine != b.Ref || got.Refused[0].FreeAt != b.ExpiresAt {
		t.Errorf("own seats in another set: %+v", got)
	}
	if r.seat("1", "A4") != SeatAvailable {
		t.Error("a refused block blocked a seat")
	}
	r.must(r.confirm(b, "PAY-1"), CodeOK)
	r.must(r.hold("u2", "1", "A1"), CodeSeatUnavailable) // BOOKED → HELD
	r.must(r.hold("u1", "1", "A1"), CodeSeatUnavailable) // not even by its owner
	r.must(r.block("1", "A1"), CodeSeatUnavailable)      // BOOKED → BLOCKED
	r.must(r.cancel(b), CodeOK)                          // BOOKED → AVAILABLE
	r.must(r.block("1", "A1"), CodeOK)
	r.must(r.block("none", "A1"), CodeShowNotFound)
	r.must(r.block("1", "Z1"), CodeInvalid)
	r.must(r.block("1"), CodeInvalid)
	held := r.held("u3", "1", "B1")
	r.now = held.ExpiresAt
	r.must(r.block("1", "B1"), CodeOK) // due, so AVAILABLE
	if got := r.counts("1"); got != (Counts{Available: 38, Blocked: 2, Total: 40}) {
		t.Errorf("census %+v", got)
	}
}

// M-10, M-11: seats are named by label or by id, once each, in any order; the refusal names every seat that is gone.
func TestHoldSeats(t *testing.T) {
	r := newShowRig(t, nil)
	hold := func(labels []string, ids []uint32) *Result {
		return r.do(&wire.Command{Body: &wire.Command_Hold{Hold: &wire.Hold{ShowId: "1", UserId: "u1", Labels: labels, SeatIds: ids}}})
	}
	for _, c := range []struct {
		labels []string
		ids    []uint32
		field  string
	}{
		{nil, nil, "seats"},
		{[]string{"A1"}, []uint32{2}, "seats"},
		{[]string{"A1", "A1"}, nil, "seats"},
		{[]string{"A9"}, nil, "seats"},
		{[]string{"a1"}, nil, "seats"},
		{nil, []uint32{0}, "seatIds"},
		{nil, []uint32{41}, "seatIds"},
		{nil, []uint32{4, 4}, "seatIds"},
		{nil, []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, "seats"}, // more than maxSeatsPerBooking
	} {
		if got := hold(c.labels, c.ids); got.Code != CodeInvalid || got.Field != c.field || got.Reason == "" {
			t.Errorf("%v %v: %+v", c.labels, c.ids, got)
		}
	}
	b := r.must(hold(nil, []uint32{40, 2}), CodeOK).Booking
	if len(b.Seats) != 2 || b.Seats[0].Label != "A2" || b.Seats[1].Label != "E8" || b.TotalAmount != 55000 || b.Seats[1].Tier != "RECLINER" {
		t.Errorf("held %+v", b.Seats)
	}
	lost := r.must(r.hold("u2", "1", "E8", "A3", "A2"), CodeSeatUnavailable)
	if len(lost.Refused) != 2 || lost.Refused[0].Label != "A2" || lost.Refused[1].Label != "E8" {
		t.Errorf("refused %+v", lost.Refused)
	}
	if r.seat("1", "A3") != SeatAvailable {
		t.Error("a refused hold kept a seat")
	}
	r.must(r.hold("", "1", "A1"), CodeInvalid)
	r.must(r.hold("u1", "none", "A1"), CodeShowNotFound)
}
