package shard

import (
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
	"github.com/houseful/houseful/shard/snapshot"
)

// Heartbeats stay on raft's main goroutine (raft #695) and appends are not pipelined (#611, #612).
func TestGuardedTransport(t *testing.T) {
	_, memory := raft.NewInmemTransport("here")
	inner := &heartbeatSpy{InmemTransport: memory}
	started := false
	guarded, err := newGuardedTransport(inner, func() { started = true })
	if err != nil {
		t.Fatal(err)
	}
	guarded.SetHeartbeatHandler(func(raft.RPC) {})
	if inner.handlers != 0 || !started {
		t.Fatal("the heartbeat handler reached the transport")
	}
	if _, err := guarded.AppendEntriesPipeline("other", "other"); !errors.Is(err, raft.ErrPipelineReplicationNotSupported) {
		t.Fatalf("pipeline: %v", err)
	}
	if _, err := newGuardedTransport(struct{ raft.Transport }{memory}, nil); !errors.Is(err, ErrTransport) {
		t.Fatalf("a transport without pre-vote: %v", err)
	}
}

type heartbeatSpy struct {
	*raft.InmemTransport
	handlers int
}

func (s *heartbeatSpy) SetHeartbeatHandler(func(raft.RPC)) { s.handlers++ }

// Compaction is held back, a conflicting suffix and a log replaced by a snapshot are not.
func TestGuardedLogDeletes(t *testing.T) {
	for name, row := range map[string]struct{ first, last, wantFirst, wantLast uint64 }{
		"compaction to the newest":   {1, 20, 11, 30},
		"compaction to the previous": {1, 10, 11, 30},
		"compaction below":           {1, 4, 5, 30},
		"conflict":                   {25, 30, 1, 24},
		"replaced by a snapshot":     {1, 30, 0, 0},
	} {
		snapshots, err := snapshot.Open(t.TempDir(), snapshot.Options{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		for _, index := range []uint64{10, 20} {
			sink, err := snapshots.Create(1, index, 1, raft.Configuration{}, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := sink.Close(); err != nil {
				t.Fatal(err)
			}
		}
		store := raft.NewInmemStore()
		for i := range uint64(30) {
			if err := store.StoreLog(&raft.Log{Index: i + 1}); err != nil {
				t.Fatal(err)
			}
		}
		log := &guardedLog{LogStore: store, snapshots: snapshots}
		if err := log.DeleteRange(row.first, row.last); err != nil {
			t.Fatal(err)
		}
		first, _ := log.FirstIndex()
		last, _ := log.LastIndex()
		if first != row.wantFirst || last != row.wantLast {
			t.Errorf("%s: left %d to %d, want %d to %d", name, first, last, row.wantFirst, row.wantLast)
		}
	}
}

// What encodeEntry writes by hand is what the generated code reads, in one allocation of the exact size.
func TestEncodeEntry(t *testing.T) {
	for _, sizes := range [][]int{{1}, {0, 127, 128, 16_383, 16_384}, make([]int, BatchCommandsMax)} {
		for _, at := range []int64{0, 1, 1_760_000_000_000, 1<<63 - 1} {
			var waiters []*waiter[int]
			want := &wire.Entry{Format: entryFormat, TimeMs: at}
			for i, size := range sizes {
				c := make([]byte, size)
				for j := range c {
					c[j] = byte(i + j)
				}
				waiters = append(waiters, &waiter[int]{command: c})
				want.Commands = append(want.Commands, c)
			}
			data := encodeEntry(fsm.Time(at), waiters)
			if len(data) != cap(data) {
				t.Errorf("%d bytes in an allocation of %d", len(data), cap(data))
			}
			var got wire.Entry
			if err := got.UnmarshalVT(data); err != nil {
				t.Fatal(err)
			}
			if got.Format != want.Format || got.TimeMs != want.TimeMs || len(got.Commands) != len(want.Commands) {
				t.Fatalf("read back %d, %d, %d commands", got.Format, got.TimeMs, len(got.Commands))
			}
			for i := range want.Commands {
				if string(got.Commands[i]) != string(want.Commands[i]) {
					t.Fatalf("command %d differs", i)
				}
			}
		}
	}
}

// How long a store call has taken is told by the monotonic clock, counted from its beginning.
func TestStoreWatch(t *testing.T) {
	w := &storeWatch{since: time.Now().Add(-time.Hour)} // it has been there for long
	if took := w.longest(time.Now()); took != 0 {
		t.Fatalf("no call is under way, and it has taken %v", took)
	}
	_ = w.call(func() error {
		if took := w.longest(time.Now().Add(time.Minute)); took < time.Minute || took > 2*time.Minute {
			t.Errorf("a call of a minute has taken %v", took)
		}
		return nil
	})
	if took := w.longest(time.Now()); took != 0 {
		t.Fatalf("the call has ended, and it has taken %v", took)
	}
}
