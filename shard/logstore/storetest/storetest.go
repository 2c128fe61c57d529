package storetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// Store is what a group gives to raft, and Close.
type Store interface {
	raft.LogStore
	raft.StableStore
	Close() error
}

// Harness says how to open the store under test, and where it is more liberal than ours.
type Harness struct {
	// Open opens or creates the store in dir. The suite closes it.
	Open func(dir string) (Store, error)
	// AllowsGaps is set for a store that takes entries that do not follow, and deletes from the middle.
	AllowsGaps bool
	// Closed is the error of a closed store; nil if any error will do.
	Closed error
}

// Run runs the whole suite.
func Run(t *testing.T, h Harness) {
	cases := []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"Empty", testEmpty},
		{"RoundTrip", testRoundTrip},
		{"Copies", testCopies},
		{"Stable", testStable},
		{"Crash", testCrash},
		{"DeletePrefix", testDeletePrefix},
		{"DeleteSuffix", testDeleteSuffix},
		{"DeleteWhole", testDeleteWhole},
		{"DeleteOutside", testDeleteOutside},
		{"Gaps", testGaps},
		{"CompactionBesideStore", testCompactionBesideStore},
		{"Closed", testClosed},
		{"Random", testRandom},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, h) })
	}
}

func testEmpty(t *testing.T, h Harness) {
	s := open(t, h, t.TempDir())
	expectSpan(t, s, 0, 0)
	var log raft.Log
	for _, index := range []uint64{0, 1, 1 << 40} {
		if err := s.GetLog(index, &log); !errors.Is(err, raft.ErrLogNotFound) {
			t.Fatalf("GetLog(%d) of an empty log: %v", index, err)
		}
	}
	must(t, s.DeleteRange(1, 10))
	must(t, s.StoreLogs(nil))
	expectSpan(t, s, 0, 0)
}

func testRoundTrip(t *testing.T, h Harness) {
	dir := t.TempDir()
	s := open(t, h, dir)
	logs := Entries(1, 5, 3)
	logs[0].Type, logs[0].Data = raft.LogNoop, nil
	logs[1].Type, logs[1].Extensions = raft.LogConfiguration, []byte{0, 1, 2}
	logs[2].AppendedAt = time.Unix(1_700_000_000, 123_456_789)
	logs[3].Term, logs[3].Data = 1<<63, make([]byte, 300_000)
	logs[4].Type = raft.LogBarrier
	must(t, s.StoreLog(logs[0]))
	must(t, s.StoreLogs(logs[1:]))
	expect(t, s, logs)
	must(t, s.Close())
	s = open(t, h, dir)
	expect(t, s, logs)
}

func testCopies(t *testing.T, h Harness) {
	s := open(t, h, t.TempDir())
	want, given := Entries(1, 1, 1), Entries(1, 1, 1)
	must(t, s.StoreLogs(given))
	clear(given[0].Data)
	expect(t, s, want)
	var log raft.Log
	must(t, s.GetLog(1, &log))
	clear(log.Data)
	expect(t, s, want)
}

func testStable(t *testing.T, h Harness) {
	dir := t.TempDir()
	s := open(t, h, dir)
	// raft compares the text.
	if _, err := s.Get([]byte("none")); err == nil || err.Error() != "not found" {
		t.Fatalf("Get of a missing key: %v", err)
	}
	if _, err := s.GetUint64([]byte("none")); err == nil || err.Error() != "not found" {
		t.Fatalf("GetUint64 of a missing key: %v", err)
	}
	must(t, s.SetUint64([]byte("CurrentTerm"), 7))
	must(t, s.SetUint64([]byte("CurrentTerm"), 1<<63+8))
	must(t, s.Set([]byte("LastVoteCand"), []byte("cluster/node/1/2")))
	must(t, s.Set([]byte("empty"), nil))
	check := func() {
		t.Helper()
		term, err := s.GetUint64([]byte("CurrentTerm"))
		must(t, err)
		candidate, err := s.Get([]byte("LastVoteCand"))
		must(t, err)
		empty, err := s.Get([]byte("empty"))
		must(t, err)
		if term != 1<<63+8 || string(candidate) != "cluster/node/1/2" || len(empty) != 0 {
			t.Fatalf("got term %d, candidate %q, empty %q", term, candidate, empty)
		}
	}
	check()
	s = crash(t, h, dir)
	check()
}

// testCrash holds the store to "returned means stored", as far as a killed process can tell.
func testCrash(t *testing.T, h Harness) {
	dir := t.TempDir()
	s := open(t, h, dir)
	var logs []*raft.Log
	for i := uint64(1); i <= 20; i++ {
		more := Entries(uint64(len(logs))+1, i%4+1, i)
		must(t, s.StoreLogs(more))
		logs = append(logs, more...)
		must(t, s.SetUint64([]byte("CurrentTerm"), i))
		if i%5 != 0 {
			continue
		}
		after := crash(t, h, dir)
		expect(t, after, logs)
		if term, err := after.GetUint64([]byte("CurrentTerm")); err != nil || term != i {
			t.Fatalf("term %d: %v, want %d", term, err, i)
		}
	}
}

