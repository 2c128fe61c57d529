package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/houseful/houseful/fsm"
)

// Group is one replica of a Raft group: the machine, its log and snapshots, and the actor that feeds them. Its methods
// may be called by many goroutines at once.
type Group[R any] struct {
	config Config
	stores Stores
	logger *slog.Logger

	replica   *replica[R]
	log       *guardedLog
	stable    *guardedStable
	transport *guardedTransport
	raft      *raft.Raft
	metrics   *metrics

	waiters  sync.Pool // *waiter[R]
	batches  sync.Pool // *batch[R]
	queue    *queue[R]
	slots    chan struct{}  // one per entry in flight
	proposed chan *batch[R] // from the actor to the deliverer, in log order
	inflight inflight[R]
	stamped  fsm.Time // the last stamp; of the actor alone

	pulseArmed   chan struct{} // of capacity 1: look at the next expiry again
	snapshotting sync.Mutex
	lead         leadership

	closing   chan struct{} // Close was called
	closeOnce sync.Once
	hurry     chan struct{} // Close ran out of patience
	hurryOnce sync.Once
	stop      chan struct{} // periodic work ends
	givenUp   chan struct{} // nobody waits for entries in flight any more
	done      chan struct{} // everything ended

	askers  sync.WaitGroup // goroutines that wait for raft's answers; raft is shut down after they ended
	workers sync.WaitGroup // the other goroutines

	failed   chan struct{}
	failOnce sync.Once
	failure  error // read after failed is closed
}

// Open starts a replica on its stores: the newest usable snapshot is restored and the log read through. It returns
// before there is a leader; see WaitLeader. What is damaged beyond its redundancy is an error naming the files.
func Open[R any](config Config, machine Machine[R], stores Stores) (*Group[R], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if err := stores.validate(); err != nil {
		return nil, err
	}
	g, err := newGroup(config, machine, stores)
	if err != nil {
		return nil, fmt.Errorf("open group %s: %w", config.Name, err)
	}
	if err := g.start(); err != nil {
		return nil, fmt.Errorf("open group %s: %w", config.Name, err)
	}
	return g, nil
}

func newGroup[R any](config Config, machine Machine[R], stores Stores) (*Group[R], error) {
	g := &Group[R]{
		config:     config,
		stores:     stores,
		logger:     config.Logger.With("group", config.Name),
		queue:      newQueue[R](config.QueueCommands, config.QueueBytes),
		slots:      make(chan struct{}, config.EntriesInFlight),
		proposed:   make(chan *batch[R], config.EntriesInFlight),
		pulseArmed: make(chan struct{}, 1),
		closing:    make(chan struct{}),
		hurry:      make(chan struct{}),
		stop:       make(chan struct{}),
		givenUp:    make(chan struct{}),
		done:       make(chan struct{}),
		failed:     make(chan struct{}),
	}
	g.waiters.New = func() any { return newWaiter[R]() }
	g.batches.New = func() any { return &batch[R]{waiters: make([]*waiter[R], 0, BatchCommandsMax)} }
	g.metrics = newMetrics()
	g.replica = &replica[R]{machine: machine, metrics: g.metrics, fail: g.fail, rearm: g.armPulse, stop: g.stop}
	g.replica.nextExpiry.Store(noExpiry)
	g.replica.publish()
	g.log = &guardedLog{LogStore: stores.Log, snapshots: stores.Snapshots, fail: g.fail, watch: storeWatch{since: time.Now()}}
	g.stable = &guardedStable{StableStore: stores.Stable, watch: &g.log.watch, fail: g.fail}
	if stores.Transport == nil {
		_, stores.Transport = raft.NewInmemTransport(raft.ServerAddress(config.ReplicaID))
	}
	var err error
	g.transport, err = newGuardedTransport(stores.Transport, g.log.watch.start)
	return g, err
}

func (g *Group[R]) start() error {
	base, err := g.restoreBase()
	if err != nil {
		return err
	}
	if err := g.bootstrap(); err != nil {
		return err
	}
	if err := g.startRaft(); err != nil {
		return err
	}
	g.logger.Info("group opened", "snapshot", base, "firstIndex", g.Status().FirstIndex, "lastIndex", g.raft.LastIndex(), "term", g.raft.CurrentTerm())

	g.askers.Go(g.act)
	g.askers.Go(g.deliver)
	g.askers.Go(g.followLeadership)
	g.workers.Go(g.sweep)
	g.workers.Go(g.pulse)
	g.workers.Go(g.takeSnapshots)
	err = g.metrics.register(g.config, g.Status)
	go g.supervise() // closes done, which Close waits for
	if err != nil {
		return errors.Join(err, g.Close(context.Background()))
	}
	return nil
}

// Read runs fn while no entry is applied. fn must be short and must not call the group.
func (g *Group[R]) Read(fn func()) { g.replica.read(fn) }

// WaitApplied waits until the entry at index is applied here. The index must be one of an entry that reached the
// machine, as Status gives in AppliedIndex. It fails when ctx ends or the group does.
func (g *Group[R]) WaitApplied(ctx context.Context, index uint64) error {
	return g.wait(ctx, &g.replica.moved, func() bool { return g.replica.index.Load() >= index })
}

// WaitLeader waits until this replica leads, has applied all of its predecessors' entries and takes commands. It fails
// when ctx ends or the group does.
func (g *Group[R]) WaitLeader(ctx context.Context) error {
	return g.wait(ctx, &g.lead.changed, g.lead.open.Load)
}

// Leads reports whether this replica takes commands now.
func (g *Group[R]) Leads() bool { return g.lead.open.Load() }

// Failed is closed when the group stopped for good; Err then says why. The state must not be used any more.
func (g *Group[R]) Failed() <-chan struct{} { return g.failed }

// Err says why the group stopped for good, or nil.
func (g *Group[R]) Err() error {
	select {
	case <-g.failed:
		return g.failure
	default:
		return nil
	}
}

// fail stops the group for good. The first reason is kept.
func (g *Group[R]) fail(err error) {
	g.failOnce.Do(func() {
		g.failure = fmt.Errorf("group %s: %w", g.config.Name, err)
		g.lead.set(false)
		g.queue.close(true)
		g.logger.Error("group stopped for good", "error", err)
		close(g.failed)
	})
}

func (g *Group[R]) wait(ctx context.Context, event *broadcast, condition func() bool) error {
	for {
		changed := event.listen()
		met := condition()
		if !met {
			select {
			case <-changed:
			case <-ctx.Done():
			case <-g.failed:
			case <-g.done:
			}
		}
		event.leave()
		switch {
		case met:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case g.Err() != nil:
			return g.Err()
		case g.ended():
			return ErrClosed
		}
	}
}

func (g *Group[R]) ended() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}
