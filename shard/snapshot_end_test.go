package shard

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/houseful/houseful/shard/snapshot"
)

// snapshotFiles gives the paths of the snapshots, newest first.
func (b *bench) snapshotFiles() []string {
	b.t.Helper()
	files, err := filepath.Glob(filepath.Join(b.folder, "*.snap"))
	if err != nil {
		b.t.Fatal(err)
	}
	slices.Sort(files)
	slices.Reverse(files)
	return files
}

// withSnapshots opens a group on a real store with three snapshots taken, of which two are kept, closes it and gives
// the values it held.
func withSnapshots(t *testing.T) (b *bench, storeFolder string, values []uint64) {
	t.Helper()
	storeFolder = t.TempDir()
	option, closeStore := onPebble(t, storeFolder)
	b = newBench(t, option)
	for i := range uint64(40) {
		b.must(command(commandAdd, i))
		if i%10 == 9 && i < 39 {
			if err := b.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
	values = b.values()
	b.close()
	closeStore()
	if got := len(b.snapshotFiles()); got != snapshot.RetainMin {
		t.Fatalf("%d snapshots kept", got)
	}
	return b, storeFolder, values
}

func flip(t *testing.T, path string, offset int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[offset] ^= 0x10
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The newest snapshot may rot anywhere, be cut or vanish into nonsense: the previous one and the log give the state.
func TestRottenNewestSnapshotIsSurvived(t *testing.T) {
	damage := map[string]func(t *testing.T, path string){
		"header":  func(t *testing.T, path string) { flip(t, path, 3) },
		"payload": func(t *testing.T, path string) { flip(t, path, fileSize(t, path)-100) },
		"trailer": func(t *testing.T, path string) { flip(t, path, fileSize(t, path)-1) },
		"cut":     func(t *testing.T, path string) { cut(t, path, fileSize(t, path)/2) },
		"empty":   func(t *testing.T, path string) { cut(t, path, 0) },
	}
	for name, spoil := range damage {
		t.Run(name, func(t *testing.T) {
			b, storeFolder, values := withSnapshots(t)
			rotten := b.snapshotFiles()[0]
			spoil(t, rotten)
			option, closeStore := onPebble(t, storeFolder)
			defer closeStore()
			option(b)
			b.open()
			defer b.close()
			if !slices.Equal(b.values(), values) {
				t.Fatalf("state lost: %d values of %d", len(b.values()), len(values))
			}
			if _, err := os.Stat(strings.TrimSuffix(rotten, ".snap") + ".rotten"); err != nil {
				t.Fatal("the rotten file was not set aside:", err)
			}
			b.must(command(commandAdd, 99))
			if err := b.Snapshot(); err != nil {
				t.Fatal(err)
			}
			if got := len(b.snapshotFiles()); got != 2 {
				t.Fatalf("%d snapshots after a new one", got)
			}
		})
	}
}

// Both snapshots rotten: a clear error that names both files, again and again, and nothing is changed on disk.
func TestBothSnapshotsRotten(t *testing.T) {
	b, storeFolder, _ := withSnapshots(t)
	files := b.snapshotFiles()
	flip(t, files[0], fileSize(t, files[0])-60)
	flip(t, files[1], 2)
	option, closeStore := onPebble(t, storeFolder)
	defer closeStore()
	option(b)
	for range 2 {
		err := b.tryOpen()
		if !errors.Is(err, ErrSnapshots) {
			t.Fatalf("opened with %v", err)
		}
		for _, file := range files {
			if !strings.Contains(err.Error(), file) {
				t.Fatalf("%v does not name %s", err, file)
			}
		}
		if !strings.Contains(err.Error(), "offset") {
			t.Fatalf("%v names no offset", err)
		}
	}
	b.Group = nil
}

// The newest snapshot is rotten and the log no longer reaches what it held: never an old state in silence.
func TestRottenSnapshotAndShortLog(t *testing.T) {
	b, storeFolder, _ := withSnapshots(t)
	option, closeStore := onPebble(t, storeFolder)
	defer closeStore()
	option(b)
	last, err := b.stores.Log.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.stores.Log.DeleteRange(25, last); err != nil {
		t.Fatal(err)
	}
	flip(t, b.snapshotFiles()[0], 3)
	if err := b.tryOpen(); !errors.Is(err, ErrSnapshots) {
		t.Fatalf("opened with %v", err)
	}
	b.Group = nil
}

// With one snapshot only, the whole log is still there: the snapshot's loss is survived from the first entry on.
func TestRottenOnlySnapshot(t *testing.T) {
	b := newBench(t)
	for i := range uint64(10) {
		b.must(command(commandAdd, i))
	}
	if err := b.Snapshot(); err != nil {
		t.Fatal(err)
	}
	values := b.values()
	b.close()
	flip(t, b.snapshotFiles()[0], 40)
	b.open()
	if !slices.Equal(b.values(), values) {
		t.Fatal("state lost")
	}
}

func TestSnapshotByBytes(t *testing.T) {
	b := newBench(t, withConfig(func(c *Config) { c.SnapshotBytes = 1000 }))
	big := append(command(commandAdd, 1), make([]byte, 2000)...)
	b.must(big)
	eventually(t, "a snapshot", func() bool { return b.Status().SnapshotIndex > 0 })
	before := b.Status().SnapshotIndex
	if err := b.Snapshot(); err != nil || b.Status().SnapshotIndex != before {
		t.Fatal("a second snapshot of the same state", err)
	}
}

// The log goes once it lies before the previous snapshot.
func TestLogIsKeptToThePreviousSnapshot(t *testing.T) {
	b := newBench(t)
	var snapshots []uint64
	for range 3 {
		for i := range uint64(10) {
			b.must(command(commandAdd, i))
		}
		if err := b.Snapshot(); err != nil {
			t.Fatal(err)
		}
		snapshots = append(snapshots, b.Status().SnapshotIndex)
	}
	if got := b.Status().FirstIndex; got != snapshots[1]+1 {
		t.Fatalf("log starts at %d, snapshots at %v", got, snapshots)
	}
}

func fileSize(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Size())
}

func cut(t *testing.T, path string, size int) {
	t.Helper()
	if err := os.Truncate(path, int64(size)); err != nil {
		t.Fatal(err)
	}
}

// One group of a node writes a snapshot at a time; the others wait outside, without a capture, and closing ends the wait.
func TestSnapshotGate(t *testing.T) {
	gate := NewGate(1)
	b := newBench(t, withConfig(func(c *Config) { c.SnapshotGate = gate }))
	b.must(command(commandAdd, 1))
	gate <- struct{}{} // another group writes
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- b.Snapshot() }()
	<-gate
	if err := <-first; err != nil || b.Status().SnapshotIndex == 0 {
		t.Fatal(err)
	}
	gate <- struct{}{}
	go func() { second <- b.Snapshot() }()
	b.close()
	if err := <-second; !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

// No snapshot is written into the room that is kept for the log; it follows when there is room again.
func TestSnapshotWaitsForRoom(t *testing.T) {
	var room space
	clock := NewTestClock(NewSystemClock())
	b := newBench(t, withSpace(&room), withConfig(func(c *Config) { c.SnapshotBytes, c.Clock = 1, clock }))
	alarm := b.must(command(commandAlarm, uint64(clock.Now())+10_000))
	eventually(t, "a snapshot with the alarm", func() bool {
		status := b.Status()
		return alarm.at > 0 && status.SnapshotIndex >= status.AppliedIndex
	})
	before := b.Status().SnapshotIndex
	room.low.Store(true)
	clock.Advance(time.Minute)
	b.waitEnded(1) // pulses pass, so there is something new
	checked := time.Now().Add(3 * snapshotCheckInterval)
	eventually(t, "three looks", func() bool { return time.Now().After(checked) })
	if now := b.Status().SnapshotIndex; now != before {
		t.Fatalf("a snapshot of index %d after %d, without room", now, before)
	}
	room.low.Store(false)
	eventually(t, "the next snapshot", func() bool { return b.Status().SnapshotIndex > before })
}
