package fsm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
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
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// heapSince is what the heap has grown by.
func heapSince(before int64) int64 { return liveHeap() - before }

// barsVariable names the environment variable that makes the bars of time strict. They are for a machine that does
// nothing else: on one that is busy a pause of 5 ms is the scheduler's. Without it ten times as long is an error, which
// still tells a copy of the whole state from a copy on write.
const barsVariable = "HOUSEFUL_BARS"

// within fails when something took longer than its bar.
func within(t *testing.T, what string, took, bar time.Duration) {
	t.Helper()
	t.Logf("%s: %v", what, took)
	limit := 10 * bar
	if os.Getenv(barsVariable) == "1" {
		limit = bar
	}
	if took > limit {
		t.Errorf("%s took %v, more than %v", what, took, limit)
	} else if took > bar {
		t.Logf("%s took longer than its bar of %v on an idle machine", what, bar)
	}
}

// M-2: memory of untouched shows, of touched seats and of pending bookings, and the cost of a snapshot of many
// bookings: what stops apply, and what a start from it takes.
func TestMemoryAndSnapshotBars(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector multiplies memory and time")
	}
	const bookings = 1_000_000
	m := New(3)
	r := &rig{t: t, m: m, now: start}
	t.Run("untouched shows", func(t *testing.T) { barUntouched(t, r) })
	t.Run("touched seats", func(t *testing.T) { barTouched(t, r, bookings) })
	t.Run("pending bookings", func(t *testing.T) { barPending(t, r, bookings) })
	t.Run("snapshot", func(t *testing.T) { barSnapshot(t, m) })
	runtime.KeepAlive(m)
}

func barUntouched(t *testing.T, r *rig) {
	before := liveHeap()
	for i := range 6000 {
		d := largeDefinition(20, 25)
		d.Spec.MovieId = fmt.Sprint("MV-", i%7)
		r.do(&wire.Command{Body: &wire.Command_PutShow{PutShow: &wire.PutShow{ShowId: fmt.Sprint("untouched-", i), Definition: d}}})
	}
	grown := heapSince(before)
	t.Logf("6,000 untouched shows of 500 seats: %.1f MiB, %d bytes a show", float64(grown)/(1<<20), grown/6000)
	if grown > 64<<20 {
		t.Errorf("untouched shows take %d bytes, more than 64 MiB", grown)
	}
}

// barTouched makes the shows for so many bookings. A block and an unblock make each have its seat map, and no booking.
func barTouched(t *testing.T, r *rig, bookings int) {
	shows := bookings / numberedPerShow
	for i := range shows {
		r.do(&wire.Command{Body: &wire.Command_PutShow{PutShow: &wire.PutShow{ShowId: numberedShow(i), Definition: largeDefinition(250, 400)}}})
	}
	before := liveHeap()
	seats := 0
	for i := range shows {
		id := numberedShow(i)
		for _, unblock := range []bool{false, true} {
			block := &wire.Block{ShowId: id, SeatIds: []uint32{1}, Unblock: unblock}
			if got := r.do(&wire.Command{Body: &wire.Command_Block{Block: block}}); got.Code != CodeOK {
				t.Fatalf("block %s: %+v", id, got)
			}
		}
		seats += len(r.m.shows.get(r.m.showByID[ShowID(id)]).seats.owner)
	}
	grown := heapSince(before)
	perSeat := float64(grown) / float64(seats)
	t.Logf("%d touched seats: %.1f MiB, %.2f bytes a seat", seats, float64(grown)/(1<<20), perSeat)
	if perSeat >= 8 {
		t.Errorf("a touched seat takes %.2f bytes, not under 8", perSeat)
	}
}

func barPending(t *testing.T, r *rig, bookings int) {
	const portion = 100_000
	before := liveHeap()
	for i := 0; i < bookings; i += portion {
		for _, data := range numbered(t, i, portion) {
			if _, err := r.m.ApplyEntry(data); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.now = r.m.Now() + 20_000
	for r.m.Stats().Answers > 0 { // answers are kept for 15 s at most
		r.counter += 1 << 32
		r.pulse()
	}
	if pending := r.m.Stats().Pending; pending != bookings {
		t.Fatalf("%d of %d bookings are pending", pending, bookings)
	}
	perBooking := heapSince(before) / int64(bookings)
	t.Logf("%d pending bookings: %d bytes each", bookings, perBooking)
	if perBooking >= 300 {
		t.Errorf("a pending booking takes %d bytes, not under 300", perBooking)
	}
}

func barSnapshot(t *testing.T, m *Machine) {
	began := time.Now()
	c := m.Capture()
	within(t, "a capture, which stops apply,", time.Since(began), 5*time.Millisecond)
	var snapshot bytes.Buffer
	began = time.Now()
	if _, err := c.WriteTo(&snapshot); err != nil {
		t.Fatal(err)
	}
	c.Release()
	t.Logf("writing the snapshot: %v, %.1f MiB", time.Since(began), float64(snapshot.Len())/(1<<20))
	restored := New(3)
	began = time.Now()
	if err := restored.Restore(&snapshot); err != nil {
		t.Fatal(err)
	}
	within(t, "a restore", time.Since(began), 5*time.Second)
}

// numberedPerShow is how many bookings of two seats fill one of the shows for numbered.
const numberedPerShow = 50_000

func numberedShow(i int) string { return fmt.Sprint("full-", i) }

// numbered makes holds number first and up, over shows that are there.
func numbered(t testing.TB, first, count int) [][]byte {
	t.Helper()
	var entries [][]byte
	entry := &wire.Entry{Format: EntryFormat, TimeMs: int64(start)}
	for i := first; i < first+count; i++ {
		seat := SeatIndex(2 * (i % numberedPerShow))
		var id CommandID
		binary.BigEndian.PutUint16(id[:], 3)
		binary.BigEndian.PutUint64(id[8:], uint64(1<<50+i))
		command := &wire.Command{Id: id[:], NotAfterMs: entry.TimeMs + 5000, Body: &wire.Command_Hold{Hold: &wire.Hold{
			ShowId: numberedShow(i / numberedPerShow), UserId: fmt.Sprintf("user-%09d", i), SeatIds: []uint32{uint32(seat) + 1, uint32(seat) + 2},
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
