package fsm

import (
	"fmt"
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

func (r *rig) browseSent(show string, revision uint64) {
	r.t.Helper()
	r.must(r.do(&wire.Command{Body: &wire.Command_BrowseSent{BrowseSent: &wire.BrowseSent{ShowId: show, Revision: revision}}}), CodeOK)
}

// pulseUntilIdle pulses while the machine says that there is work now, and gives how often.
func (r *rig) pulseUntilIdle() int {
	r.t.Helper()
	for n := 0; ; n++ {
		at, ok := r.m.NextExpiry()
		if !ok || at > r.now {
			return n
		}
		if n == 1000 {
			r.t.Fatal("a thousand pulses did not finish the work")
		}
		r.pulse()
	}
}

const (
	hour = Time(3_600_000)
	day  = 24 * hour
)

// An ended booking that nobody paid for leaves 24 h after its end; one with money stays until its show leaves.
func TestUnpaidLeave(t *testing.T) {
	r := newShowRig(t, nil)
	gone := []*Booking{r.held("u1", "1", "A1"), r.held("u2", "1", "A2"), r.held("u3", "1", "A3")}
	kept := []*Booking{r.held("u1", "1", "B1"), r.held("u2", "1", "B2"), r.held("u3", "1", "B3"), r.held("u3", "1", "B4")}
	r.must(r.release(gone[0], false), CodeOK)
	r.must(r.cancel(gone[1]), CodeOK)
	r.must(r.confirm(kept[0], "PAY-1"), CodeOK)
	r.must(r.confirm(kept[1], "PAY-2"), CodeOK)
	r.must(r.cancel(kept[1]), CodeOK)
	r.must(r.release(kept[2], false), CodeOK)
	r.must(r.confirm(kept[2], "PAY-3"), CodeBookingState) // paid after it had begun to wait for its leave
	r.must(r.pay(kept[3], "PAY-4", 1, ""), CodeAmountMismatch)
	r.now = gone[2].ExpiresAt
	r.pulse() // the third expires, and B4
	if at, ok := r.m.NextExpiry(); !ok || at > start+day {
		t.Fatalf("the next pulse is at %d, %t", at-start, ok)
	}
	for _, step := range []struct {
		at   Time
		left []*Booking
	}{{start + day - 1, gone}, {start + day, gone[2:]}, {gone[2].ExpiresAt + day - 1, gone[2:]}, {gone[2].ExpiresAt + day, nil}} {
		r.now = step.at
		r.pulseUntilIdle()
		if n := r.m.Stats().Bookings; n != len(step.left)+len(kept) {
			t.Errorf("%d bookings at %d", n, step.at-start)
		}
		for _, b := range step.left {
			r.booking(b.Ref)
		}
	}
	r.must(r.confirm(gone[0], "PAY-9"), CodeBookingNotFound)
	for _, b := range kept {
		r.booking(b.Ref)
	}
	if list := r.m.Bookings(BookingFilter{User: "u3", Limit: 9}, r.now); len(list) != 2 {
		t.Errorf("u3 has %d bookings", len(list))
	}
}

// A show leaves 90 days after its end with its bookings, and the catalogue is told; a show of the same id may come.
func TestShowLeaves(t *testing.T) {
	r := newShowRig(t, nil)
	r.browseSent("1", 1)
	if items := r.m.BrowsePending(9); len(items) != 0 {
		t.Fatalf("the catalogue waits for %+v", items)
	}
	r.must(r.putShow("1", func(d *wire.ShowDefinition) { d.MovieTitle = "x"; d.Spec.HoldSeconds = 60 }), CodeOK)
	r.browseSent("1", 1) // of the revision before
	if items := r.m.BrowsePending(9); len(items) != 1 || items[0].Revision != 2 || items[0].Definition.MovieTitle != "x" {
		t.Fatalf("the catalogue waits for %+v", items)
	}
	r.browseSent("1", 3) // one that is not there yet
	r.browseSent("1", 2)
	b := r.held("u1", "1", "A1")
	r.must(r.confirm(b, "PAY-1"), CodeOK)
	leaves := Time(testDefinition().Spec.EndsAtMs) + 90*day
	r.now = leaves - 1
	r.pulseUntilIdle()
	r.booking(b.Ref)
	if at, ok := r.m.NextExpiry(); !ok || at != leaves {
		t.Fatalf("the next pulse is at %d, %t", at, ok)
	}
	r.now = leaves
	r.pulseUntilIdle()
	if _, there := r.m.Show("1", r.now); there || r.m.Stats().Bookings != 0 || r.m.Stats().Seats != (Counts{}) || len(r.m.layouts) != 0 {
		t.Fatalf("left behind: %+v, %d layouts", r.m.Stats(), len(r.m.layouts))
	}
	if items := r.m.BrowsePending(9); len(items) != 1 || items[0].Definition != nil || items[0].Revision != 3 {
		t.Fatalf("the catalogue is told %+v", items)
	}
	again := r.must(r.putShow("1", nil), CodeOK) // it ended long ago; the revision counts on above that of the removal
	if !again.Created || again.Show.Revision != 4 || again.Show.Status != ShowClosed {
		t.Fatalf("a new show of the id: %+v", again.Show)
	}
	r.pulseUntilIdle()
	r.browseSent("1", 4)
	if items := r.m.BrowsePending(9); len(items) != 1 || items[0].Revision != 5 {
		t.Fatalf("the catalogue is told %+v", items)
	}
	r.browseSent("1", 5)
	if items := r.m.BrowsePending(9); len(items) != 0 {
		t.Fatalf("the catalogue is told %+v", items)
	}
}

// A show with more bookings than one pulse lets go of leaves in steps, and is whole after each: failed once, with
// seats that belonged to bookings no longer there.
func TestLargeShowLeaves(t *testing.T) {
	const bookings = PulseWorkMax + 500
	r := newRig(t)
	r.must(r.putShow("1", func(d *wire.ShowDefinition) { *d = *largeDefinition(20, 100) }), CodeOK)
	for i := range bookings {
		b := r.must(r.do(&wire.Command{Body: &wire.Command_Hold{Hold: &wire.Hold{ShowId: "1", UserId: fmt.Sprint("u", i), SeatIds: []uint32{uint32(i + 1)}}}}), CodeOK).Booking
		r.must(r.confirm(b, fmt.Sprint("PAY-", i)), CodeOK)
	}
	r.now = Time(testDefinition().Spec.EndsAtMs) + 90*day
	r.pulse()
	if n := r.m.Stats().Bookings; n != bookings-PulseWorkMax {
		t.Fatalf("%d bookings are left", n)
	}
	r.audit()
	other := restored(t, snapshotOf(t, r.m))
	sibling := &rig{t: t, m: other, now: r.now, counter: r.counter}
	r.must(r.hold("u1", "1", "AAA1"), CodeSaleClosed)
	sibling.hold("u1", "1", "AAA1")
	r.pulse()
	sibling.pulse()
	if sibling.audit().Digest != r.audit().Digest {
		t.Error("a replica that restored in the middle went another way")
	}
	if r.m.Stats().Shows != 0 {
		t.Error("the show is still there")
	}
}

// Moving a show's end moves its leave, both ways, and moving it often costs no memory.
func TestDepartureMoves(t *testing.T) {
	r := newShowRig(t, nil)
	ends := func(at Time) {
		r.must(r.putShow("1", func(d *wire.ShowDefinition) { d.Spec.EndsAtMs = int64(at) }), CodeOK)
	}
	for i := range 500 {
		ends(start + 30*hour + Time(i%2)*day)
	}
	if n := len(r.m.departures.items); n > departuresSlack+3 {
		t.Errorf("%d departures are planned for one show", n)
	}
	ends(start + 60*day)
	r.now = start + 30*hour + 91*day
	r.pulseUntilIdle()
	if r.m.Stats().Shows != 1 {
		t.Fatal("it left at its old time")
	}
	ends(start + 26*hour)
	r.pulseUntilIdle()
	if r.m.Stats().Shows != 0 {
		t.Fatal("it did not leave at its new, earlier time")
	}
}

// A claim is kept for 500 days.
func TestClaimsLeave(t *testing.T) {
	r := newRig(t)
	const take = wire.ClaimAction_CLAIM_ACTION_TAKE
	for i := range 5 {
		r.must(r.claim(take, fmt.Sprint("PAY-", i), BookingRef{1}, BookingRef{}), CodeOK)
		r.must(r.claim(wire.ClaimAction_CLAIM_ACTION_FINALISE, fmt.Sprint("PAY-", i), BookingRef{1}, BookingRef{}), CodeOK)
	}
	r.now = start + 500*day - 1
	r.pulseUntilIdle()
	r.must(r.claim(take, "PAY-0", BookingRef{2}, BookingRef{}), CodePaymentRefReused)
	r.now++
	r.must(r.claim(take, "PAY-0", BookingRef{2}, BookingRef{}), CodeOK) // two of the oldest leave on the way
	if n := r.m.Stats().Claims; n != 4 {
		t.Errorf("%d claims are left", n)
	}
	r.pulseUntilIdle()
	if n := r.m.Stats().Claims; n != 1 {
		t.Errorf("%d claims are left", n)
	}
}

// Holds that are given back at once do not fill the expiry heap until their deadlines; nor do extensions.
func TestExpiryHeapStaysSmall(t *testing.T) {
	r := newShowRig(t, func(d *wire.ShowDefinition) { d.Spec.HoldSeconds = 3600 })
	r.held("u0", "1", "E2") // stays at the head of the heap, so that nothing behind it is cleared on the way
	early := r.held("u0", "1", "E1")
	for range expirySlack + 5000 {
		b := r.held("u1", "1", "A1")
		r.must(r.release(b, false), CodeOK)
		r.now++
		r.must(r.extend(early), CodeOK)
		early = r.booking(early.Ref)
	}
	if n := len(r.m.expiry.items); n > expirySlack+10 {
		t.Errorf("the heap has %d items for two live holds", n)
	}
	if at, ok := r.m.NextExpiry(); !ok || at > early.ExpiresAt {
		t.Errorf("the next pulse is at %d, the hold ends at %d", at, early.ExpiresAt)
	}
	r.now = early.ExpiresAt
	r.pulse()
	if got := r.booking(early.Ref); got.Status != StatusExpired {
		t.Errorf("the extended hold is %s", got.Status)
	}
}
