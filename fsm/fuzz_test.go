package fsm

import (
	"bytes"
	"errors"
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

// audited gives a machine's digest, and its problems.
func audited(t testing.TB, m *Machine) [32]byte { return mustAudit(t, m).Digest }

// FuzzApplyEntry gives arbitrary bytes to two replicas with state. Bytes that are no entry change nothing; an entry
// leaves both in order, with the same digest and the same results.
func FuzzApplyEntry(f *testing.F) {
	r := readRecording(f, 1)
	kinds := map[string]bool{}
	for _, data := range r.entries { // one entry of each kind, and of each answer
		now, batch, err := DecodeEntry(data)
		if err != nil || now == 0 {
			f.Fatal(err)
		}
		if kind := commandKind(batch); !kinds[kind] {
			kinds[kind] = true
			f.Add(data)
		}
	}
	base := r.snapshot
	full := holdCommand([16]byte{0, 3, 9}, start+5000, "A1")
	hold := full.GetHold()
	hold.SeatIds, hold.UserName, hold.Contact = []uint32{3, 4}, "Asha", &wire.Contact{Email: "a@example.org", Phone: "1", Locale: "kn"}
	hold.Replace, hold.IdempotencyKey, hold.Fingerprint = full.Id, full.Id, full.Id
	before := entry(f, start, full, full, full, full)
	f.Fuzz(func(t *testing.T, data []byte) {
		one, two := restored(t, base), restored(t, base)
		if _, _, err := two.decoder.decode(before); err != nil { // what a decoder read before must not show
			t.Fatal(err)
		}
		before := audited(t, one)
		results, err := one.ApplyEntry(bytes.Clone(data))
		if err != nil {
			if audited(t, one) != before {
				t.Fatal("an entry that was refused changed the state")
			}
			if !errors.Is(err, ErrEntry) && !errors.Is(err, ErrRules) {
				t.Fatalf("an error without a class: %v", err)
			}
			return
		}
		others := applyAndOverwrite(t, two, data)
		if audited(t, one) != audited(t, two) {
			t.Fatal("two replicas differ")
		}
		for i := range results {
			if !bytes.Equal(encodedResult(t, results[i]), encodedResult(t, others[i])) {
				t.Fatalf("command %d: %+v, on the other replica %+v", i, results[i], others[i])
			}
		}
		if audited(t, restored(t, snapshotOf(t, one))) != audited(t, one) {
			t.Fatal("its snapshot restores to another state")
		}
	})
}

func commandKind(batch []*wire.Command) string {
	kind := ""
	for _, c := range batch {
		kind += string(c.ProtoReflect().WhichOneof(c.ProtoReflect().Descriptor().Oneofs().ByName("body")).Name()) + " "
	}
	return kind
}

// FuzzRestore gives arbitrary bytes as a snapshot: an error that leaves the machine as it was, or a machine that is in
// order, writes itself again to the same state, and lives on.
func FuzzRestore(f *testing.F) {
	f.Add(snapshotOf(f, New(3)))
	f.Add(smallSnapshot(f))
	f.Fuzz(func(t *testing.T, data []byte) { checkRestore(t, data) })
}

// FuzzBookingRef reads arbitrary text: a reference has one text, and a text at most one reference.
func FuzzBookingRef(f *testing.F) {
	f.Add(NewBookingRef(3, [14]byte{1, 2, 3}).String())
	f.Add("BMS-00000000000000000000000000")
	f.Add("BMS-ZZZZZZZZZZZZZZZZZZZZZZZZZZ")
	f.Add("bms-00000000000000000000000000")
	f.Add("BMS-0000000000000000000000000\n")
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := ParseBookingRef(text)
		if err != nil {
			if !errors.Is(err, ErrBookingRef) {
				t.Fatalf("an error without a class: %v", err)
			}
			return
		}
		if ref.String() != text || len(text) != BookingRefChars || string(ref.AppendText(nil)) != text {
			t.Fatalf("%q reads as %s", text, ref)
		}
		if again := NewBookingRef(ref.Shard(), [14]byte(ref[2:])); again != ref {
			t.Fatalf("%s is made of other parts: %s", ref, again)
		}
	})
}

// FuzzLayout gives an arbitrary layout: an error, or one whose seats can be found by label, row and number.
func FuzzLayout(f *testing.F) {
	for _, layout := range []*wire.Layout{testLayout(), smallLayout(6), {}} {
		encoded, err := layout.MarshalVT()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var description wire.Layout
		if description.UnmarshalVT(data) != nil {
			return
		}
		l, err := NewLayout(&description)
		if err != nil {
			return
		}
		checkLayout(t, l)
	})
}

func checkLayout(t testing.TB, l *Layout) {
	t.Helper()
	if l.Seats() < 1 || l.Seats() > SeatsPerScreenMax {
		t.Fatalf("a layout of %d seats", l.Seats())
	}
	seen := make(map[string]bool, l.Seats())
	for seat := range SeatIndex(l.Seats()) {
		label := l.Label(seat)
		if at, ok := l.Find(label); !ok || at != seat || seen[label] {
			t.Fatalf("seat %d is %s, which is found at %d", seat, label, at)
		}
		seen[label] = true
		row := l.Row(seat)
		first, end := l.RowSeats(row)
		if seat < first || seat >= end {
			t.Fatalf("seat %s is in row %d, which has seats %d to %d", label, row, first, end)
		}
		if want := l.RowLabel(row) + itoa(l.Number(seat)); want != label {
			t.Fatalf("seat %s is in row %s with number %d", label, l.RowLabel(row), l.Number(seat))
		}
		if l.TierName(seat) == "" {
			t.Fatalf("seat %s has no tier", label)
		}
	}
}
