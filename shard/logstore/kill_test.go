package logstore

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/houseful/houseful/shard/logstore/storetest"
)

const killChild = "LOGSTORE_KILL_CHILD"

// M-41: kill -9 at random moments under load, and open again what is left: every acknowledged entry is there, nothing else but at most
// the write that was in flight. The suffix cuts and compactions between make memtables turn over.
func TestKill(t *testing.T) {
	const kills = 12
	if dir := os.Getenv(killChild); dir != "" {
		must(t, writeUntilKilled(dir))
		return
	}
	random := newRandom(t)
	dir := t.TempDir()
	for range kills {
		pebbleSaid, boltSaid := killAfter(t, dir, time.Duration(5+random.IntN(150))*time.Millisecond)
		s, err := openPebbleReplica(t, filepath.Join(dir, "log"), 1)
		must(t, err)
		expectAcknowledged(t, s, pebbleSaid)
		must(t, s.Close())
		b, err := openBoltTest(t, dir)
		must(t, err)
		expectAcknowledged(t, b, boltSaid)
		must(t, b.Close())
	}
}

func expectAcknowledged(t *testing.T, s storetest.Store, last uint64) {
	t.Helper()
	first, err := s.FirstIndex()
	must(t, err)
	got, err := s.LastIndex()
	must(t, err)
	if got < last {
		t.Fatalf("entry %d was acknowledged, the log ends at %d", last, got)
	}
	if got > 0 {
		must(t, storetest.Holds(s, storetest.Entries(first, got-first+1, 1)))
	}
}

// killAfter runs writers in a process of their own, kills it and returns the last entries that were acknowledged.
func killAfter(t *testing.T, dir string, life time.Duration) (pebbleSaid, boltSaid uint64) {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run=^TestKill$")
	command.Env = append(os.Environ(), killChild+"="+dir)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	lines := bufio.NewReader(output)
	if line, err := lines.ReadString('\n'); err != nil || line != "open\n" {
		t.Errorf("the writer said %q, %v", line, err)
	}
	timer := time.AfterFunc(life, func() { _ = command.Process.Kill() })
	defer timer.Stop()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("reading from the writer: %v", err)
			}
			break
		}
		store, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		last, err := strconv.ParseUint(number, 10, 64)
		must(t, err)
		if store == "pebble" {
			pebbleSaid = last
		} else {
			boltSaid = last
		}
	}
	_ = command.Wait() // killed
	return pebbleSaid, boltSaid
}

func writeUntilKilled(dir string) error {
	p, err := OpenPebble(filepath.Join(dir, "log"), PebbleOptions{MemTableBytes: 128 << 10, LedgerInterval: 10 * time.Millisecond})
	if err != nil {
		return err
	}
	r, err := p.Replica(1, ReplicaOptions{})
	if err != nil {
		return err
	}
	b, err := OpenBolt(filepath.Join(dir, "raft.db"), BoltOptions{})
	if err != nil {
		return err
	}
	fmt.Println("open")
	failed := make(chan error, 2)
	go func() { failed <- writeOn(r, "pebble") }()
	go func() { failed <- writeOn(b, "bolt") }()
	return <-failed
}

func writeOn(s raft.LogStore, name string) error {
	for {
		first, err := s.FirstIndex()
		if err != nil {
			return err
		}
		last, err := s.LastIndex()
		if err != nil {
			return err
		}
		if err := s.StoreLogs(storetest.Entries(last+1, last%7+1, 1)); err != nil {
			return err
		}
		fmt.Println(name, last+last%7+1)
		if last-first > 300 {
			if err := s.DeleteRange(first, last-100); err != nil {
				return err
			}
		}
	}
}
