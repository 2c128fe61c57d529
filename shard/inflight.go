package shard

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// batch is the commands of one entry, on their way through raft.
type batch[R any] struct {
	waiters []*waiter[R]
	future  raft.ApplyFuture
	began   time.Time
}

// inflight lists the batches whose entries raft may have. At most EntriesInFlightMax.
type inflight[R any] struct {
	mu      sync.Mutex
	batches []*batch[R]
	closed  bool
}

// add puts a batch on the list before raft sees it. false: the group gave up, its callers are answered not applied.
func (f *inflight[R]) add(b *batch[R]) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		for _, w := range b.waiters {
			w.abandoned = true
			w.fail(ErrClosed)
		}
		return false
	}
	f.batches = append(f.batches, b)
	return true
}

// remove takes a batch off the list. From then on only the caller answers its waiters.
func (f *inflight[R]) remove(b *batch[R]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = slices.DeleteFunc(f.batches, func(other *batch[R]) bool { return other == b })
}

// sweep answers what waits past its deadline: whether it is applied is not known.
func (f *inflight[R]) sweep(now time.Time) (swept int) {
	return f.abandon(func(w *waiter[R]) bool { return w.late(now) })
}

// close answers everything and refuses further batches.
func (f *inflight[R]) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.abandon(func(*waiter[R]) bool { return true })
}

func (f *inflight[R]) abandon(which func(*waiter[R]) bool) (abandoned int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.batches {
		for _, w := range b.waiters {
			if !w.abandoned && which(w) {
				w.abandoned = true
				w.fail(ErrUnknown)
				abandoned++
			}
		}
	}
	return abandoned
}
