package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// trio is a group of three replicas over in-memory transports that are connected to each other.
type trio struct {
	t          *testing.T
	members    []*bench
	transports []*raft.InmemTransport
}

func newTrio(t *testing.T) *trio {
	t.Helper()
	three := &trio{t: t}
	for i := range 3 {
		id := fmt.Sprintf("cluster/node%d/0/%d", i, i)
		_, transport := raft.NewInmemTransportWithTimeout(raft.ServerAddress(id), time.Second)
		store := raft.NewInmemStore()
		b := &bench{t: t, config: quickConfig(), folder: t.TempDir(), stores: Stores{Log: store, Stable: store, Transport: transport}}
		b.config.ReplicaID, b.config.Bootstrap = id, i == 0
		b.config.HeartbeatTimeout, b.config.ElectionTimeout, b.config.LeaderLeaseTimeout = 200*time.Millisecond, 200*time.Millisecond, 150*time.Millisecond
		three.members = append(three.members, b)
		three.transports = append(three.transports, transport)
	}
	for i := range three.transports {
		three.connect(i)
	}
	return three
}

func (three *trio) connect(i int) {
	for j, other := range three.transports {
		if i != j {
			three.transports[i].Connect(other.LocalAddr(), other)
			other.Connect(three.transports[i].LocalAddr(), three.transports[i])
		}
	}
}

func (three *trio) cutOff(i int) {
	three.transports[i].DisconnectAll()
	for j, other := range three.transports {
		if i != j {
			other.Disconnect(three.transports[i].LocalAddr())
		}
	}
}

func (three *trio) add(i int) {
	three.t.Helper()
	b := three.members[i]
	if err := b.tryOpen(); err != nil {
		three.t.Fatal(err)
	}
	three.t.Cleanup(b.close)
	leader := three.members[0]
	if err := leader.raft.AddVoter(raft.ServerID(b.config.ReplicaID), b.transport.LocalAddr(), 0, patience).Error(); err != nil {
		three.t.Fatal(err)
	}
}

// leader waits until one of the members takes commands.
func (three *trio) leader(among ...int) int {
	three.t.Helper()
	found := -1
	eventually(three.t, "a leader", func() bool {
		found = slices.IndexFunc(among, func(i int) bool { return three.members[i].Leads() })
		return found >= 0
	})
	return among[found]
}

// Followers hold what the leader acknowledged, whether they were sent entries or a snapshot; a new leader takes
// commands only with all of it applied, and the old one refuses.
func TestThreeReplicas(t *testing.T) {
	three := newTrio(t)
	first := three.members[0]
	first.open()
	t.Cleanup(first.close)
	three.add(1)
	for i := range uint64(50) {
		first.must(command(commandAdd, i))
		if i%10 == 9 {
			if err := first.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
	three.add(2) // the log no longer starts at 1: this one is sent a snapshot
	three.waitEqual(0, 1, 2)
	if three.members[2].machine.restore == 0 {
		t.Fatal("the third replica was sent no snapshot")
	}
	if _, err := three.members[1].Propose(command(commandAdd, 0), time.Now().Add(patience)); !errors.Is(err, ErrNotLeader) {
		t.Fatalf("a follower answered %v", err)
	}

	three.cutOff(0)
	_, err := first.Propose(command(commandAdd, 77), time.Now().Add(patience))
	if !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrNotLeader) {
		t.Fatalf("a leader without followers answered %v", err)
	}
	second := three.leader(1, 2)
	before := three.members[second].values()
	if len(before) < 50 {
		t.Fatalf("the new leader opened with %d of 50 values", len(before))
	}
	three.members[second].must(command(commandAdd, 100))
	if first.Leads() {
		t.Fatal("two leaders take commands")
	}

	three.connect(0)
	three.waitEqual(0, 1, 2)
	if slices.Contains(first.values(), 77) {
		t.Fatal("an entry that no majority had was kept")
	}
}

// waitEqual waits until the replicas have applied the same index, and compares their states.
func (three *trio) waitEqual(among ...int) {
	three.t.Helper()
	leader := three.members[three.leader(among...)]
	leader.must(command(commandAdd, 1))
	index := leader.Status().AppliedIndex
	want := leader.values()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, i := range among {
		if err := three.members[i].WaitApplied(ctx, index); err != nil {
			three.t.Fatalf("replica %d: %v: %+v", i, err, three.members[i].Status())
		}
		if got := three.members[i].values(); !slices.Equal(got, want) {
			three.t.Fatalf("replica %d has %d values, the leader %d", i, len(got), len(want))
		}
	}
}
