package logstore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/houseful/houseful/shard/logstore/storetest"
)

func openPebbleTest(t *testing.T, dir string, options PebbleOptions) *Pebble {
	t.Helper()
	if options.Logger == nil {
		options.Logger = quiet()
	}
	if options.Fatal == nil {
		options.Fatal = testFatal(t)
	}
	p, err := OpenPebble(dir, options)
	must(t, err)
	t.Cleanup(func() { _ = p.Close() }) // closed already in some tests
	return p
}

func replicaOf(t *testing.T, p *Pebble, id uint64, options ReplicaOptions) *Replica {
	t.Helper()
	r, err := p.Replica(id, options)
	must(t, err)
	return r
}

// M-41: many replicas write at once into one log, and each finds its own.
func TestPebbleReplicas(t *testing.T) {
	const replicas, batches = 8, 30
	dir := t.TempDir()
	p := openPebbleTest(t, dir, PebbleOptions{MemTableBytes: 64 << 10})
	var wait sync.WaitGroup
	for id := range uint64(replicas) {
		r := replicaOf(t, p, id, ReplicaOptions{})
		wait.Go(func() {
			for i := range uint64(batches) {
				if err := r.StoreLogs(storetest.Entries(1+i*3, 3, id+1)); err != nil {
					t.Errorf("replica %d: %v", id, err)
				}
				if err := r.SetUint64([]byte("CurrentTerm"), id*1000+i); err != nil {
					t.Errorf("replica %d: %v", id, err)
				}
			}
		})
	}
	wait.Wait()
	check := func(p *Pebble) {
		t.Helper()
		for id := range uint64(replicas) {
			r := replicaOf(t, p, id, ReplicaOptions{})
			must(t, storetest.Holds(r, storetest.Entries(1, batches*3, id+1)))
			term, err := r.GetUint64([]byte("CurrentTerm"))
			if err != nil || term != id*1000+batches-1 {
				t.Fatalf("replica %d: term %d, %v", id, term, err)
			}
			must(t, r.Close())
		}
	}
	check(openPebbleTest(t, storetest.CopyDir(t, dir), PebbleOptions{}))
	must(t, p.Close())
	check(openPebbleTest(t, dir, PebbleOptions{}))
}

func TestPebbleDeleteReplica(t *testing.T) {
	dir := t.TempDir()
	p := openPebbleTest(t, dir, PebbleOptions{})
	for _, id := range []uint64{1, 2, 1<<64 - 1} {
		r := replicaOf(t, p, id, ReplicaOptions{})
		must(t, r.StoreLogs(storetest.Entries(1, 5, id)))
		must(t, r.SetUint64([]byte("CurrentTerm"), 9))
		if err := p.DeleteReplica(id); !errors.Is(err, ErrInUse) {
			t.Fatalf("replica %d deleted under its handle: %v", id, err)
		}
		must(t, r.Close())
	}
	must(t, p.DeleteReplica(1))
	must(t, p.DeleteReplica(1<<64-1))
	must(t, p.DeleteReplica(77))
	if ids := p.Replicas(); !slices.Equal(ids, []uint64{2}) {
		t.Fatalf("replicas %v", ids)
	}
	p = openPebbleTest(t, storetest.CopyDir(t, dir), PebbleOptions{})
	if ids := p.Replicas(); !slices.Equal(ids, []uint64{2}) {
		t.Fatalf("replicas after a crash %v", ids)
	}
	must(t, storetest.Holds(replicaOf(t, p, 2, ReplicaOptions{}), storetest.Entries(1, 5, 2)))
	again := replicaOf(t, p, 1, ReplicaOptions{})
	if _, err := again.GetUint64([]byte("CurrentTerm")); !errors.Is(err, ErrKeyNotFound) {
		t.Fatalf("a deleted replica's term: %v", err)
	}
	must(t, storetest.Holds(again, nil))
}

