package logstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/houseful/houseful/shard/logstore/storetest"
)

// smallDisk mounts a file system of sizeBytes in memory. Where that is not allowed (only root may) the test is skipped.
func smallDisk(t *testing.T, sizeBytes string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+sizeBytes); err != nil {
		t.Skipf("needs a small file system, and mounting one failed: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
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

// The arithmetic of the floor, on whatever disk there is.
func TestDiskSpaceLimits(t *testing.T) {
	dir := t.TempDir()
	if _, err := NewDiskSpace(filepath.Join(dir, "none"), 1); err == nil {
		t.Fatal("a directory that is not there was watched")
	}
	high, err := NewDiskSpace(dir, 1<<62)
	must(t, err)
	if err := high.Check(); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("below the floor: %v", err)
	}
	low, err := NewDiskSpace(dir, 1)
	must(t, err)
	must(t, low.Check())
}

func TestDiskSpaceFloor(t *testing.T) {
	dir := smallDisk(t, "8m")
	low, err := NewDiskSpace(dir, 4<<20)
	must(t, err)
	must(t, low.Check())
	filler := filepath.Join(dir, "filler")
	must(t, os.WriteFile(filler, make([]byte, 5<<20), 0o644))
	eventually(t, "the floor is noticed", func() bool { return errors.Is(low.Check(), ErrDiskFull) })
	must(t, os.Remove(filler))
	eventually(t, "the room is noticed", func() bool { return low.Check() == nil })
}

func TestBallast(t *testing.T) {
	dir := t.TempDir()
	must(t, RemoveBallast(dir))
	made, err := MakeBallast(dir, 6<<20)
	must(t, err)
	again, err := MakeBallast(dir, 6<<20)
	must(t, err)
	if !made || again {
		t.Fatalf("made %t, then %t", made, again)
	}
	must(t, RemoveBallast(dir))
	must(t, RemoveBallast(dir))
}

func TestBallastTakesRoom(t *testing.T) {
	dir := smallDisk(t, "8m")
	_, err := MakeBallast(dir, 6<<20)
	must(t, err)
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

const fullDiskChild = "LOGSTORE_FULL_DISK_CHILD"

// M-41: where a disk runs full under the store (the floor is to prevent it) the process ends and has acknowledged nothing that is not
// stored; with the ballast gone the store opens with all of it.
func TestPebbleFullDisk(t *testing.T) {
	if dir := os.Getenv(fullDiskChild); dir != "" {
		fillDisk(dir)
		return
	}
	dir := smallDisk(t, "6m")
	_, err := MakeBallast(dir, 3<<20)
	must(t, err)
	log := filepath.Join(dir, "log")
	command := exec.Command(os.Args[0], "-test.run=^TestPebbleFullDisk$")
	command.Env = append(os.Environ(), fullDiskChild+"="+log)
	var said strings.Builder
	command.Stderr = &said
	output, err := command.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("on a full disk the process ended with %v, output:\n%s\n%s", err, output, said.String())
	}
	acknowledged := uint64(strings.Count(string(output), "+"))
	if acknowledged == 0 {
		t.Fatalf("nothing was stored, output:\n%s", output)
	}
	must(t, RemoveBallast(dir))
	s, err := openPebbleReplica(t, log, 1)
	must(t, err)
	defer s.Close()
	last, err := s.LastIndex()
	must(t, err)
	if last < acknowledged || last > acknowledged+1 {
		t.Fatalf("%d entries acknowledged, %d there", acknowledged, last)
	}
	must(t, storetest.Holds(s, fillerEntries(1, last)))
}

// fatalPatience is how long a store that has failed may take to end its process.
const fatalPatience = 30 * time.Second

// fillDisk prints a + for each entry that was acknowledged, until the process ends.
func fillDisk(dir string) {
	options := PebbleOptions{MemTableBytes: 256 << 10, StallTimeout: 2 * time.Second}
	p, err := OpenPebble(dir, options)
	if err != nil {
		panic(err)
	}
	r, err := p.Replica(1, ReplicaOptions{})
	if err != nil {
		panic(err)
	}
	for index := uint64(1); ; index++ {
		if err := r.StoreLogs(fillerEntries(index, 1)); err != nil {
			<-time.After(fatalPatience) // the store ends the process; the caller may hear of the failure first
			panic(err)
		}
		fmt.Print("+")
	}
}

// fillerEntries are large and do not compress.
func fillerEntries(first, count uint64) []*raft.Log {
	logs := storetest.Entries(first, count, 1)
	for _, log := range logs {
		data := make([]byte, 10_000)
		random := rand.New(rand.NewPCG(log.Index, 0))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		log.Data = data
	}
	return logs
}
