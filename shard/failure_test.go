package shard

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// waitFailed waits until the group stopped for good and gives the reason.
func (b *bench) waitFailed() error {
	b.t.Helper()
	select {
	case <-b.Failed():
		return b.Err()
	case <-time.After(patience):
		b.t.Fatal("the group did not stop")
		return nil
	}
}

// A machine that panics or refuses an entry stops the group; no later entry and no snapshot comes from its state.
func TestMachineFailureStopsTheGroup(t *testing.T) {
	for name, kind := range map[string]byte{"panic": commandPanic, "unknown entry": commandWrong} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.must(command(commandAdd, 1))
			if _, err := b.Propose(command(kind, 0), time.Now().Add(patience)); !errors.Is(err, ErrUnknown) {
				t.Fatalf("outcome %v", err)
			}
			err := b.waitFailed()
			if !errors.Is(err, ErrMachine) || !strings.Contains(err.Error(), "log index") {
				t.Fatalf("reason %v", err)
			}
			if _, err := b.Propose(command(commandAdd, 2), time.Now().Add(patience)); !errors.Is(err, ErrClosed) {
				t.Fatalf("after the failure: %v", err)
			}
			if err := b.Snapshot(); err == nil && b.Status().SnapshotIndex != 0 {
				t.Fatal("a snapshot of a state that missed an entry")
			}
			if got := b.Status().State; got != stateFailed {
				t.Fatalf("state %s", got)
			}
			if err := b.WaitLeader(context.Background()); !errors.Is(err, ErrMachine) {
				t.Fatal(err)
			}
			b.close()

			// The entry is in the log: a restart stops there again, it never skips it.
			if err := b.tryOpen(); err != nil {
				t.Fatal(err)
			}
			if err := b.waitFailed(); !errors.Is(err, ErrMachine) {
				t.Fatalf("after the restart: %v", err)
			}
		})
	}
}

// faultyStore is a real store whose calls can be made to fail or hang.
type faultyStore struct {
	*raft.InmemStore
	failStore, failGet, failSet atomic.Bool
	hang                        atomic.Pointer[chan struct{}]
}

var errDisk = errors.New("input/output error")

func newFaultyStore() *faultyStore { return &faultyStore{InmemStore: raft.NewInmemStore()} }

func (s *faultyStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

func (s *faultyStore) StoreLogs(l []*raft.Log) error {
	if hang := s.hang.Load(); hang != nil {
		<-*hang
	}
	if s.failStore.Load() {
		return errDisk
	}
	return s.InmemStore.StoreLogs(l)
}

func (s *faultyStore) GetLog(index uint64, l *raft.Log) error {
	if s.failGet.Load() {
		return errDisk
	}
	return s.InmemStore.GetLog(index, l)
}

func (s *faultyStore) SetUint64(key []byte, value uint64) error {
	if s.failSet.Load() {
		return errDisk
	}
	return s.InmemStore.SetUint64(key, value)
}

// A store that fails once stops the group: the command's outcome is unknown, and the lead is not won again (raft #614).
func TestStoreFailureStopsTheGroup(t *testing.T) {
	store := newFaultyStore()
	b := newBench(t, withLog(store), withStable(store))
	b.must(command(commandAdd, 1))
	store.failStore.Store(true)
	if _, err := b.Propose(command(commandAdd, 2), time.Now().Add(patience)); !errors.Is(err, ErrUnknown) {
		t.Fatalf("outcome %v", err)
	}
	if err := b.waitFailed(); !errors.Is(err, ErrStore) || !errors.Is(err, errDisk) {
		t.Fatalf("reason %v", err)
	}
	b.close()
	if b.raft.State() != raft.Shutdown {
		t.Fatalf("raft is still %v", b.raft.State())
	}
}

// A disk that hangs stops the group instead of keeping the lead (raft #503, #666), and no wait is left.
func TestHungStoreStopsTheGroup(t *testing.T) {
	store := newFaultyStore()
	b := newBench(t, withLog(store), withStable(store), withConfig(func(c *Config) { c.StoreTimeout = 200 * time.Millisecond }))
	hang := make(chan struct{})
	store.hang.Store(&hang)
	outcomes := make(chan error, 3)
	for range cap(outcomes) {
		go func() {
			_, err := b.Propose(command(commandAdd, 1), time.Now().Add(time.Hour))
			outcomes <- err
		}()
	}
	if err := b.waitFailed(); !errors.Is(err, ErrStoreHung) {
		t.Fatalf("reason %v", err)
	}
	for range cap(outcomes) {
		if err := <-outcomes; !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrNotApplied) {
			t.Fatalf("outcome %v", err)
		}
	}
	close(hang)
}

