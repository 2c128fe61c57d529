package logstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/houseful/houseful/shard/logstore/storetest"
)

// within fails the test if do does not return soon.
func within(t *testing.T, what string, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(10 * time.Second):
		t.Fatalf("hangs: %s", what)
		return nil
	}
}

// A disk that hangs holds nobody up who closes: neither a handle with an append in flight nor the store.
func TestCloseOnHangingDisk(t *testing.T) {
	disk := &faultFS{FS: vfs.Default, hold: make(chan struct{})}
	failed := make(chan struct{})
	options := PebbleOptions{FS: disk, StallTimeout: 200 * time.Millisecond, Fatal: func(error) { close(failed) }}
	p := openPebbleTest(t, t.TempDir(), options)
	r := replicaOf(t, p, 5, ReplicaOptions{})
	must(t, r.StoreLogs(storetest.Entries(1, 1, 1)))
	disk.holding.Store(true)
	stored := make(chan error, 1)
	go func() { stored <- r.StoreLogs(storetest.Entries(2, 1, 1)) }()
	eventually(t, "the append is in flight", func() bool { return len(r.appending) == 1 })
	// Before the verdict: both wait for it, and no longer.
	must(t, within(t, "closing the handle", r.Close))
	if err := within(t, "closing the store", p.Close); !errors.Is(err, ErrFailed) {
		t.Fatalf("closing a store that hangs: %v", err)
	}
	<-failed
	disk.holding.Store(false)
	close(disk.hold)
	if err := <-stored; !errors.Is(err, ErrFailed) {
		t.Fatalf("a write that came back after the verdict: %v", err)
	}
}

// The same without an append: it is closing the database that hangs.
func TestClosingDatabaseHangs(t *testing.T) {
	disk := &faultFS{FS: vfs.Default, hold: make(chan struct{})}
	options := PebbleOptions{FS: disk, StallTimeout: 100 * time.Millisecond, Fatal: func(error) {}}
	p := openPebbleTest(t, memoryDir(t), options)
	must(t, replicaOf(t, p, 1, ReplicaOptions{}).StoreLogs(storetest.Entries(1, 1, 1)))
	disk.holding.Store(true)
	if err := within(t, "closing the store", p.Close); !errors.Is(err, ErrFailed) {
		t.Fatalf("closing a store that hangs: %v", err)
	}
	disk.holding.Store(false)
	close(disk.hold)
}

// Bolt is the same.
func TestCloseOfFailedBolt(t *testing.T) {
	b, err := OpenBolt(filepath.Join(t.TempDir(), "raft.db"), BoltOptions{Logger: quiet(), Fatal: func(error) {}, StallTimeout: 50 * time.Millisecond})
	must(t, err)
	release, began, written := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		written <- b.append([]*raft.Log{{Index: 1, Term: 1}}, func() error {
			return b.write("StoreLogs", func() error {
				close(began)
				<-release
				return nil
			})
		})
	}()
	<-began
	if err := within(t, "closing", b.Close); !errors.Is(err, ErrFailed) {
		t.Fatalf("closing a file that hangs: %v", err)
	}
	close(release)
	if err := <-written; !errors.Is(err, ErrFailed) {
		t.Fatalf("a write that came back after the verdict: %v", err)
	}
}

// Pebble goes on after Fatalf returned. What it wants to change on the disk then is refused.
func TestFailedStoreChangesNothing(t *testing.T) {
	dir := t.TempDir()
	p := openPebbleTest(t, dir, PebbleOptions{Fatal: func(error) {}})
	fs := &trackingFS{FS: vfs.Default, ledger: p.ledger, failure: p.failure}
	name, other := filepath.Join(dir, "000099.sst"), filepath.Join(dir, "000100.sst")
	file, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	must(t, err)
	defer file.Close()
	p.fail(errDisk)
	_, created := fs.Create(other, vfs.WriteCategoryUnspecified)
	_, reused := fs.ReuseForWrite(name, other, vfs.WriteCategoryUnspecified)
	_, written := file.Write([]byte{1})
	for what, err := range map[string]error{
		"create": created, "reuse": reused, "write": written, "sync": file.Sync(), "remove": fs.Remove(name),
		"rename": fs.Rename(name, other), "link": fs.Link(name, other), "remove all": fs.RemoveAll(name),
	} {
		if !errors.Is(err, errDisk) {
			t.Errorf("%s after the store failed: %v", what, err)
		}
	}
	if info, err := os.Stat(name); err != nil || info.Size() != 0 {
		t.Errorf("the file was changed: %v, %v", info, err)
	}
	if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another file came: %v", err)
	}
}
