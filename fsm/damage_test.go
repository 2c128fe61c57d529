package fsm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

// smallSnapshot is a snapshot with a record of each kind, as small as it gets.
func smallSnapshot(t testing.TB) []byte {
	r := &rig{t: t, m: New(3), now: start}
	tiny := func(d *wire.ShowDefinition) { d.Layout, d.TierPrices = smallLayout(4), []int64{3, 4} }
	r.must(r.putShow("0", func(d *wire.ShowDefinition) { d.Spec.EndsAtMs = d.Spec.StartsAtMs + 1 }), CodeOK)
	r.now = start + 91*day + day
	r.pulseUntilIdle() // show 0 has left
	later := func(d *wire.ShowDefinition) {
		tiny(d)
		for _, at := range []*int64{&d.Spec.StartsAtMs, &d.Spec.EndsAtMs, &d.Spec.SalesCloseAtMs} {
			*at += int64(100 * day)
		}
	}
	r.must(r.putShow("1", later), CodeOK)
	b := r.held("u1", "1", "A1", "A2")
	r.must(r.confirm(b, "PAY-1"), CodeOK)
	r.must(r.cancel(b, "A2"), CodeOK)
	r.must(r.release(r.held("u2", "1", "A3"), false), CodeOK)
	r.must(r.release(r.held("u2", "1", "A3"), true), CodeOK)
	r.must(r.keyed("k", "b", "u2", "1", "A4"), CodeOK)
	r.must(r.claim(wire.ClaimAction_CLAIM_ACTION_TAKE, "PAY-1", b.Ref, BookingRef{}), CodeOK)
	r.must(r.block("1", "B2"), CodeOK)
	r.must(r.putShow("2", func(d *wire.ShowDefinition) { later(d); d.Layout = testLayout(); d.TierPrices = []int64{1, 1, 1} }), CodeOK)
	first := r.held("u3", "2", "A1")
	r.held("u3", "2", "A2")
	place := r.m.showByID["2"] // as if a cancel had come as far as its first booking
	r.m.shows.edit(place).control = controlCancelled
	r.m.shows.edit(place).cancelNext, _ = r.m.findBooking(first.Ref)
	r.m.shows.edit(place).cancelNext++
	r.m.cancelling = append(r.m.cancelling, place)
	r.now += 20_000
	r.pulse() // the answers have gone
	r.must(r.refuseReference(b.Ref, "PAY-9"), CodeOK)
	return snapshotOf(t, r.m)
}

// checkRestore gives bytes as a snapshot: an error that leaves the machine as it was, or a machine that is in order,
// writes itself again to the same state, and lives on as its copy does. It reports whether they were taken.
func checkRestore(t testing.TB, data []byte) bool {
	t.Helper()
	m := New(3)
	if err := m.Restore(bytes.NewReader(data)); err != nil {
		if m.shows.count+m.bookings.count+m.claims.count != 0 || m.now != 0 || m.sequence != 0 {
			t.Fatal("a snapshot that was refused changed the state")
		}
		if !errors.Is(err, ErrSnapshot) && !errors.Is(err, ErrRules) {
			t.Fatalf("an error without a class: %v", err)
		}
		return false
	}
	again := restored(t, snapshotOf(t, m))
	if audited(t, again) != audited(t, m) {
		t.Fatal("it is written as another state")
	}
	for range 3 {
		at, ok := m.NextExpiry()
		if !ok || at > TimeMax {
			break
		}
		pulse := entry(t, max(at, 0), &wire.Command{Body: &wire.Command_ExpirePulse{ExpirePulse: &wire.ExpirePulse{}}})
		applyAndOverwrite(t, m, pulse)
		applyAndOverwrite(t, again, pulse)
		if audited(t, again) != audited(t, m) {
			t.Fatal("it lives on another way than its copy")
		}
	}
	c := m.Capture()
	defer c.Release()
	for _, s := range c.shows.all() {
		if audit, err := c.AuditShow(context.Background(), s.id); err != nil || !audit.OK {
			t.Fatalf("show %s: %+v %v", s.id, audit, err)
		}
	}
	return true
}

