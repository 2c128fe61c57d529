package fsm

import (
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

// The rig's short forms of commands, and what tests expect of results.

func (r *rig) release(b *Booking, failed bool) *Result {
	r.t.Helper()
	return r.do(&wire.Command{Body: &wire.Command_Release{Release: &wire.Release{Booking: b.Ref[:], UserId: string(b.User), PaymentFailed: failed}}})
}

func (r *rig) extend(b *Booking) *Result {
	r.t.Helper()
	return r.do(&wire.Command{Body: &wire.Command_Extend{Extend: &wire.Extend{Booking: b.Ref[:], UserId: string(b.User)}}})
}

func (r *rig) cancel(b *Booking, seats ...string) *Result {
	r.t.Helper()
	return r.do(&wire.Command{Body: &wire.Command_Cancel{Cancel: &wire.Cancel{Booking: b.Ref[:], UserId: string(b.User), Labels: seats}}})
}

// pay confirms with an amount and a currency.
func (r *rig) pay(b *Booking, ref string, amount int64, currency string) *Result {
	r.t.Helper()
	return r.do(&wire.Command{Body: &wire.Command_Confirm{Confirm: &wire.Confirm{
		Booking: b.Ref[:], UserId: string(b.User), PaymentRef: ref, Amount: &amount, Currency: currency,
	}}})
}

func (r *rig) block(show string, seats ...string) *Result {
	r.t.Helper()
	return r.do(&wire.Command{Body: &wire.Command_Block{Block: &wire.Block{ShowId: show, Labels: seats, Reason: "house"}}})
}

func (r *rig) unblock(show string, seats ...string) *Result {
	r.t.Helper()
	return r.do(&wire.Command{Body: &wire.Command_Block{Block: &wire.Block{ShowId: show, Labels: seats, Unblock: true}}})
}

func (r *rig) control(show string, action wire.ShowAction) *Result {
	r.t.Helper()
	return r.do(&wire.Command{Body: &wire.Command_ControlShow{ControlShow: &wire.ControlShow{ShowId: show, Action: action}}})
}

func (r *rig) claim(action wire.ClaimAction, ref string, booking BookingRef, from BookingRef) *Result {
	r.t.Helper()
	return r.do(&wire.Command{Body: &wire.Command_Claim{Claim: &wire.Claim{PaymentRef: ref, Booking: booking[:], Action: action, From: from[:]}}})
}

func (r *rig) refuseReference(b BookingRef, ref string) *Result {
	r.t.Helper()
	return r.do(&wire.Command{Body: &wire.Command_RefuseReference{RefuseReference: &wire.RefuseReference{Booking: b[:], PaymentRef: ref}}})
}

// booking reads a booking as the log has it.
func (r *rig) booking(ref BookingRef) *Booking {
	r.t.Helper()
	b, ok := r.m.Booking(ref, r.m.Now())
	if !ok {
		r.t.Fatalf("booking %s is not there", ref)
	}
	return b
}

// seat is a seat's status as the log has it.
func (r *rig) seat(show, label string) SeatStatus {
	r.t.Helper()
	statuses, view, ok := r.m.SeatStatuses(ShowID(show), r.m.Now(), nil)
	if !ok {
		r.t.Fatalf("show %s is not there", show)
	}
	seat, ok := view.Definition.Layout.Find(label)
	if !ok {
		r.t.Fatalf("there is no seat %s", label)
	}
	return statuses[seat]
}

func (r *rig) counts(show string) Counts {
	r.t.Helper()
	view, ok := r.m.Show(ShowID(show), r.m.Now())
	if !ok {
		r.t.Fatalf("show %s is not there", show)
	}
	return view.Counts
}

// must fails the test unless a result has a code.
func (r *rig) must(got *Result, want Code) *Result {
	r.t.Helper()
	if got.Code != want {
		r.t.Fatalf("code %d, not %d: %+v", got.Code, want, got)
	}
	return got
}

// held gives a new hold, which must be granted.
func (r *rig) held(user, show string, seats ...string) *Booking {
	r.t.Helper()
	return r.must(r.hold(user, show, seats...), CodeOK).Booking
}

// unchanged fails the test if a command changes anything but what it answers and remembers.
func (r *rig) unchanged(what string, b *Booking, command func()) {
	r.t.Helper()
	before, show := r.booking(b.Ref), r.counts(string(b.Show))
	version, _ := r.m.ShowVersion(b.Show)
	command()
	after := r.booking(b.Ref)
	now, _ := r.m.ShowVersion(b.Show)
	if after.Version != before.Version || after.Status != before.Status || r.counts(string(b.Show)) != show || now != version {
		r.t.Errorf("%s changed the booking or its show: %+v, before %+v", what, after, before)
	}
}

// newShowRig is a rig with show "1" on sale.
func newShowRig(t testing.TB, change func(*wire.ShowDefinition)) *rig {
	t.Helper()
	r := newRig(t)
	r.must(r.putShow("1", change), CodeOK)
	return r
}
