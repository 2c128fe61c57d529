package fsm

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

// M-32: bookings are listed newest first, by user, by show or by both, page after page without gaps or repeats.
func TestBookings(t *testing.T) {
	r := newShowRig(t, func(d *wire.ShowDefinition) { d.Spec.MaxHoldsPerUser = 100 })
	r.must(r.putShow("2", nil), CodeOK)
	for i := range 24 {
		b := r.held(fmt.Sprint("u", i%2), fmt.Sprint(1+i%3%2), fmt.Sprint(string(rune('A'+i/8)), 1+i%8))
		if i%5 == 0 {
			r.must(r.release(b, false), CodeOK)
		}
		if i%4 == 0 {
			r.now++ // some share a millisecond
		}
	}
	for _, filter := range []BookingFilter{
		{User: "u0"},
		{Show: "1"},
		{User: "u1", Show: "2"},
		{Show: "1", Status: StatusReleased},
		{User: "u0", Status: StatusPending},
		{User: "nobody"},
		{Show: "none"},
	} {
		filter.Limit = ListMax + 1
		all := r.m.Bookings(filter, r.now)
		want := 0
		for _, b := range r.m.bookings.view().all() {
			v := r.m.bookingView(b, r.now)
			if (filter.User == "" || v.User == filter.User) && (filter.Show == "" || v.Show == filter.Show) && (filter.Status == StatusNone || v.Status == filter.Status) {
				want++
			}
		}
		if len(all) != want {
			t.Errorf("%+v: %d bookings, not %d", filter, len(all), want)
		}
		for i := 1; i < len(all); i++ {
			if !all[i-1].Position().Precedes(all[i].Position()) || all[i].Position().Precedes(all[i-1].Position()) {
				t.Errorf("%+v: %+v before %+v", filter, all[i-1].Position(), all[i].Position())
			}
		}
		var paged []BookingRef
		for filter.Limit = 3; ; {
			page := r.m.Bookings(filter, r.now)
			if len(page) == 0 {
				break
			}
			for _, b := range page {
				paged = append(paged, b.Ref)
			}
			filter.Before = page[len(page)-1].Position()
		}
		if !slices.EqualFunc(paged, all, func(ref BookingRef, b *Booking) bool { return ref == b.Ref }) {
			t.Errorf("%+v: pages give %v", filter, paged)
		}
	}
}

// M-33: an audit counts what is there, and one of a show gives the same digest wherever the same version is, whether or
// not unpaid ended bookings have left.
func TestAudits(t *testing.T) {
	r := newShowRig(t, nil)
	r.must(r.putShow("2", nil), CodeOK)
	r.must(r.confirm(r.held("u1", "1", "A1"), "PAY-1"), CodeOK)
	r.must(r.release(r.held("u1", "1", "A2"), false), CodeOK)
	r.must(r.block("1", "E1"), CodeOK)
	r.must(r.confirm(r.held("u1", "2", "A1"), "PAY-2"), CodeOK)
	audit := func(m *Machine, show ShowID) *ShowAudit {
		c := m.Capture()
		defer c.Release()
		a, err := c.AuditShow(context.Background(), show)
		if err != nil || !a.OK {
			t.Fatalf("%+v %v", a, err)
		}
		return a
	}
	before := audit(r.m, "1")
	if before.Counts != (Counts{Available: 38, Booked: 1, Blocked: 1, Total: 40}) {
		t.Errorf("counts %+v", before.Counts)
	}
	if other := audit(r.m, "2"); other.Digest == before.Digest {
		t.Error("two shows have one digest")
	}
	if other := audit(restored(t, snapshotOf(t, r.m)), "1"); other.Digest != before.Digest || other.Version != before.Version {
		t.Error("a restored replica has another digest")
	}
	r.now += 2 * day
	r.pulseUntilIdle()
	if after := audit(r.m, "1"); r.m.Stats().Bookings != 2 || after.Digest != before.Digest || after.Version != before.Version {
		t.Error("the digest changed with a booking that nobody needs, at the same version")
	}
	r.must(r.unblock("1", "E1"), CodeOK)
	if after := audit(r.m, "1"); after.Digest == before.Digest || after.Version != before.Version+1 {
		t.Error("a change of the show has the old digest or version")
	}
}

// An audit finds what is wrong, in words for an operator.
func TestAuditFindsProblems(t *testing.T) {
	for name, damage := range map[string]func(m *Machine, s *show, b *booking){
		"a counter":          func(_ *Machine, s *show, _ *booking) { s.counts.Held++ },
		"a shard's counter":  func(m *Machine, _ *show, _ *booking) { m.seatTotals.Booked++ },
		"live holds":         func(m *Machine, _ *show, _ *booking) { m.pending++ },
		"a seat given away":  func(_ *Machine, s *show, _ *booking) { s.seats.owner[0] = ownerNone },
		"a seat too many":    func(_ *Machine, s *show, b *booking) { s.seats.owner[5] = s.seats.owner[0] },
		"an owner from afar": func(_ *Machine, s *show, _ *booking) { s.seats.owner[0] = 1 << 20 },
		"a status":           func(_ *Machine, _ *show, b *booking) { b.status = StatusReleased },
		"no payment":         func(_ *Machine, _ *show, b *booking) { b.status = StatusConfirmed },
		"another's payment":  func(_ *Machine, _ *show, b *booking) { b.extra = &extra{confirmedBy: "PAY-7"} },
		"no seats":           func(_ *Machine, _ *show, b *booking) { b.extra = &extra{gone: []bool{true}} },
		"a short map":        func(_ *Machine, s *show, _ *booking) { s.seats.owner = s.seats.owner[:7] },
		"no map":             func(_ *Machine, s *show, _ *booking) { s.seats = nil },
		"unpaid": func(m *Machine, _ *show, _ *booking) {
			m.endedByAge.pop()
		},
	} {
		m := New(3)
		r := &rig{t: t, m: m, now: start}
		r.must(r.putShow("1", nil), CodeOK)
		r.must(r.release(r.held("u2", "1", "B1"), false), CodeOK)
		b := r.held("u1", "1", "A1")
		place, _ := m.findBooking(b.Ref)
		damage(m, m.shows.edit(m.showByID["1"]), m.bookings.edit(place))
		c := m.Capture()
		report, err := c.Audit(context.Background())
		if err != nil || report.OK || len(report.Problems) == 0 {
			t.Errorf("%s: %+v %v", name, report, err)
		}
		c.Release()
	}
}

// The words of the API.
func TestNames(t *testing.T) {
	for status := StatusPending; status <= StatusCancelled; status++ {
		if got := ParseBookingStatus(status.String()); got != status {
			t.Errorf("%s reads as %s", status, got)
		}
	}
	if ParseBookingStatus("HELD") != StatusNone {
		t.Error("HELD is no booking status")
	}
	letters := ""
	for status := SeatAvailable; status <= SeatBlocked; status++ {
		letters += string(status.Letter())
	}
	if letters != "AHBX" || SeatBlocked.String() != "BLOCKED" || PaymentRefundDue.String() != "REFUND_DUE" || ShowNotOpen.String() != "NOT_OPEN" || BookedSeatExpired.String() != "EXPIRED" {
		t.Errorf("letters %s", letters)
	}
	if got := Time(1_800_000_000_123).Std().Format("2006-01-02T15:04:05.000Z07:00"); got != "2027-01-15T08:00:00.123Z" {
		t.Errorf("a time reads %s", got)
	}
}