func TestPebbleInUse(t *testing.T) {
	dir := t.TempDir()
	p := openPebbleTest(t, dir, PebbleOptions{})
	if _, err := OpenPebble(dir, PebbleOptions{Logger: quiet()}); !errors.Is(err, ErrInUse) {
		t.Fatalf("opened twice: %v", err)
	}
	r := replicaOf(t, p, 1, ReplicaOptions{})
	if _, err := p.Replica(1, ReplicaOptions{}); !errors.Is(err, ErrInUse) {
		t.Fatalf("second handle: %v", err)
	}
	must(t, r.StoreLogs(storetest.Entries(1, 2, 1)))
	must(t, r.Close())
	if err := r.Close(); !errors.Is(err, ErrClosed) {
		t.Fatalf("closed twice: %v", err)
	}
	r = replicaOf(t, p, 1, ReplicaOptions{})
	must(t, storetest.Holds(r, storetest.Entries(1, 2, 1)))
	must(t, p.Close())
	for name, err := range map[string]error{"StoreLogs": r.StoreLogs(storetest.Entries(3, 1, 1)), "Close": p.Close(), "Delete": p.DeleteReplica(1)} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if _, err := p.Replica(2, ReplicaOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Replica after Close: %v", err)
	}
}

// The log reaches back to the previous snapshot, whatever raft wants to compact; a whole deletion goes through.
func TestKeepFrom(t *testing.T) {
	keep := uint64(0)
	options := ReplicaOptions{KeepFrom: func() uint64 { return keep }}
	bolt, err := OpenBolt(filepath.Join(t.TempDir(), "raft.db"), BoltOptions{Logger: quiet(), Fatal: testFatal(t), KeepFrom: options.KeepFrom})
	must(t, err)
	defer bolt.Close()
	for name, s := range map[string]raft.LogStore{"pebble": replicaOf(t, openPebbleTest(t, t.TempDir(), PebbleOptions{}), 1, options), "bolt": bolt} {
		logs := storetest.Entries(1, 50, 1)
		must(t, s.StoreLogs(logs))
		for _, c := range []struct{ keep, max, first uint64 }{{0, 20, 1}, {1, 20, 1}, {11, 20, 11}, {11, 5, 11}, {11, 30, 11}, {40, 30, 31}, {99, 35, 36}} {
			keep = c.keep
			must(t, s.DeleteRange(1, c.max))
			if first, err := s.FirstIndex(); err != nil || first != c.first {
				t.Fatalf("%s: keep from %d, delete to %d: first is %d, %v, want %d", name, c.keep, c.max, first, err, c.first)
			}
			must(t, storetest.Holds(s, logs[c.first-1:]))
		}
		keep = 1
		must(t, s.DeleteRange(48, 50))
		must(t, s.DeleteRange(1, 47))
		must(t, storetest.Holds(s, nil))
	}
}

// M-41: returned means fsynced. After every call the store is opened with nothing but the bytes that an fsync had covered.
func TestPebbleReturnedIsSynced(t *testing.T) {
	dir := memoryDir(t)
	s, err := openPebbleStore(t, dir)
	must(t, err)
	defer s.Close()
	to := filepath.Join(memoryDir(t), "copy")
	for i := uint64(1); i <= 25; i++ {
		must(t, s.StoreLogs(storetest.Entries(i, 1, 1)))
		must(t, s.SetUint64([]byte("CurrentTerm"), i))
		files := readImage(t, dir)
		for name, content := range files {
			if ledgered(name) {
				files[name] = content[:s.database.ledger.mark(name)]
			}
		}
		files.write(t, to, "", nil)
		after, err := openPebbleStore(t, to)
		must(t, err)
		must(t, expected{logs: storetest.Entries(1, i, 1), term: i}.holds(after))
		must(t, after.Close())
	}
}

// faultFS fails or holds up the fsync of WAL files once told to.
type faultFS struct {
	vfs.FS
	failing atomic.Bool
	hold    chan struct{} // nil: no hold
	holding atomic.Bool
}

type faultFile struct {
	vfs.File
	fs *faultFS
}

var errDisk = errors.New("injected disk error")

func (fs *faultFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := fs.FS.Create(name, category)
	if err != nil || !strings.HasSuffix(name, ".log") {
		return file, err
	}
	return faultFile{File: file, fs: fs}, nil
}

func (f faultFile) SyncData() error {
	if f.fs.failing.Load() {
		return errDisk
	}
	if f.fs.holding.Load() {
		<-f.fs.hold
	}
	return f.File.SyncData()
}

func (f faultFile) Sync() error { return f.SyncData() }