// Raft panics when it cannot read an entry that it must apply, or write its term. The group stops with the reason and
// the process lives.
func TestRaftPanicsAreKeptFromTheProcess(t *testing.T) {
	t.Run("while opening", func(t *testing.T) {
		store := newFaultyStore()
		b := newBench(t, withLog(store), withStable(store))
		b.must(command(commandAdd, 1))
		b.close()
		store.failGet.Store(true)
		if err := b.tryOpen(); !errors.Is(err, errDisk) {
			t.Fatalf("opened with %v", err)
		}
		b.Group = nil
	})
	t.Run("while applying", func(t *testing.T) {
		store := newFaultyStore()
		b := newBench(t, withLog(store), withStable(store))
		b.must(command(commandAdd, 1))
		b.close()
		b.config.HeartbeatTimeout, b.config.ElectionTimeout = 300*time.Millisecond, 300*time.Millisecond
		if err := b.tryOpen(); err != nil { // the log is read; it is read again when the new term commits
			t.Fatal(err)
		}
		store.failGet.Store(true)
		if err := b.waitFailed(); !errors.Is(err, ErrStore) || !errors.Is(err, errDisk) {
			t.Fatalf("reason %v", err)
		}
	})
	t.Run("while voting", func(t *testing.T) {
		store := newFaultyStore()
		b := newBench(t, withLog(store), withStable(store))
		b.close()
		b.config.HeartbeatTimeout, b.config.ElectionTimeout = 300*time.Millisecond, 300*time.Millisecond
		if err := b.tryOpen(); err != nil {
			t.Fatal(err)
		}
		store.failSet.Store(true)
		if err := b.waitFailed(); !errors.Is(err, ErrStore) || !errors.Is(err, errDisk) {
			t.Fatalf("reason %v", err)
		}
	})
}

// A log that was there and is gone is never taken for a new group.
func TestLostLogIsNoNewGroup(t *testing.T) {
	log, stable := raft.NewInmemStore(), raft.NewInmemStore()
	b := newBench(t, withLog(log), withStable(stable))
	b.must(command(commandAdd, 1))
	b.close()
	b.stores.Log = raft.NewInmemStore()
	if err := b.tryOpen(); !errors.Is(err, ErrLogLost) {
		t.Fatalf("opened with %v", err)
	}
	b.Group = nil
}

// A crash between the two writes of a bootstrap leaves a term and no log: the next start finishes it.
func TestHalfBootstrap(t *testing.T) {
	store := raft.NewInmemStore()
	if err := store.SetUint64([]byte(keyCurrentTerm), 1); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, withLog(store), withStable(store))
	b.must(command(commandAdd, 1))
}

// A hole in the log, or a log that starts after the snapshot ends, is an error at the start.
func TestLogThatDoesNotReachTheSnapshot(t *testing.T) {
	store := raft.NewInmemStore()
	b := newBench(t, withLog(store), withStable(store))
	for i := range uint64(10) {
		b.must(command(commandAdd, i))
	}
	b.close()
	if err := store.DeleteRange(1, 5); err != nil {
		t.Fatal(err)
	}
	if err := b.tryOpen(); !errors.Is(err, ErrLogLost) {
		t.Fatalf("opened with %v", err)
	}
	b.Group = nil
}
