package fsm

import (
	"errors"
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

// entry encodes commands for log time now.
func entry(t testing.TB, now Time, commands ...*wire.Command) []byte {
	t.Helper()
	e := &wire.Entry{Format: EntryFormat, TimeMs: int64(now)}
	for _, c := range commands {
		encoded, err := c.MarshalVT()
		if err != nil {
			t.Fatal(err)
		}
		e.Commands = append(e.Commands, encoded)
	}
	data, err := e.MarshalVT()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func holdCommand(id [16]byte, notAfter Time, seat string) *wire.Command {
	return &wire.Command{Id: id[:], NotAfterMs: int64(notAfter), Body: &wire.Command_Hold{Hold: &wire.Hold{ShowId: "1", UserId: "u1", Labels: []string{seat}}}}
}

// A command sent twice has one effect and one answer, a refusal too, in one entry, over entries and over a restore.
func TestCommandTwice(t *testing.T) {
	r := newShowRig(t, nil)
	hold := holdCommand(r.id(), start+5000, "A1")
	lost := holdCommand(r.id(), start+5000, "A1")
	lost.GetHold().UserId = "u2"
	results, err := r.m.ApplyEntry(entry(t, start, hold, hold, lost, hold, lost))
	if err != nil {
		t.Fatal(err)
	}
	if results[0] != results[1] || results[0] != results[3] || results[2] != results[4] || results[0].Code != CodeOK || results[2].Code != CodeSeatUnavailable {
		t.Fatalf("%+v", results)
	}
	r.must(r.release(results[0].Booking, false), CodeOK)
	other := restored(t, snapshotOf(t, r.m))
	for _, m := range []*Machine{r.m, other} {
		again, err := m.ApplyEntry(entry(t, start+5000, hold, lost)) // the last moment; the seat is free now
		if err != nil {
			t.Fatal(err)
		}
		if again[0].Code != CodeOK || again[0].Booking.Status != StatusPending || again[1].Code != CodeSeatUnavailable || again[0].Now != start {
			t.Fatalf("again: %+v %+v", again[0], again[1])
		}
		for i, result := range again {
			want := encodedResult(t, results[2*i])
			if got := encodedResult(t, result); string(got) != string(want) {
				t.Fatalf("again: %x, first %x", got, want)
			}
		}
		if late, err := m.ApplyEntry(entry(t, start+5001, hold, lost)); err != nil || late[0].Code != CodeCommandTooLate || late[1].Code != CodeCommandTooLate {
			t.Fatalf("too late: %+v %v", late, err)
		}
		if s, _ := m.Show("1", 0); s.Counts.Held != 0 {
			t.Fatalf("a second effect: %+v", s.Counts)
		}
	}
}

// notAfter is inclusive, and at most 15 s ahead: an answer must be kept as long as its command may come again. Failed
// once: a longer life was cut to 15 s, and the command had a second effect after that.
func TestNotAfter(t *testing.T) {
	r := newShowRig(t, nil)
	for _, c := range []struct {
		notAfter Time
		code     Code
	}{{start - 1, CodeCommandTooLate}, {start + 15_001, CodeFull}, {1 << 62, CodeFull}, {start, CodeOK}, {start + 15_000, CodeOK}} {
		id := r.id()
		results, err := r.m.ApplyEntry(entry(t, start, holdCommand(id, c.notAfter, "A1")))
		if err != nil || results[0].Code != c.code {
			t.Fatalf("notAfter %d: %+v %v", c.notAfter-start, results, err)
		}
		if c.code == CodeOK {
			r.must(r.release(results[0].Booking, false), CodeOK)
		}
	}
	long := holdCommand(r.id(), start+20_000, "A2")
	codes := []Code{}
	for _, at := range []Time{0, 5_000, 20_000, 20_001} { // first too early to be kept, then it counts, once
		results, err := r.m.ApplyEntry(entry(t, start+at, long))
		if err != nil {
			t.Fatal(err)
		}
		if codes = append(codes, results[0].Code); at == 5_000 {
			r.must(r.do(&wire.Command{NotAfterMs: int64(start + 6_000), Body: &wire.Command_Release{Release: &wire.Release{Booking: results[0].Booking.Ref[:], UserId: "u1"}}}), CodeOK)
		}
	}
	if codes[0] != CodeFull || codes[1] != CodeOK || codes[2] != CodeOK || codes[3] != CodeCommandTooLate || r.seat("1", "A2") != SeatAvailable {
		t.Fatalf("codes %v, A2 is %s", codes, r.seat("1", "A2"))
	}
}

// Answers are let go of when no retry can ask any more; reads answer anew.
func TestAnswersLeave(t *testing.T) {
	r := newShowRig(t, nil)
	b := r.held("u1", "1", "A1")
	id := r.id()
	read := &wire.Command{Id: id[:], NotAfterMs: int64(start + 5000), Body: &wire.Command_ReadBooking{ReadBooking: &wire.ReadBooking{Booking: b.Ref[:]}}}
	if got := r.must(r.do(read), CodeOK); got.Booking.Status != StatusPending {
		t.Fatalf("read: %+v", got)
	}
	r.must(r.confirm(b, "PAY-1"), CodeOK)
	if got := r.must(r.do(read), CodeOK); got.Booking.Status != StatusConfirmed {
		t.Fatalf("read again: %+v", got)
	}
	if n := r.m.Stats().Answers; n != 3 {
		t.Errorf("%d answers are kept", n)
	}
	r.now = start + 5000
	r.pulse()
	if n := r.m.Stats().Answers; n != 3 {
		t.Errorf("%d answers are kept at their last moment", n)
	}
	r.now++
	r.pulse()
	if n := r.m.Stats().Answers; n != 0 {
		t.Errorf("%d answers are kept after it", n)
	}
}

// M-14: log time never goes back, whatever a leader stamps.
func TestTimeNeverGoesBack(t *testing.T) {
	r := newShowRig(t, nil)
	b := r.held("u1", "1", "A1")
	r.now = b.ExpiresAt
	r.must(r.hold("u2", "1", "A1"), CodeOK)
	results, err := r.m.ApplyEntry(entry(t, start, holdCommand(r.id(), b.ExpiresAt+1, "A2")))
	if err != nil || results[0].Now != b.ExpiresAt || results[0].Booking.CreatedAt != b.ExpiresAt || r.m.Now() != b.ExpiresAt {
		t.Fatalf("an older stamp: %+v %v", results[0], err)
	}
	if results, err = r.m.ApplyEntry(entry(t, start, holdCommand(r.id(), b.ExpiresAt-1, "A3"))); err != nil || results[0].Code != CodeCommandTooLate {
		t.Fatalf("too late by the greater time: %+v %v", results[0], err)
	}
}

// What cannot be understood stops the group, and changes nothing: neither its command nor the others of the entry.
func TestEntriesThatStopTheGroup(t *testing.T) {
	r := newShowRig(t, nil)
	good := holdCommand(r.id(), start+5000, "A1")
	id := r.id()
	newRules := &wire.Command{Id: id[:], NotAfterMs: int64(start + 5000), Body: &wire.Command_RaiseRules{RaiseRules: &wire.RaiseRules{Version: RulesVersion + 1}}}
	encoded, err := good.MarshalVT()
	if err != nil {
		t.Fatal(err)
	}
	of := func(e *wire.Entry) []byte {
		data, err := e.MarshalVT()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	before := r.audit().Digest
	for name, c := range map[string]struct {
		data []byte
		err  error
	}{
		"nothing":        {nil, ErrEntry},
		"another format": {of(&wire.Entry{Format: 2, TimeMs: int64(start), Commands: [][]byte{encoded}}), ErrEntry},
		"no time":        {of(&wire.Entry{Format: EntryFormat, TimeMs: -1, Commands: [][]byte{encoded}}), ErrEntry},
		"no such time":   {of(&wire.Entry{Format: EntryFormat, TimeMs: 1 << 62, Commands: [][]byte{encoded}}), ErrEntry},
		"no kind":        {of(&wire.Entry{Format: EntryFormat, TimeMs: int64(start), Commands: [][]byte{encoded, {}}}), ErrEntry},
		"cut short":      {of(&wire.Entry{Format: EntryFormat, TimeMs: int64(start), Commands: [][]byte{encoded, encoded[:len(encoded)-1]}}), ErrEntry},
		"newer rules":    {entry(t, start, good, newRules), ErrRules}, // failed once: refused, where newer replicas accept
	} {
		if results, err := r.m.ApplyEntry(c.data); !errors.Is(err, c.err) || results != nil {
			t.Errorf("%s: %v %v", name, results, err)
		}
		if r.audit().Digest != before {
			t.Fatalf("%s changed the state", name)
		}
	}
	r.must(r.do(&wire.Command{Body: &wire.Command_RaiseRules{RaiseRules: &wire.RaiseRules{}}}), CodeUnsupportedRules)
	r.must(r.do(&wire.Command{Body: &wire.Command_RaiseRules{RaiseRules: &wire.RaiseRules{Version: RulesVersion}}}), CodeOK)
}

// A hold's id must be a reference of its own shard: failed once with a snapshot that could not be restored.
func TestHoldOfAnotherShard(t *testing.T) {
	r := newShowRig(t, nil)
	id := r.id()
	id[1]++
	results, err := r.m.ApplyEntry(entry(t, start, holdCommand(id, start+5000, "A1")))
	if err != nil || results[0].Code != CodeInvalid || results[0].Field != "id" {
		t.Fatalf("%+v %v", results, err)
	}
	b := r.held("u1", "1", "A1")
	r.now += 20_000
	results, err = r.m.ApplyEntry(entry(t, r.now, holdCommand(b.Ref, r.now+5000, "A2"))) // long after its answer has gone
	if err != nil || results[0].Code != CodeInvalid {
		t.Fatalf("a reference twice: %+v %v", results, err)
	}
}

// Holds end in the order of their deadlines on every replica, however often they were extended: failed once, when one
// that had restored a snapshot knew nothing of the earlier deadlines.
func TestExpiryOrderAfterRestore(t *testing.T) {
	r := newShowRig(t, nil)
	r.held("u1", "1", "A1") // first in the heap
	r.now = start + 1
	extended := r.held("u2", "1", "A2")
	r.now = start + 2
	r.held("u3", "1", "A3")
	r.now = start + 10
	r.must(r.extend(extended), CodeOK) // now the last to end
	sibling := &rig{t: t, m: restored(t, snapshotOf(t, r.m)), counter: r.counter}
	for _, x := range []*rig{r, sibling} {
		x.now = start + 500_000
		x.pulse()
	}
	if r.audit().Digest != sibling.audit().Digest {
		t.Fatal("the replicas ended holds in another order")
	}
	changes := []uint64{}
	for _, label := range []string{"A1", "A3", "A2"} {
		changes = append(changes, r.m.Bookings(BookingFilter{Show: "1", Limit: 9}, r.now)[map[string]int{"A1": 2, "A2": 1, "A3": 0}[label]].ShowVersion)
	}
	if changes[0] >= changes[1] || changes[1] >= changes[2] {
		t.Fatalf("the holds of A1, A3, A2 ended in versions %v", changes)
	}
}

// An empty contact is none: failed once, when a restored replica had another digest.
func TestEmptyContact(t *testing.T) {
	r := newShowRig(t, nil)
	c := holdCommand(r.id(), start+5000, "A1")
	c.GetHold().Contact = &wire.Contact{}
	r.must(r.do(c), CodeOK)
	if mustAudit(t, restored(t, snapshotOf(t, r.m))).Digest != r.audit().Digest {
		t.Fatal("the restored machine has another digest")
	}
}
