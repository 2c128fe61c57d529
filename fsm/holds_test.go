package fsm

import (
	"fmt"
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

func (r *rig) replace(old *Booking, user, show string, seats ...string) *Result {
	r.t.Helper()
	return r.do(&wire.Command{Body: &wire.Command_Hold{Hold: &wire.Hold{ShowId: show, UserId: user, Labels: seats, Replace: old.Ref[:]}}})
}

// M-12: a user has at most so many live holds in a show; holds that are due do not count, whether or not the log has
// ended them.
func TestHoldsLimit(t *testing.T) {
	r := newShowRig(t, nil) // 4 holds a user
	r.must(r.putShow("2", nil), CodeOK)
	var first *Booking
	for i := range 4 {
		b := r.held("u1", "1", fmt.Sprint("A", i+1))
		if first == nil {
			first = b
		}
		r.now += 1000
	}
	r.must(r.hold("u1", "1", "B1"), CodeHoldLimit)
	r.must(r.hold("u1", "1", "A1"), CodeOK) // the same seats again are no new hold
	r.must(r.hold("u1", "2", "B1"), CodeOK) // another show
	r.must(r.hold("u2", "1", "B1"), CodeOK)
	r.must(r.replace(first, "u1", "1", "B2"), CodeOK) // the old one leaves in the same step
	r.must(r.hold("u1", "1", "B3"), CodeHoldLimit)
	r.now = first.CreatedAt + 420_000 + 1000 // the second one is due, the log has not said so
	r.must(r.hold("u1", "1", "B3"), CodeOK)
	r.must(r.hold("u1", "1", "B4"), CodeHoldLimit)
}

// M-12, M-13: a user's own overdue holds do not count even while more holds of others are overdue for longer than one
// command ends. Failed once: only the oldest 1,024 of the shard were ended on the way.
func TestHoldsLimitInMassExpiry(t *testing.T) {
	r := newRig(t)
	large := func(d *wire.ShowDefinition) {
		*d = *largeDefinition(20, 100)
		d.Spec.MaxHoldsPerUser = 1
	}
	r.must(r.putShow("1", large), CodeOK)
	for i := range PulseWorkMax + 10 {
		r.must(r.do(&wire.Command{Body: &wire.Command_Hold{Hold: &wire.Hold{ShowId: "1", UserId: fmt.Sprint("v", i), SeatIds: []uint32{uint32(i + 1)}}}}), CodeOK)
	}
	r.now += 10
	b := r.held("u1", "1", "AAT1")
	r.now = b.ExpiresAt
	r.must(r.hold("u1", "1", "AAT2"), CodeOK)
	r.must(r.hold("u1", "1", "AAT3"), CodeHoldLimit)
}

// M-15: extending moves the deadline to a whole hold from now, at most to three holds from the first.
func TestExtendCap(t *testing.T) {
	r := newShowRig(t, nil)
	b := r.held("u1", "1", "A1")
	if got := r.extend(b); got.Code != CodeExtendLimit || got.Booking.ExpiresAt != b.ExpiresAt {
		t.Fatalf("extended within the same millisecond: %+v", got)
	}
	for _, c := range []struct {
		at, expires Time
		code        Code
	}{
		{1, 420_001, CodeOK},
		{420_000, 840_000, CodeOK},
		{839_999, 1_259_999, CodeOK},
		{840_000, 1_260_000, CodeOK}, // the cap
		{1_259_999, 1_260_000, CodeExtendLimit},
		{1_260_000, 1_260_000, CodeHoldExpired},
	} {
		r.now = start + c.at
		got := r.must(r.extend(b), c.code)
		if got.Booking.ExpiresAt != start+c.expires {
			t.Fatalf("at %d: expires at %d", c.at, got.Booking.ExpiresAt-start)
		}
	}
}

// M-15: holding exactly the same seats again extends, and is no refusal at the cap.
func TestHoldAgain(t *testing.T) {
	r := newShowRig(t, nil)
	b := r.held("u1", "1", "A1", "A2")
	r.now += 60_000
	got := r.must(r.hold("u1", "1", "A2", "A1"), CodeOK)
	if got.Created || got.Replayed || got.Booking.Ref != b.Ref || got.Booking.ExpiresAt != r.now+420_000 || got.Booking.FirstHeldAt != start {
		t.Fatalf("again: %+v", got)
	}
	r.now = start + 470_000
	r.must(r.extend(b), CodeOK)
	r.now = start + 880_000
	r.must(r.extend(b), CodeOK)
	r.now = start + 1_259_999
	if got := r.must(r.hold("u1", "1", "A1", "A2"), CodeOK); got.Booking.ExpiresAt != start+1_260_000 {
		t.Fatalf("at the cap: %+v", got.Booking)
	}
	r.must(r.hold("u1", "1", "A1"), CodeSeatUnavailable)
	r.must(r.cancel(b, "A2"), CodeOK)
	if got := r.must(r.hold("u1", "1", "A1"), CodeOK); got.Booking.Ref != b.Ref { // all that remains of it
		t.Fatalf("what remains: %+v", got.Booking)
	}
}

// M-15: replace swaps an old hold for a new one in one step, or leaves it alone.
func TestReplace(t *testing.T) {
	r := newShowRig(t, nil)
	r.must(r.putShow("2", nil), CodeOK)
	old := r.held("u1", "1", "A1", "A2")
	other := r.held("u2", "1", "B1")
	elsewhere := r.held("u1", "2", "A1")
	r.now += 60_000
	r.unchanged("a refused replace", old, func() {
		r.must(r.replace(old, "u1", "1", "A2", "B1"), CodeSeatUnavailable)
		r.must(r.replace(old, "u1", "1", "A2", "Z1"), CodeInvalid)
		r.must(r.replace(old, "u2", "1", "A3"), CodeBookingState)
		r.must(r.replace(elsewhere, "u1", "1", "A3"), CodeBookingState)
		r.must(r.replace(&Booking{Ref: BookingRef{9}}, "u1", "1", "A3"), CodeBookingNotFound)
	})
	got := r.must(r.replace(old, "u1", "1", "A3", "A2"), CodeOK)
	if !got.Created || got.Booking.FirstHeldAt != start || got.Booking.ExpiresAt != r.now+420_000 || got.Booking.CreatedAt != r.now {
		t.Fatalf("replaced: %+v", got.Booking)
	}
	if b := r.booking(old.Ref); b.Status != StatusReleased || r.seat("1", "A1") != SeatAvailable || r.seat("1", "A2") != SeatHeld {
		t.Fatalf("the old one is %s, A1 %s", b.Status, r.seat("1", "A1"))
	}
	r.must(r.replace(old, "u1", "1", "A4"), CodeBookingState) // it has been replaced
	r.must(r.confirm(other, "PAY-1"), CodeOK)
	r.must(r.replace(other, "u2", "1", "A4"), CodeBookingState)
	r.now = start + 840_001 // a due one
	r.must(r.replace(got.Booking, "u1", "1", "A4"), CodeBookingState)
}

// M-15: a chain of replacements ends when its first hold is three holds old; an old hold outlives a new, shorter cap.
func TestReplaceCap(t *testing.T) {
	r := newShowRig(t, nil)
	b := r.held("u1", "1", "A1")
	for i := range 3 {
		r.now = min(b.ExpiresAt-1, start+1_259_999)
		b = r.must(r.replace(b, "u1", "1", fmt.Sprint("A", i+2)), CodeOK).Booking
	}
	if b.ExpiresAt != start+1_260_000 || b.FirstHeldAt != start {
		t.Fatalf("the last of the chain: %+v", b)
	}
	long := r.held("u2", "1", "B1")
	r.must(r.putShow("1", func(d *wire.ShowDefinition) { d.Spec.HoldSeconds = 5 }), CodeOK)
	r.now += 15_000
	r.unchanged("a replacement without life", long, func() { r.must(r.replace(long, "u2", "1", "B2"), CodeExtendLimit) })
}

func (r *rig) keyed(key, body, user, show string, seats ...string) *Result {
	r.t.Helper()
	return r.do(&wire.Command{Body: &wire.Command_Hold{Hold: &wire.Hold{
		ShowId: show, UserId: user, Labels: seats, IdempotencyKey: []byte(fmt.Sprintf("%-16s", key)), Fingerprint: []byte(fmt.Sprintf("%-16s", body)),
	}}})
}

// M-16: a key gives its booking as it is now, before sale state, limits and seats are looked at, for 24 h of log time.
func TestIdempotencyKey(t *testing.T) {
	r := newShowRig(t, func(d *wire.ShowDefinition) { d.Spec.MaxHoldsPerUser = 1 })
	r.must(r.keyed("k", "a", "u1", "1", "Z1"), CodeInvalid) // refusals are not kept
	made := r.must(r.keyed("k", "a", "u1", "1", "A1"), CodeOK)
	again := r.must(r.keyed("k", "a", "u1", "1", "A1"), CodeOK)
	if !again.Replayed || !again.Created || again.Booking.Ref != made.Booking.Ref || again.Booking.Version != made.Booking.Version {
		t.Fatalf("again: %+v", again)
	}
	r.must(r.keyed("k", "b", "u1", "1", "A2"), CodeIdempotencyKeyReused)
	r.must(r.keyed("l", "a", "u1", "1", "B1"), CodeHoldLimit)
	r.must(r.control("1", wire.ShowAction_SHOW_ACTION_PAUSE), CodeOK)
	r.must(r.keyed("l", "a", "u1", "1", "B1"), CodeSalePaused)
	r.must(r.keyed("k", "b", "u1", "1", "A2"), CodeIdempotencyKeyReused)
	r.must(r.confirm(made.Booking, "PAY-1"), CodeOK)
	if got := r.must(r.keyed("k", "a", "u1", "1", "A1"), CodeOK); got.Booking.Status != StatusConfirmed || !got.Replayed {
		t.Fatalf("after the confirm: %+v", got)
	}
	r.must(r.control("1", wire.ShowAction_SHOW_ACTION_RESUME), CodeOK)
	find := func() *Result {
		return r.do(&wire.Command{Body: &wire.Command_FindByKey{FindByKey: &wire.FindByKey{ShowId: "1", IdempotencyKey: []byte(fmt.Sprintf("%-16s", "k"))}}})
	}
	if got := r.must(find(), CodeOK); got.Booking.Ref != made.Booking.Ref {
		t.Fatalf("by key: %+v", got)
	}
	r.must(r.cancel(made.Booking), CodeOK)
	r.must(r.putShow("1", func(d *wire.ShowDefinition) {
		d.Spec.SalesCloseAtMs, d.Spec.MaxHoldsPerUser = int64(start)+25*3_600_000, 1
	}), CodeOK)
	r.now = start + 24*3_600_000 - 1
	r.must(r.keyed("k", "a", "u1", "1", "A1"), CodeOK)
	r.now++
	if got := r.must(find(), CodeBookingNotFound); got.At != r.now+15_001 {
		t.Fatalf("its no is final at %d", got.At)
	}
	fresh := r.must(r.keyed("k", "b", "u1", "1", "A1"), CodeOK)
	if fresh.Replayed || fresh.Booking.Ref == made.Booking.Ref {
		t.Fatalf("after 24 h: %+v", fresh)
	}
	r.pulse()
	if got := r.must(r.keyed("k", "b", "u1", "1", "A1"), CodeOK); got.Booking.Ref != fresh.Booking.Ref {
		t.Fatalf("letting go of the old key took the new one along: %+v", got)
	}
}

// M-16: an extension by the same seats is remembered under its key too, and a key whose booking has gone is new.
func TestIdempotencyKeyOfExtension(t *testing.T) {
	r := newShowRig(t, func(d *wire.ShowDefinition) {
		d.Spec.StartsAtMs, d.Spec.EndsAtMs, d.Spec.SalesCloseAtMs = d.Spec.StartsAtMs+1e9, d.Spec.EndsAtMs+1e9, d.Spec.SalesCloseAtMs+1e9
	})
	b := r.held("u1", "1", "A1")
	r.now = b.ExpiresAt - 1
	r.must(r.keyed("k", "a", "u1", "1", "A1"), CodeOK)
	r.now = start + 500_000
	if got := r.must(r.keyed("k", "a", "u1", "1", "A1"), CodeOK); !got.Replayed || got.Booking.ExpiresAt != b.ExpiresAt+419_999 {
		t.Fatalf("again: %+v", got)
	}
	r.must(r.release(b, false), CodeOK)
	r.m.endedUnpaid += EndedBookingsMax // as if that many had ended since: the oldest leaves early
	r.pulse()
	r.m.endedUnpaid -= EndedBookingsMax
	if _, there := r.m.Booking(b.Ref, r.now); there {
		t.Fatal("the booking did not leave at the limit")
	}
	if got := r.must(r.keyed("k", "other", "u1", "1", "A1"), CodeOK); got.Replayed {
		t.Fatalf("a key whose booking has gone: %+v", got)
	}
}

// A replace that asks for the seats of another own hold is no extension of that one: it is refused, and says why.
func TestReplaceWithSeatsOfAnotherOwnHold(t *testing.T) {
	r := newRig(t)
	r.putShow("1", nil)
	first := r.must(r.hold("u1", "1", "A1", "A2"), CodeOK).Booking
	second := r.must(r.hold("u1", "1", "A3", "A4"), CodeOK).Booking
	got := r.must(r.replace(first, "u1", "1", "A3", "A4"), CodeSeatUnavailable)
	if len(got.Refused) != 2 || got.Refused[0].Mine != second.Ref {
		t.Fatalf("refused with %+v", got.Refused)
	}
	if r.booking(first.Ref).Status != StatusPending || r.booking(second.Ref).ExpiresAt != second.ExpiresAt {
		t.Fatal("a refused replace changed a hold")
	}
}
