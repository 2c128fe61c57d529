package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/shard"
	"github.com/houseful/houseful/shard/logstore"
)

// ErrNoTestClock says that AdvanceClock needs Config.TestClock.
var ErrNoTestClock = errors.New("the node does not run with a test clock")

// Node is a member of a cluster, with its replicas. Every method may be called from any goroutine.
type Node struct {
	config    Config
	logger    *slog.Logger
	clock     shard.Clock
	testClock *shard.TestClock // nil without Config.TestClock; clock then
	groups    shard.Clock      // of the groups; clock but in tests

	dir      *dataDir
	space    *diskGuard
	identity *identity // written by the start alone

	// What the start makes, in this order. The pointer to the shards is set last, when all of it is ready.
	stores  *logstore.Pebble
	meta    *metaGroup
	shards  []*dataShard
	metrics *shardMetrics // nil without a registerer
	ready   atomic.Pointer[[]*dataShard]
	waits   atomic.Pointer[string] // what the start waits for

	buffers    buffers
	inside     *gate
	claimsLeft atomic.Uint64 // claims that were left tentative

	stop       chan struct{} // closed when the node starts to stop
	stopOnce   sync.Once
	started    chan struct{} // closed when the start has ended, well or not
	workers    sync.WaitGroup
	failed     chan struct{}
	failure    error // read it after failed is closed
	failOnce   sync.Once
	unsafe     chan struct{} // closed when a store cannot be trusted any more
	unsafeOnce sync.Once
	closeOnce  sync.Once
	closed     chan struct{} // closed when everything ended
	closeErr   error         // read it after closed is closed

	hooks hooks
}

// Open takes the data directory, creating what is missing, and starts the node. It returns before the groups lead or
// their logs are read; Ready says what is still missing. The caller must Close the node.
//
// Errors: ErrConfig, ErrDataDirLocked, ErrIdentity. What is found out later (a damaged log, ErrBirth) closes Failed.
// ctx bounds only Open itself.
func Open(ctx context.Context, cfg Config) (*Node, error) { return openNode(ctx, cfg, hooks{}) }

// hooks let tests cut a node off where a crash could: what comes after a hook that gives an error does not happen. A
// nil hook never cuts.
type hooks struct {
	start      func(next string) error
	claim      func(done step) error
	beforeList func(fsm.BrowseItem) error
	beforeSent func(fsm.BrowseItem) error
	clock      func(shard.Clock) shard.Clock // of the requests, not of the groups
	log        func(*logstore.PebbleOptions)
}

func openNode(ctx context.Context, cfg Config, hooks hooks) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := lockDataDir(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	n := &Node{
		config: cfg, logger: cfg.Logger.With("node", cfg.NodeID), clock: shard.NewSystemClock(), dir: dir, inside: newGate(), hooks: hooks,
		stop: make(chan struct{}), started: make(chan struct{}), failed: make(chan struct{}),
		unsafe: make(chan struct{}), closed: make(chan struct{}),
	}
	if cfg.TestClock {
		n.testClock = shard.NewTestClock(n.clock)
		n.clock = n.testClock
	}
	n.groups = n.clock
	if hooks.clock != nil {
		n.clock = hooks.clock(n.clock)
	}
	if n.identity, err = loadIdentity(dir, cfg.NodeID); err != nil {
		return nil, errors.Join(err, dir.unlock())
	}
	if err := n.guardDisk(); err != nil {
		return nil, errors.Join(err, dir.unlock())
	}
	go n.start() // Close waits for started
	return n, nil
}