// A failed fsync ends the process, and the write that met it is not acknowledged.
func TestPebbleFailedSyncIsFatal(t *testing.T) {
	disk := &faultFS{FS: vfs.Default}
	reasons := make(chan error, 10)
	p := openPebbleTest(t, t.TempDir(), PebbleOptions{FS: disk, Fatal: func(reason error) { reasons <- reason }})
	r := replicaOf(t, p, 1, ReplicaOptions{})
	must(t, r.StoreLogs(storetest.Entries(1, 1, 1)))
	disk.failing.Store(true)
	if err := r.StoreLogs(storetest.Entries(2, 1, 1)); !errors.Is(err, ErrFailed) {
		t.Fatalf("a write that was not synced: %v", err)
	}
	select {
	case reason := <-reasons:
		if !errors.Is(reason, errDisk) || !strings.Contains(reason.Error(), ".log") {
			t.Fatalf("reason %v", reason)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("not fatal")
	}
	disk.failing.Store(false)
	if err := r.StoreLogs(storetest.Entries(2, 1, 1)); !errors.Is(err, ErrFailed) {
		t.Fatalf("the store goes on after a failed fsync: %v", err)
	}
	if len(reasons) != 0 {
		t.Fatal("fatal twice")
	}
}

// hashicorp/raft #503, #666: a disk that hangs ends the process, with the call that hangs in the reason.
func TestPebbleStallIsFatal(t *testing.T) {
	disk := &faultFS{FS: vfs.Default, hold: make(chan struct{})}
	reasons := make(chan error, 10)
	options := PebbleOptions{FS: disk, StallTimeout: 50 * time.Millisecond, Fatal: func(reason error) { reasons <- reason }}
	p := openPebbleTest(t, t.TempDir(), options)
	r := replicaOf(t, p, 5, ReplicaOptions{})
	must(t, r.StoreLogs(storetest.Entries(1, 1, 1)))
	disk.holding.Store(true)
	stored := make(chan error, 1)
	go func() { stored <- r.StoreLogs(storetest.Entries(2, 1, 1)) }()
	select {
	case reason := <-reasons:
		if !errors.Is(reason, ErrFailed) || !strings.Contains(reason.Error(), "StoreLogs of replica 5") {
			t.Fatalf("reason %v", reason)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("not fatal")
	}
	disk.holding.Store(false)
	close(disk.hold)
	if err := <-stored; !errors.Is(err, ErrFailed) {
		t.Fatalf("a write that came back after the verdict: %v", err)
	}
}

func TestWatchdogOrder(t *testing.T) {
	reasons := make(chan error, 1)
	w := newWatchdog(time.Hour, func(reason error) { reasons <- reason })
	defer w.close()
	var calls []*watchedCall
	for i := range uint64(10) {
		calls = append(calls, w.begin("call", i))
	}
	for _, i := range []int{5, 0, 9, 1, 4} {
		w.end(calls[i])
	}
	w.mu.Lock()
	var left []uint64
	for call := w.head; call != nil; call = call.next {
		left = append(left, call.replica)
	}
	w.mu.Unlock()
	if fmt.Sprint(left) != "[2 3 6 7 8]" {
		t.Fatalf("in flight: %v", left)
	}
}

// The process really ends, with a code and the reason: by the default, in a process of its own.
func TestPebbleFatalEndsProcess(t *testing.T) {
	const child = "LOGSTORE_FATAL_CHILD"
	if dir := os.Getenv(child); dir != "" {
		fatalChild(dir)
		return
	}
	command := exec.Command(os.Args[0], "-test.run=^TestPebbleFatalEndsProcess$")
	command.Env = append(os.Environ(), child+"="+t.TempDir())
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(output), errDisk.Error()) {
		t.Fatalf("%v, output:\n%s", err, output)
	}
}

func fatalChild(dir string) {
	disk := &faultFS{FS: vfs.Default}
	p, err := OpenPebble(dir, PebbleOptions{FS: disk, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		panic(err)
	}
	r, err := p.Replica(1, ReplicaOptions{})
	if err != nil {
		panic(err)
	}
	disk.failing.Store(true)
	fmt.Println("survived:", r.StoreLogs(storetest.Entries(1, 1, 1)))
}

// Without its high-water marks a log cannot be told from a cut one.
func TestPebbleLedgerMissing(t *testing.T) {
	dir := t.TempDir()
	s, err := openPebbleStore(t, dir)
	must(t, err)
	must(t, s.StoreLogs(storetest.Entries(1, 3, 1)))
	must(t, s.Close())
	must(t, os.Remove(filepath.Join(dir, ledgerName)))
	var damage *CorruptError
	if _, err := openPebbleStore(t, dir); !errors.As(err, &damage) || filepath.Base(damage.File) != ledgerName {
		t.Fatalf("got %v", err)
	}
}
