package fsm

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

// rig is a machine with a clock, for tests. Every command gets an id of its own; the machine is audited at the end.
type rig struct {
	t       testing.TB
	m       *Machine
	now     Time
	counter uint64
	log     [][]byte // every entry, when record is set
	record  bool
}

// start is the log time that tests begin at.
const start Time = 1_800_000_000_000

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, m: New(3), now: start}
	t.Cleanup(func() { r.audit() })
	return r
}

// audit fails the test if any counter, list or index of the machine is wrong (M-33).
func (r *rig) audit() *AuditReport {
	r.t.Helper()
	c := r.m.Capture()
	defer c.Release()
	report, err := c.Audit(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, problem := range report.Problems {
		r.t.Error(problem)
	}
	if err := r.m.checkIndexes(); err != nil {
		r.t.Error(err)
	}
	return report
}

// checkIndexes compares every index with what it indexes.
func (m *Machine) checkIndexes() error {
	if m.byRef.count != m.bookings.count || m.userByID.count != m.users.count || len(m.showByID) != m.shows.count ||
		len(m.claimByRef) != m.claims.count || m.answerByID.count != m.answers.len() {
		return fmt.Errorf("an index has more or fewer entries than there are items")
	}
	var lost error
	for place, b := range m.bookings.view().all() {
		if at, ok := m.findBooking(b.ref); !ok || at != place {
			lost = fmt.Errorf("booking %s is at place %d and indexed at %d (%t)", b.ref, place, at, ok)
		}
	}
	for place, u := range m.users.view().all() {
		if at, ok := m.findUser(u.id); !ok || at != place {
			lost = fmt.Errorf("user %s is at place %d and indexed at %d (%t)", u.id, place, at, ok)
		}
	}
	if lost != nil {
		return lost
	}
	byUser, byShow, held := 0, 0, uint32(0)
	for _, u := range m.users.view().all() {
		n := uint32(0)
		for next := u.newest; next != 0; next = m.bookings.get(next - 1).userOlder {
			n++
		}
		if n != u.count || n == 0 {
			lost = fmt.Errorf("user %s counts %d bookings, lists %d", u.id, u.count, n)
		}
		byUser += int(n)
	}
	if lost != nil {
		return lost
	}
	for _, place := range m.showByID {
		for next := m.shows.get(place).newest; next != 0; next = m.bookings.get(next - 1).older {
			byShow++
		}
	}
	for _, u := range m.users.view().all() {
		held += u.held
	}
	for _, n := range m.holders {
		held += n
	}
	if byUser != m.bookings.count || byShow != m.bookings.count || int(held) != m.pending {
		return fmt.Errorf("%d bookings, %d by user, %d by show; %d pending, %d by holder", m.bookings.count, byUser, byShow, m.pending, held)
	}
	return nil
}

func (r *rig) id() (id [16]byte) {
	r.counter++
	binary.BigEndian.PutUint64(id[8:], r.counter)
	binary.BigEndian.PutUint16(id[:2], r.m.shard)
	return id
}

// do applies one command.
func (r *rig) do(command *wire.Command) *Result {
	r.t.Helper()
	if command.Id == nil {
		id := r.id()
		command.Id = id[:]
	}
	if command.NotAfterMs == 0 {
		command.NotAfterMs = int64(r.now + 5000)
	}
	entry := &wire.Entry{Format: EntryFormat, TimeMs: int64(r.now)}
	encoded, err := command.MarshalVT()
	if err != nil {
		r.t.Fatal(err)
	}
	entry.Commands = append(entry.Commands, encoded)
	data, err := entry.MarshalVT()
	if err != nil {
		r.t.Fatal(err)
	}
	if r.record {
		r.log = append(r.log, bytes.Clone(data))
	}
	results, err := r.m.ApplyEntry(data)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range data {
		data[i] = 0xff // nothing the machine keeps may point into the entry
	}
	return results[0]
}

func (r *rig) pulse() {
	r.t.Helper()
	r.do(&wire.Command{Body: &wire.Command_ExpirePulse{ExpirePulse: &wire.ExpirePulse{}}})
}

// testLayout has rows A to E of 8 seats: SILVER, SILVER, GOLD, GOLD, RECLINER.
func testLayout() *wire.Layout {
	l := &wire.Layout{Tiers: []*wire.Tier{{Name: "SILVER"}, {Name: "GOLD"}, {Name: "RECLINER"}}}
	for i, label := range []string{"A", "B", "C", "D", "E"} {
		l.Rows = append(l.Rows, &wire.Row{Label: label, Tier: uint32(i / 2), Blocks: []*wire.Span{{First: 1, Last: 4}, {First: 5, Last: 8}}})
	}
	return l
}

func testDefinition() *wire.ShowDefinition {
	return &wire.ShowDefinition{
		Spec: &wire.ShowSpec{
			MovieId: "MV-1", ScreenId: "SCR-1", StartsAtMs: int64(start) + 24*3_600_000, EndsAtMs: int64(start) + 26*3_600_000,
			Currency: "INR", HoldSeconds: 420, MaxSeatsPerBooking: 10, MaxHoldsPerUser: 4,
			SalesCloseAtMs: int64(start) + 24*3_600_000,
			Pricing:        &wire.Pricing{Strategy: PricingTier, Base: []*wire.TierAmount{{Tier: "GOLD", Amount: 20000}, {Tier: "RECLINER", Amount: 40000}, {Tier: "SILVER", Amount: 15000}}},
			RefundPolicy:   []*wire.RefundRule{{MinutesBefore: 120, Percent: 100}, {MinutesBefore: 20, Percent: 50}},
		},
		Layout: testLayout(), TierPrices: []int64{15000, 20000, 40000}, MovieTitle: "Dune", TheatreId: "TH-1", TheatreName: "Forum",
		ScreenName: "Audi 1", CityId: "BLR", TimeZone: "Asia/Kolkata",
	}
}

func (r *rig) putShow(id string, change func(*wire.ShowDefinition)) *Result {
	r.t.Helper()
	definition := testDefinition()
	if change != nil {
		change(definition)
	}
	return r.do(&wire.Command{Body: &wire.Command_PutShow{PutShow: &wire.PutShow{ShowId: id, Definition: definition}}})
}

func (r *rig) hold(user, show string, seats ...string) *Result {
	r.t.Helper()
	return r.do(&wire.Command{Body: &wire.Command_Hold{Hold: &wire.Hold{ShowId: show, UserId: user, Labels: seats}}})
}

func (r *rig) confirm(b *Booking, ref string) *Result {
	r.t.Helper()
	return r.do(&wire.Command{Body: &wire.Command_Confirm{Confirm: &wire.Confirm{Booking: b.Ref[:], UserId: string(b.User), PaymentRef: ref, Method: "external"}}})
}

// M-10, M-11, M-21: the first of two takes the seats, the other learns at once which it cannot have.
func TestHoldThenConfirm(t *testing.T) {
	r := newRig(t)
	if got := r.putShow("1", nil); got.Code != CodeOK || !got.Created || got.Show.Counts.Total != 40 {
		t.Fatalf("put: %+v", got)
	}
	won := r.hold("u1", "1", "A2", "A1")
	if won.Code != CodeOK || won.Booking.TotalAmount != 30000 || won.Booking.Seats[0].Label != "A1" {
		t.Fatalf("hold: %+v", won)
	}
	lost := r.hold("u2", "1", "A1", "A3")
	if lost.Code != CodeSeatUnavailable || len(lost.Refused) != 1 || lost.Refused[0].Label != "A1" || lost.Refused[0].FreeAt != won.Booking.ExpiresAt {
		t.Fatalf("hold of a taken seat: %+v", lost)
	}
	done := r.confirm(won.Booking, "PAY-1")
	if done.Code != CodeOK || done.Booking.Status != StatusConfirmed || done.Booking.Payment.Amount != 30000 {
		t.Fatalf("confirm: %+v", done)
	}
	again := r.confirm(won.Booking, "PAY-1")
	if again.Code != CodeOK || !again.Replayed || again.Booking.Version != done.Booking.Version {
		t.Fatalf("confirm again: %+v", again)
	}
	show, _ := r.m.Show("1", r.now)
	if show.Counts != (Counts{Available: 38, Booked: 2, Total: 40}) {
		t.Fatalf("census: %+v", show.Counts)
	}
}

// A snapshot restores to the same digest, and the restored machine goes on to the same results.
func TestSnapshotRestore(t *testing.T) {
	r := newRig(t)
	r.putShow("1", nil)
	for i := range 5 {
		b := r.hold(fmt.Sprint("u", i), "1", fmt.Sprint("A", i+1), fmt.Sprint("B", i+1)).Booking
		if i%2 == 0 {
			r.confirm(b, fmt.Sprint("PAY-", i))
		}
	}
	before := r.audit()
	c := r.m.Capture()
	var snapshot bytes.Buffer
	if _, err := c.WriteTo(&snapshot); err != nil {
		t.Fatal(err)
	}
	c.Release()
	other := &rig{t: t, m: New(3), now: r.now, counter: r.counter}
	if err := other.m.Restore(bytes.NewReader(snapshot.Bytes())); err != nil {
		t.Fatal(err)
	}
	if after := other.audit(); after.Digest != before.Digest {
		t.Fatal("the restored machine has another digest")
	}
	for _, x := range []*rig{r, other} {
		x.now += 421_000
		x.pulse()
		x.hold("u9", "1", "A2")
	}
	if r.audit().Digest != other.audit().Digest {
		t.Fatal("the restored machine went another way")
	}
	for cut := range snapshot.Len() {
		if err := New(3).Restore(bytes.NewReader(snapshot.Bytes()[:cut])); err == nil {
			t.Fatalf("a snapshot cut at byte %d of %d was taken", cut, snapshot.Len())
		}
	}
}
