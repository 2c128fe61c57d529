package logstore

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/houseful/houseful/shard/logstore/storetest"
)

// smallDisk mounts a file system of sizeBytes in memory. Only root may; the test then says so and proves nothing.
func smallDisk(t *testing.T, sizeBytes string) (dir string, ok bool) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+sizeBytes); err != nil {
		t.Logf("cannot mount a small file system (%v): only the arithmetic is tested", err)
		return dir, false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir, true
}

// eventually polls until condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for tick := time.NewTicker(5 * time.Millisecond); !condition(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

func TestDiskSpaceFloor(t *testing.T) {
	dir, small := smallDisk(t, "8m")
	if _, err := NewDiskSpace(filepath.Join(dir, "none"), 1); err == nil {
		t.Fatal("a directory that is not there was watched")
	}
	high, err := NewDiskSpace(dir, 1<<62)
	must(t, err)
	if err := high.Check(); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("below the floor: %v", err)
	}
	low, err := NewDiskSpace(dir, 4<<20)
	must(t, err)
	must(t, low.Check())
	if !small {
		return
	}
	filler := filepath.Join(dir, "filler")
	must(t, os.WriteFile(filler, make([]byte, 5<<20), 0o644))
	eventually(t, "the floor is noticed", func() bool { return errors.Is(low.Check(), ErrDiskFull) })
	must(t, os.Remove(filler))
	eventually(t, "the room is noticed", func() bool { return low.Check() == nil })
}

func TestBallast(t *testing.T) {
	dir, small := smallDisk(t, "8m")
	must(t, RemoveBallast(dir))
	made, err := MakeBallast(dir, 6<<20)
	must(t, err)
	again, err := MakeBallast(dir, 6<<20)
	must(t, err)
	if !made || again {
		t.Fatalf("made %t, then %t", made, again)
	}
	if small {
		space, err := NewDiskSpace(dir, 4<<20)
		must(t, err)
		if err := space.Check(); !errors.Is(err, ErrDiskFull) {
			t.Fatalf("the ballast takes no room: %v", err)
		}
		must(t, RemoveBallast(dir))
		eventually(t, "the ballast's room is back", func() bool { return space.Check() == nil })
		if _, err := MakeBallast(dir, 64<<20); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("ballast larger than the disk: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, BallastName)); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("half a ballast stays: %v", err)
		}
	}
	must(t, RemoveBallast(dir))
}

// M-41: a disk that runs full under the store without the floor never acknowledges what is not stored, and with the ballast gone the
// store opens with everything that was.
func TestPebbleFullDisk(t *testing.T) {
	dir, small := smallDisk(t, "6m")
	if !small {
		return
	}
	_, err := MakeBallast(dir, 3<<20)
	must(t, err)
	failed := make(chan error, 1)
	options := PebbleOptions{Logger: quiet(), MemTableBytes: 256 << 10, Fatal: func(reason error) { failed <- reason }}
	p, err := OpenPebble(filepath.Join(dir, "log"), options)
	must(t, err)
	r, err := p.Replica(1, ReplicaOptions{})
	must(t, err)
	acknowledged := uint64(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			logs := storetest.Entries(acknowledged+1, 100, 1)
			if err := r.StoreLogs(logs); err != nil {
				return
			}
			acknowledged += 100
		}
	}()
	select {
	case <-failed:
	case <-time.After(time.Minute):
		t.Fatal("neither an error nor a fatal reason on a full disk")
	}
	<-done
	files := storetest.CopyDir(t, filepath.Join(dir, "log"))
	reopened, err := openPebbleReplica(t, files, 1)
	must(t, err)
	defer reopened.Close()
	last, err := reopened.LastIndex()
	must(t, err)
	if last < acknowledged {
		t.Fatalf("%d entries acknowledged, %d there", acknowledged, last)
	}
	must(t, storetest.Holds(reopened, storetest.Entries(1, last, 1)))
	_ = p.Close() // on a full disk it may fail
}
