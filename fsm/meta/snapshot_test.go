package meta

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

func testTime(ms int64) fsm.Time { return fsm.Time(ms) }

func snapshotOf(t testing.TB, m *Machine) []byte {
	t.Helper()
	capture := m.Capture()
	defer capture.Release()
	var buffer bytes.Buffer
	n, err := capture.WriteTo(&buffer)
	if err != nil || n != int64(buffer.Len()) {
		t.Fatalf("%d bytes of %d, %v", n, buffer.Len(), err)
	}
	return buffer.Bytes()
}

// fullFixture has one of everything that a snapshot holds.
func fullFixture(t testing.TB) *fixture {
	t.Helper()
	f := bornFixture(t)
	f.catalogue()
	f.do(&wire.Node{Id: "n2", DataUuid: "u2"})
	f.do(theatre("T2", "NOWHERE")) // a kept refusal
	f.do(city(""))
	for i := range 5 {
		f.do(entry(fmt.Sprint(i), 7))
	}
	return f
}

func TestSnapshotRestoresTheSameState(t *testing.T) {
	f := fullFixture(t)
	put := f.command(city("NEW"))
	answer := f.apply(put)[0]
	copied := New()
	if err := copied.Restore(bytes.NewReader(snapshotOf(t, f.m))); err != nil {
		t.Fatal(err)
	}
	if copied.Capture().Digest() != f.m.Capture().Digest() {
		t.Fatal("another state came back")
	}
	if report := copied.Audit(); !report.OK {
		t.Errorf("audit: %q", report.Problems)
	}
	twin := &fixture{t: t, m: copied, at: f.at, id: f.id}
	if again := twin.apply(put)[0]; *again != *answer {
		t.Errorf("a kept answer changed: %+v, was %+v", again, answer)
	}
	for _, body := range []any{theatre("T1", "NEW"), entry("3", 9), movie("M1", "Dune 3"), &wire.RemoveShowEntry{ShowId: "4", Revision: 7}} {
		if a, b := f.do(body), twin.do(body); *a != *b {
			t.Errorf("%v: %+v and %+v", body, a, b)
		}
	}
	f.apply(put) // as the twin did
	if copied.Capture().Digest() != f.m.Capture().Digest() {
		t.Error("the two went apart")
	}
}

func TestCaptureDoesNotChange(t *testing.T) {
	f := fullFixture(t)
	capture := f.m.Capture()
	before := capture.Digest()
	for _, body := range []any{movie("M1", "Other"), theatre("T9", "BLR"), entry("3", 9), &wire.RemoveShowEntry{ShowId: "4", Revision: 7}} {
		f.do(body)
	}
	if capture.Digest() != before {
		t.Error("a view changed with the machine")
	}
}

// Every cut and every flipped bit of a snapshot is an error, and leaves the state alone. (Its framing would find
// them first; this is the second net.)
func TestBrokenSnapshotsAreRefused(t *testing.T) {
	good := snapshotOf(t, fullFixture(t).m)
	m := New()
	before := m.Capture().Digest()
	check := func(what string, data []byte) {
		t.Helper()
		if err := m.Restore(bytes.NewReader(data)); !errors.Is(err, ErrSnapshot) && !errors.Is(err, ErrFeature) {
			t.Fatalf("%s: %v", what, err)
		}
		if m.Capture().Digest() != before {
			t.Fatalf("%s: changed the state", what)
		}
	}
	for cut := range good {
		check(fmt.Sprintf("cut at %d", cut), good[:cut])
	}
	for at := range good {
		for bit := range 8 {
			broken := bytes.Clone(good)
			broken[at] ^= 1 << bit
			if err := m.Restore(bytes.NewReader(broken)); err == nil {
				if m.Capture().Digest() != mustRestore(t, good).Capture().Digest() { // a flip that says the same
					t.Fatalf("bit %d of byte %d flipped: another state", bit, at)
				}
				m = New()
			}
		}
	}
	check("a tail", append(bytes.Clone(good), 0))
	check("nothing", nil)
}

func mustRestore(t testing.TB, data []byte) *Machine {
	t.Helper()
	m := New()
	if err := m.Restore(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	return m
}

type failingWriter struct{ left int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestSnapshotReportsAFailingDisk(t *testing.T) {
	f := fullFixture(t)
	if _, err := f.m.Capture().WriteTo(&failingWriter{left: 200}); !errors.Is(err, io.ErrShortWrite) {
		t.Fatal(err)
	}
}

func showsFixture(t testing.TB, shows int) *fixture {
	t.Helper()
	f := bornFixture(t)
	f.catalogue()
	for i := range shows {
		e := entry(fmt.Sprintf("show-%06d", i), 1)
		e.LocalDate = 20261201 + uint32(i%28)
		e.StartsAtMs += int64(i)
		if r := f.do(e); r.Code != CodeOK {
			t.Fatalf("%+v", r)
		}
		f.at += 2
	}
	return f
}

// A capture runs between two log entries. With 10,000 shows it must take less than 5 ms.
func TestCaptureIsQuick(t *testing.T) {
	f := showsFixture(t, 10_000)
	best := time.Hour
	for range 10 {
		start := time.Now()
		f.m.Capture().Release()
		best = min(best, time.Since(start))
	}
	if best > 5*time.Millisecond {
		t.Errorf("a capture of 10,000 shows took %s", best)
	}
}

func BenchmarkCapture(b *testing.B) {
	f := showsFixture(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		f.m.Capture().Release()
	}
}

func BenchmarkPutShowEntry(b *testing.B) {
	f := showsFixture(b, 10_000)
	b.ReportAllocs()
	revision := uint64(1)
	for b.Loop() {
		revision++
		f.at++
		f.apply(f.command(entry("show-000500", revision)))
	}
}
