package fsm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/houseful/houseful/fsm/wire"
)

// largeDefinition is a show of rows × perRow seats in one tier.
func largeDefinition(rows, perRow int) *wire.ShowDefinition {
	d := testDefinition()
	d.Layout = &wire.Layout{Tiers: []*wire.Tier{{Name: "GOLD"}}}
	for i := range rows {
		label := string([]byte{byte('A' + i/676), byte('A' + i/26%26), byte('A' + i%26)})
		d.Layout.Rows = append(d.Layout.Rows, &wire.Row{Label: label, Blocks: []*wire.Span{{First: 1, Last: uint32(perRow)}}})
	}
	d.TierPrices = []int64{20000}
	d.Spec.Pricing = &wire.Pricing{Strategy: PricingFlat, Amount: 20000}
	return d
}

// holdEntries makes log entries of 256 two-seat holds each, by users of their own, over shows of 100,000 seats.
func holdEntries(t testing.TB, m *Machine, holds int) [][]byte {
	t.Helper()
	definition := largeDefinition(250, 400)
	layout, err := NewLayout(definition.Layout)
	if err != nil {
		t.Fatal(err)
	}
	shows := (2*holds + layout.Seats() - 1) / layout.Seats()
	r := &rig{t: t, m: m, now: start}
	for i := range shows {
		d := largeDefinition(250, 400)
		r.do(&wire.Command{Body: &wire.Command_PutShow{PutShow: &wire.PutShow{ShowId: fmt.Sprint("show-", i), Definition: d}}})
	}
	var entries [][]byte
	entry := &wire.Entry{Format: EntryFormat, TimeMs: int64(start)}
	for i := range holds {
		seat := SeatIndex(2 * i % layout.Seats())
		id := r.id()
		hold := &wire.Hold{
			ShowId: fmt.Sprint("show-", 2*i/layout.Seats()), UserId: fmt.Sprintf("user-%09d", i),
			Labels: []string{layout.Label(seat), layout.Label(seat + 1)},
		}
		command := &wire.Command{Id: id[:], NotAfterMs: entry.TimeMs + 5000, Body: &wire.Command_Hold{Hold: hold}}
		encoded, err := command.MarshalVT()
		if err != nil {
			t.Fatal(err)
		}
		entry.Commands = append(entry.Commands, encoded)
		if len(entry.Commands) == 256 || i == holds-1 {
			data, err := entry.MarshalVT()
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, data)
			entry = &wire.Entry{Format: EntryFormat, TimeMs: entry.TimeMs + 20}
		}
	}
	return entries
}

// BenchmarkApplyHold measures one two-seat hold, in entries of 256: ns/op with reading the entry, apply-ns/op without.
func BenchmarkApplyHold(b *testing.B) {
	m := New(3)
	entries := holdEntries(b, m, b.N)
	runtime.GC()
	b.ReportAllocs()
	b.ResetTimer()
	var applying time.Duration
	for _, data := range entries {
		now, batch, err := m.decoder.decode(data)
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		m.Apply(now, batch)
		applying += time.Since(began)
	}
	b.StopTimer()
	b.ReportMetric(float64(applying.Nanoseconds())/float64(b.N), "apply-ns/op")
	if m.Stats().Holds != uint64(b.N) {
		b.Fatalf("%d of %d holds were granted", m.Stats().Holds, b.N)
	}
}