func testDeletePrefix(t *testing.T, h Harness) {
	dir := t.TempDir()
	s := open(t, h, dir)
	logs := Entries(1, 100, 1)
	must(t, s.StoreLogs(logs))
	must(t, s.DeleteRange(1, 30))
	expect(t, s, logs[30:])
	must(t, s.DeleteRange(31, 31))
	expect(t, s, logs[31:])
	expect(t, crash(t, h, dir), logs[31:])
	more := Entries(101, 3, 2)
	must(t, s.StoreLogs(more))
	expect(t, crash(t, h, dir), append(logs[31:], more...))
}

func testDeleteSuffix(t *testing.T, h Harness) {
	dir := t.TempDir()
	s := open(t, h, dir)
	logs := Entries(5, 40, 1)
	must(t, s.StoreLogs(logs))
	must(t, s.DeleteRange(30, 44))
	expect(t, s, logs[:25])
	expect(t, crash(t, h, dir), logs[:25])
	// Other entries take the place; those that were deleted must not show behind them.
	other := Entries(30, 5, 2)
	must(t, s.StoreLogs(other))
	want := append(logs[:25:25], other...)
	expect(t, s, want)
	expect(t, crash(t, h, dir), want)
	must(t, s.Close())
	expect(t, open(t, h, dir), want)
}

func testDeleteWhole(t *testing.T, h Harness) {
	dir := t.TempDir()
	s := open(t, h, dir)
	must(t, s.StoreLogs(Entries(1, 10, 1)))
	must(t, s.DeleteRange(1, 10))
	expectSpan(t, s, 0, 0)
	expectSpan(t, crash(t, h, dir), 0, 0)
	// After an installed snapshot the log starts over, further on.
	logs := Entries(1000, 3, 2)
	must(t, s.StoreLogs(logs))
	expect(t, s, logs)
	expect(t, crash(t, h, dir), logs)
}

func testDeleteOutside(t *testing.T, h Harness) {
	s := open(t, h, t.TempDir())
	logs := Entries(10, 5, 1)
	must(t, s.StoreLogs(logs))
	must(t, s.DeleteRange(1, 9))
	must(t, s.DeleteRange(15, 99))
	must(t, s.DeleteRange(12, 11))
	expect(t, s, logs)
	must(t, s.DeleteRange(1, 11))
	expect(t, s, logs[2:])
	must(t, s.DeleteRange(14, 99))
	expect(t, s, logs[2:4])
}

func testGaps(t *testing.T, h Harness) {
	if h.AllowsGaps {
		return // declared
	}
	monotonic, ok := open(t, h, t.TempDir()).(raft.MonotonicLogStore)
	if !ok || !monotonic.IsMonotonic() {
		t.Fatal("a store that refuses gaps must say so to raft")
	}
	s := open(t, h, t.TempDir())
	logs := Entries(10, 5, 1)
	must(t, s.StoreLogs(logs))
	bad := map[string][]*raft.Log{
		"after the end": Entries(16, 1, 1),
		"before":        Entries(9, 1, 1),
		"over the end":  Entries(14, 2, 2),
		"within":        append(Entries(15, 1, 1), Entries(17, 1, 1)...),
	}
	for name, entries := range bad {
		if err := s.StoreLogs(entries); err == nil {
			t.Fatalf("a gap was taken: %s", name)
		}
	}
	if err := open(t, h, t.TempDir()).StoreLogs(Entries(0, 1, 1)); err == nil {
		t.Fatal("index 0 was taken")
	}
	if err := s.DeleteRange(11, 12); err == nil {
		t.Fatal("a deletion that leaves a gap was taken")
	}
	expect(t, s, logs)
}

// testCompactionBesideStore runs what raft's snapshot goroutine does beside its main loop, and readers.
func testCompactionBesideStore(t *testing.T, h Harness) {
	const entries, kept = 600, 20
	dir := t.TempDir()
	s := open(t, h, dir)
	must(t, s.StoreLogs(Entries(1, kept, 1)))
	stored := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		defer close(stored)
		for index := uint64(kept + 1); index <= entries; index += 4 {
			if err := s.StoreLogs(Entries(index, 4, 1)); err != nil {
				t.Errorf("StoreLogs: %v", err)
				return
			}
		}
	})
	wait.Go(func() { compactUntil(t, s, stored, kept) })
	wait.Go(func() { readUntil(t, s, stored) })
	wait.Wait()
	first, last := indexes(t, s)
	if last != entries || first == 0 || first > last {
		t.Fatalf("log is %d to %d", first, last)
	}
	want := Entries(first, last-first+1, 1)
	expect(t, s, want)
	expect(t, crash(t, h, dir), want)
}