// A bit flipped, of every byte: refused, or another state that is in order.
func TestRestoreFlippedBits(t *testing.T) {
	snapshot := smallSnapshot(t)
	if !checkRestore(t, snapshot) {
		t.Fatal("the snapshot as it was written was refused")
	}
	step := 7 // coprime to 8: every byte, and every bit of some
	if raceEnabled {
		step = 29
	}
	taken := 0
	for bit := 0; bit < 8*len(snapshot); bit += step {
		damaged := slices.Clone(snapshot)
		damaged[bit/8] ^= 1 << (bit % 8)
		if checkRestore(t, damaged) {
			taken++
		}
	}
	t.Logf("%d of %d flipped bits make another snapshot that is in order", taken, 8*len(snapshot)/step)
}

// Every record left out, doubled, or exchanged with its neighbour, under a header that counts right.
func TestRestoreMovedRecords(t *testing.T) {
	snapshot := smallSnapshot(t)
	var records [][]byte
	for data := snapshot; len(data) > 0; {
		size, n := binary.Uvarint(data)
		records = append(records, data[n:n+int(size)])
		data = data[n+int(size):]
	}
	var header wire.SnapshotHeader
	if err := header.UnmarshalVT(records[0]); err != nil {
		t.Fatal(err)
	}
	write := func(records [][]byte) []byte {
		header.Records = uint64(len(records))
		encoded, err := header.MarshalVT()
		if err != nil {
			t.Fatal(err)
		}
		out := append(binary.AppendUvarint(nil, uint64(len(encoded))), encoded...)
		for _, record := range records {
			out = append(binary.AppendUvarint(out, uint64(len(record))), record...)
		}
		return out
	}
	records = records[1:]
	for i := range records {
		checkRestore(t, write(slices.Delete(slices.Clone(records), i, i+1)))
		twice := slices.Insert(slices.Clone(records), i, records[i])
		instead := slices.Clone(twice) // of the next one
		if i+2 < len(twice) {
			instead = slices.Delete(instead, i+2, i+3)
		}
		if checkRestore(t, write(twice)) || checkRestore(t, write(instead)) {
			var record wire.SnapshotRecord
			if err := record.UnmarshalVT(records[i]); err != nil {
				t.Fatal(err)
			}
			switch record.Record.(type) {
			case *wire.SnapshotRecord_Definition, *wire.SnapshotRecord_Idempotency:
			default:
				t.Errorf("record %d (%T) was taken twice", i, record.Record)
			}
		}
		if i > 0 {
			swapped := slices.Clone(records)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			checkRestore(t, write(swapped))
		}
	}
}

// A snapshot of the future, of another shard or of another kind is refused with its reason.
func TestRestoreHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		header *wire.SnapshotHeader
		err    error
	}{
		"format": {&wire.SnapshotHeader{Format: 2, Shard: 3, Rules: 1}, ErrSnapshot},
		"shard":  {&wire.SnapshotHeader{Format: 1, Shard: 4, Rules: 1}, ErrSnapshot},
		"rules":  {&wire.SnapshotHeader{Format: 1, Shard: 3, Rules: RulesVersion + 1}, ErrRules},
		"none":   {&wire.SnapshotHeader{Format: 1, Shard: 3}, ErrRules},
		"time":   {&wire.SnapshotHeader{Format: 1, Shard: 3, Rules: 1, NowMs: 1 << 62}, ErrSnapshot},
		"short":  {&wire.SnapshotHeader{Format: 1, Shard: 3, Rules: 1, Records: 1}, ErrSnapshot},
	} {
		encoded, err := c.header.MarshalVT()
		if err != nil {
			t.Fatal(err)
		}
		data := append(binary.AppendUvarint(nil, uint64(len(encoded))), encoded...)
		m := New(3)
		if err := m.Restore(bytes.NewReader(data)); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := New(3)
	if err := m.Restore(bytes.NewReader(append(snapshotOf(t, m), 0))); !errors.Is(err, ErrSnapshot) {
		t.Errorf("a byte too many: %v", err)
	}
	if err := m.Restore(brokenReader{}); !errors.Is(err, ErrSnapshot) || !errors.Is(err, errBroken) {
		t.Errorf("a reader that fails: %v", err)
	}
}

var errBroken = errors.New("the disk is gone")

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, fmt.Errorf("read: %w", errBroken) }