// liveHeap is the heap in use after a collection.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// M-2: memory of untouched shows, of touched seats and of pending bookings, and the cost of a snapshot of many
// bookings: what stops apply, and what a start from it takes.
func TestMemoryAndSnapshotBars(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector multiplies memory and time")
	}
	before := liveHeap()
	m := New(3)
	r := &rig{t: t, m: m, now: start}
	for i := range 6000 {
		d := largeDefinition(20, 25)
		d.Spec.MovieId = fmt.Sprint("MV-", i%7)
		r.do(&wire.Command{Body: &wire.Command_PutShow{PutShow: &wire.PutShow{ShowId: fmt.Sprint("untouched-", i), Definition: d}}})
	}
	untouched := liveHeap() - before
	t.Logf("6,000 untouched shows of 500 seats: %.1f MiB, %d bytes a show", float64(untouched)/(1<<20), untouched/6000)
	if untouched > 64<<20 {
		t.Errorf("untouched shows take %d bytes, more than 64 MiB", untouched)
	}

	before = liveHeap()
	const bookings = 1_000_000
	const portion = 100_000
	for i := 0; i < bookings; i += portion {
		for _, data := range numbered(t, m, i, portion) {
			if _, err := m.ApplyEntry(data); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.now = m.Now() + 20_000
	for m.Stats().Answers > 0 { // answers are kept for 15 s at most
		r.counter += 1 << 32
		r.pulse()
	}
	full := liveHeap() - before
	seats := 0
	for _, place := range m.showByID {
		if s := m.shows.get(place); s.seats != nil {
			seats += len(s.seats.owner)
		}
	}
	perSeat := float64(7*seats) / float64(seats)
	perBooking := (float64(full) - float64(7*seats)) / bookings
	t.Logf("%d pending bookings over %d touched seats: %.1f MiB; %.1f bytes a seat, %.0f bytes a booking", bookings, seats, float64(full)/(1<<20), perSeat, perBooking)
	if perBooking >= 300 {
		t.Errorf("a pending booking takes %.0f bytes, not under 300", perBooking)
	}

	began := time.Now()
	c := m.Capture()
	pause := time.Since(began)
	t.Logf("capture of %d bookings: %v", bookings, pause)
	if pause > 5*time.Millisecond {
		t.Errorf("a capture stopped apply for %v, more than 5 ms", pause)
	}
	var snapshot bytes.Buffer
	began = time.Now()
	if _, err := c.WriteTo(&snapshot); err != nil {
		t.Fatal(err)
	}
	c.Release()
	t.Logf("writing the snapshot: %v, %.1f MiB", time.Since(began), float64(snapshot.Len())/(1<<20))
	restored := New(3)
	began = time.Now()
	if err := restored.Restore(io.Reader(&snapshot)); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	t.Logf("restoring it: %v", took)
	if took > 5*time.Second {
		t.Errorf("a restore took %v, more than 5 s", took)
	}
}

// numbered makes holds number first and up, over shows made for them.
func numbered(t testing.TB, m *Machine, first, count int) [][]byte {
	t.Helper()
	const perShow = 50_000
	r := &rig{t: t, m: m, now: m.Now(), counter: uint64(1<<40 + first)}
	var entries [][]byte
	entry := &wire.Entry{Format: EntryFormat, TimeMs: int64(start)}
	for i := first; i < first+count; i++ {
		show := fmt.Sprint("full-", i/perShow)
		if i%perShow == 0 {
			r.do(&wire.Command{Body: &wire.Command_PutShow{PutShow: &wire.PutShow{ShowId: show, Definition: largeDefinition(250, 400)}}})
		}
		seat := SeatIndex(2 * (i % perShow))
		var id CommandID
		binary.BigEndian.PutUint16(id[:], 3)
		binary.BigEndian.PutUint64(id[8:], uint64(1<<50+i))
		command := &wire.Command{Id: id[:], NotAfterMs: entry.TimeMs + 5000, Body: &wire.Command_Hold{Hold: &wire.Hold{
			ShowId: show, UserId: fmt.Sprintf("user-%09d", i), SeatIds: []uint32{uint32(seat) + 1, uint32(seat) + 2},
		}}}
		encoded, err := command.MarshalVT()
		if err != nil {
			t.Fatal(err)
		}
		entry.Commands = append(entry.Commands, encoded)
		if len(entry.Commands) == 1000 {
			data, err := entry.MarshalVT()
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, data)
			entry = &wire.Entry{Format: EntryFormat, TimeMs: entry.TimeMs + 20}
		}
	}
	return entries
}