func compactUntil(t *testing.T, s Store, done <-chan struct{}, kept uint64) {
	for {
		select {
		case <-done:
			return
		default:
		}
		first, err := s.FirstIndex()
		if err != nil {
			t.Errorf("FirstIndex: %v", err)
			return
		}
		last, err := s.LastIndex()
		if err != nil {
			t.Errorf("LastIndex: %v", err)
			return
		}
		if last-first < kept {
			continue
		}
		if err := s.DeleteRange(first, last-kept); err != nil {
			t.Errorf("DeleteRange: %v", err)
			return
		}
	}
}

func readUntil(t *testing.T, s Store, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
		}
		last, err := s.LastIndex()
		if err != nil {
			t.Errorf("LastIndex: %v", err)
			return
		}
		for index := last; index+30 > last && index > 0; index-- {
			var log raft.Log
			err := s.GetLog(index, &log)
			if errors.Is(err, raft.ErrLogNotFound) {
				break // compacted meanwhile
			}
			if err != nil || same(&log, entry(index, 1)) != nil {
				t.Errorf("GetLog(%d): %v, %+v", index, err, log)
				return
			}
		}
	}
}

func testClosed(t *testing.T, h Harness) {
	s := open(t, h, t.TempDir())
	must(t, s.StoreLogs(Entries(1, 3, 1)))
	must(t, s.SetUint64([]byte("k"), 1))
	must(t, s.Close())
	calls := map[string]func() error{
		"FirstIndex":  func() error { _, err := s.FirstIndex(); return err },
		"LastIndex":   func() error { _, err := s.LastIndex(); return err },
		"GetLog":      func() error { return s.GetLog(1, new(raft.Log)) },
		"StoreLog":    func() error { return s.StoreLog(entry(4, 1)) },
		"StoreLogs":   func() error { return s.StoreLogs(Entries(4, 1, 1)) },
		"DeleteRange": func() error { return s.DeleteRange(1, 2) },
		"Set":         func() error { return s.Set([]byte("k"), nil) },
		"Get":         func() error { _, err := s.Get([]byte("k")); return err },
		"SetUint64":   func() error { return s.SetUint64([]byte("k"), 1) },
		"GetUint64":   func() error { _, err := s.GetUint64([]byte("k")); return err },
	}
	for name, call := range calls {
		if err := call(); err == nil || h.Closed != nil && !errors.Is(err, h.Closed) {
			t.Errorf("%s on a closed store: %v", name, err)
		}
	}
}

// crash opens a copy of what is on the disk now, as after a kill.
func crash(t *testing.T, h Harness, dir string) Store {
	t.Helper()
	return open(t, h, CopyDir(t, dir))
}

// copyTries bounds how often CopyDir starts over because a store tidied up its files meanwhile.
const copyTries = 100

// CopyDir copies the files of dir to a new directory, as a kill would leave them. Nobody may write to the store meanwhile; files that it
// removes in the background make the copy start over.
func CopyDir(t testing.TB, dir string) string {
	t.Helper()
	for range copyTries {
		to := t.TempDir()
		before := names(t, dir)
		err := copyFiles(dir, to, before)
		if err == nil && slices.Equal(before, names(t, dir)) {
			return to
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	t.Fatalf("the files of %s do not come to rest", dir)
	return ""
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

func copyFiles(from, to string, names []string) error {
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func open(t *testing.T, h Harness, dir string) Store {
	t.Helper()
	s, err := h.Open(dir)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() }) // a second Close may complain
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func indexes(t testing.TB, s Store) (first, last uint64) {
	t.Helper()
	first, err := s.FirstIndex()
	must(t, err)
	last, err = s.LastIndex()
	must(t, err)
	return first, last
}

func expectSpan(t testing.TB, s Store, first, last uint64) {
	t.Helper()
	if gotFirst, gotLast := indexes(t, s); gotFirst != first || gotLast != last {
		t.Fatalf("log is %d to %d, want %d to %d", gotFirst, gotLast, first, last)
	}
}

// expect checks that the log holds exactly want.
func expect(t testing.TB, s Store, want []*raft.Log) {
	t.Helper()
	must(t, Holds(s, want))
}

// Holds returns an error if the log is not exactly want.
func Holds(s raft.LogStore, want []*raft.Log) error {
	first, err := s.FirstIndex()
	if err != nil {
		return err
	}
	last, err := s.LastIndex()
	if err != nil {
		return err
	}
	var wantFirst, wantLast uint64
	if len(want) > 0 {
		wantFirst, wantLast = want[0].Index, want[len(want)-1].Index
	}
	if first != wantFirst || last != wantLast {
		return fmt.Errorf("log is %d to %d, want %d to %d", first, last, wantFirst, wantLast)
	}
	for _, w := range want {
		var got raft.Log
		if err := s.GetLog(w.Index, &got); err != nil {
			return fmt.Errorf("GetLog(%d): %w", w.Index, err)
		}
		if err := same(&got, w); err != nil {
			return err
		}
	}
	for _, outside := range []uint64{wantFirst - 1, wantLast + 1} {
		if err := s.GetLog(outside, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
			return fmt.Errorf("GetLog(%d), outside the log: %v", outside, err)
		}
	}
	return nil
}
