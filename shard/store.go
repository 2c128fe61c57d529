package shard

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/houseful/houseful/shard/snapshot"
)

// storeWatch knows how long the store call under way has taken, and whether raft's goroutines run.
//
// Raft panics, on its own goroutine, when it cannot read an entry that is committed or write its term. A process that
// falls over takes the node's other groups with it and says little, so once raft runs a failed call records why the
// group stops and ends the calling goroutine of raft: its deferred functions answer what is in flight.
type storeWatch struct {
	running atomic.Bool
	since   time.Time                   // what the calls' times count from, monotonic: a wall clock that steps is no hung disk
	began   [storeCallsMax]atomic.Int64 // nanoseconds after since of the calls under way; 0: free
}

// storeCallsMax is the most store calls watched at once: raft's main goroutine and its snapshots make one each.
const storeCallsMax = 4

func (w *storeWatch) start() { w.running.Store(true) }

// call runs a store call that is watched.
func (w *storeWatch) call(fn func() error) error {
	now := max(time.Since(w.since).Nanoseconds(), 1)
	for i := range w.began {
		if w.began[i].CompareAndSwap(0, now) {
			defer w.began[i].Store(0)
			break
		}
	}
	return fn()
}

// longest says how long the oldest call under way has taken.
func (w *storeWatch) longest(now time.Time) (longest time.Duration) {
	for i := range w.began {
		if began := w.began[i].Load(); began != 0 {
			longest = max(longest, now.Sub(w.since)-time.Duration(began))
		}
	}
	return longest
}

// guardedLog is the log store as raft sees it: a write that fails or rot that is met stops the group, and compaction
// leaves what the previous snapshot needs.
type guardedLog struct {
	raft.LogStore
	snapshots *snapshot.Store
	fail      func(error)
	watch     storeWatch
	unread    error // what GetLog met before raft ran, which raft would report by its text only
}

// GetLog reads an entry. Not found is raft's to handle unless the entry must be there.
func (l *guardedLog) GetLog(index uint64, entry *raft.Log) error {
	err := l.LogStore.GetLog(index, entry)
	if err == nil {
		return nil
	}
	if errors.Is(err, raft.ErrLogNotFound) && !l.mustHold(index) {
		return err
	}
	err = fmt.Errorf("%w: read index %d: %w", ErrStore, index, err)
	if l.watch.running.Load() {
		l.fail(err)
		runtime.Goexit()
	}
	l.unread = err
	return err
}

// mustHold says whether index is above what compaction may remove and not above the log's end.
func (l *guardedLog) mustHold(index uint64) bool {
	last, err := l.LogStore.LastIndex()
	return err == nil && index <= last && index > l.snapshots.Newest()
}

// StoreLog writes one entry.
func (l *guardedLog) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// StoreLogs writes entries. A store that failed once is not trusted again: what it wrote is not known.
func (l *guardedLog) StoreLogs(entries []*raft.Log) error {
	err := l.watch.call(func() error { return l.LogStore.StoreLogs(entries) })
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w: write %d entries from index %d: %w", ErrStore, len(entries), entries[0].Index, err)
	if l.watch.running.Load() {
		l.fail(err)
	}
	return err
}

// IsMonotonic forwards what the store says; raft looks for it on the store that it was given.
func (l *guardedLog) IsMonotonic() bool {
	m, ok := l.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

// DeleteRange removes entries. Only compaction leaves the end of the log in place; a conflicting suffix and a log that
// an installed snapshot replaced go up to the last entry.
func (l *guardedLog) DeleteRange(first, last uint64) error {
	end, err := l.LogStore.LastIndex()
	if err != nil {
		return fmt.Errorf("%w: last index: %w", ErrStore, err)
	}
	if last < end {
		last = min(last, l.snapshots.KeepFrom()-1)
		if last < first {
			return nil
		}
	}
	err = l.watch.call(func() error { return l.LogStore.DeleteRange(first, last) })
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w: delete index %d to %d: %w", ErrStore, first, last, err)
	if l.watch.running.Load() {
		l.fail(err)
	}
	return err
}

// guardedStable is the store of term and vote as raft sees it. Raft panics when it cannot write its term.
type guardedStable struct {
	raft.StableStore
	watch *storeWatch
	fail  func(error)
}

// Set stores a value.
func (s *guardedStable) Set(key, value []byte) error {
	return s.guard(key, func() error { return s.StableStore.Set(key, value) })
}

// SetUint64 stores a number.
func (s *guardedStable) SetUint64(key []byte, value uint64) error {
	return s.guard(key, func() error { return s.StableStore.SetUint64(key, value) })
}

func (s *guardedStable) guard(key []byte, write func() error) error {
	err := s.watch.call(write)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w: write %s: %w", ErrStore, key, err)
	if s.watch.running.Load() {
		s.fail(err)
		runtime.Goexit()
	}
	return err
}

// isNotFound tells a stable store's answer for a missing key. Raft itself goes by this text: the interface has no
// sentinel.
func isNotFound(err error) bool { return err.Error() == "not found" }