// start brings the node up and then ends; what it started goes on.
func (n *Node) start() {
	defer close(n.started)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n.workers.Go(func() { // ends the waits of the start when the node stops
		select {
		case <-n.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	err := n.bringUp(ctx)
	switch {
	case err == nil:
		n.ready.Store(&n.shards)
		n.logger.Info("node is ready", "cluster", n.identity.ClusterID, "shards", len(n.shards))
	case n.stopping():
		n.logger.Info("node stopped before it was ready", "reason", err)
	default:
		n.fail(err)
	}
}

// fail records why the node cannot go on.
func (n *Node) fail(err error) {
	n.failOnce.Do(func() {
		n.failure = err
		n.logger.Error("node failed", "error", err)
		close(n.failed)
	})
}

// watch fails the node when a group stops for good.
func (n *Node) watch(name string, failed <-chan struct{}, reason func() error) {
	n.workers.Go(func() {
		select {
		case <-failed:
			n.fail(fmt.Errorf("group %s: %w", name, reason()))
		case <-n.stop:
		}
	})
}

// Close refuses new commands, finishes those in flight until ctx ends, stops the groups and lets go of the data
// directory. It returns within closeGrace of the end of ctx, or of a store's failure: an error that is ErrNotClosed then
// says that something hangs, most likely in the disk. What hangs still has the data directory and its lock; only the end
// of the process takes them away. It may be called more than once; the first call's ctx counts for what is in flight.
func (n *Node) Close(ctx context.Context) error {
	n.closeOnce.Do(func() {
		go func() { // ends with what it waits for; Close does not wait as long
			defer close(n.closed)
			n.closeErr = n.close(ctx)
		}()
	})
	select {
	case <-n.closed:
		return n.closeErr
	case <-n.unsafe:
	case <-ctx.Done():
	}
	timer := time.NewTimer(closeGrace)
	defer timer.Stop()
	select {
	case <-n.closed:
		return n.closeErr
	case <-timer.C:
		return errors.Join(fmt.Errorf("close node: %w", ErrNotClosed), n.Err())
	}
}

// close stops in the order in which one part needs another: commands need the groups, the groups need the stores.
func (n *Node) close(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with ctx
		select {
		case <-n.unsafe:
			cancel() // what is in flight cannot be finished
		case <-ctx.Done():
		}
	}()
	n.inside.shut(ctx)
	n.stopOnce.Do(func() { close(n.stop) })
	<-n.started
	var errs []error
	var closing sync.WaitGroup
	results := make([]error, len(n.shards))
	for i, s := range n.shards {
		if s.group != nil {
			closing.Go(func() { results[i] = s.group.Close(ctx) })
		}
	}
	closing.Wait()
	errs = append(errs, results...)
	if n.meta != nil && n.meta.group != nil {
		errs = append(errs, n.meta.group.Close(ctx))
	}
	n.workers.Wait()
	if n.metrics != nil {
		n.config.Registerer.Unregister(n.metrics)
	}
	errs = append(errs, n.closeStores())
	select {
	case <-n.unsafe: // the store still has its files open; the lock goes with the process
	default:
		errs = append(errs, n.dir.unlock())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close node: %w", err)
	}
	n.logger.Info("node stopped")
	return nil
}

func (n *Node) stopping() bool {
	select {
	case <-n.stop:
		return true
	default:
		return false
	}
}

// next says what the start does next, and so what Ready waits for.
func (n *Node) next(what string) error {
	n.waits.Store(&what)
	if n.hooks.start != nil {
		return n.hooks.start(what)
	}
	return nil
}

// serving gives the shards once the node has been ready, and nil before.
func (n *Node) serving() []*dataShard {
	if shards := n.ready.Load(); shards != nil {
		return *shards
	}
	return nil
}

// notReady is ErrNotReady with the reason.
func (n *Node) notReady() error {
	if err := n.Ready(); err != nil {
		return err
	}
	return ErrNotReady // it has become ready meanwhile
}

// Ready is nil when every group of the node can serve, and else says which cannot yet. errors.Is ErrNotReady.
func (n *Node) Ready() error {
	if err := n.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	if n.stopping() {
		return fmt.Errorf("%w: the node is stopping", ErrNotReady)
	}
	shards := n.serving()
	if shards == nil {
		if what := n.waits.Load(); what != nil {
			return fmt.Errorf("%w: waiting for %s", ErrNotReady, *what)
		}
		return ErrNotReady
	}
	if !n.meta.group.Leads() {
		return fmt.Errorf("%w: group meta has no leader", ErrNotReady)
	}
	for _, s := range shards {
		if !s.group.Leads() {
			return fmt.Errorf("%w: group %s has no leader", ErrNotReady, s.name)
		}
	}
	return nil
}

// Failed is closed when the node cannot go on: a group stopped for good, or the cluster is not the one it was
// started for. Err says why; the process should end.
func (n *Node) Failed() <-chan struct{} { return n.failed }

// Err is the reason for Failed, nil before.
func (n *Node) Err() error {
	select {
	case <-n.failed:
		return n.failure
	default:
		return nil
	}
}

// ID is the node's id.
func (n *Node) ID() string { return n.config.NodeID }

// Now is the node's clock, with what AdvanceClock added. The groups stamp by it, and those that lead have raised it to
// their log time, so it is never behind the log.
func (n *Node) Now() fsm.Time { return n.clock.Now() }

// AdvanceClock moves the node's clock forward; d is not negative. Holds that are due expire within a second.
// ErrNoTestClock without Config.TestClock.
func (n *Node) AdvanceClock(d time.Duration) error {
	if n.testClock == nil {
		return ErrNoTestClock
	}
	n.testClock.Advance(d)
	return nil
}
