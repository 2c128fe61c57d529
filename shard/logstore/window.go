package logstore

import (
	"fmt"
	"sync"

	"github.com/hashicorp/raft"
)

// span is a contiguous range of log indexes; first 0 means empty.
type span struct{ first, last uint64 }

func (s span) holds(index uint64) bool { return index != 0 && index >= s.first && index <= s.last }

// window is the part of a handle that both stores share: which indexes the log has, and what may change them. It never promises more
// than the store under it holds: it shrinks before a deletion is applied and grows after a write is.
type window struct {
	keepFrom func() uint64

	// appending is held while the end of the log changes; a prefix goes beside that. Lock order: appending, then mu.
	appending sync.Mutex
	// mu guards the fields below.
	mu     sync.RWMutex
	span   span
	closed bool
}

// IsMonotonic is true: gaps are refused, so raft deletes the whole log when a snapshot moves it ahead.
func (w *window) IsMonotonic() bool { return true }

// FirstIndex returns the first index in the log, 0 for none.
func (w *window) FirstIndex() (uint64, error) {
	current, err := w.current()
	return current.first, err
}

// LastIndex returns the last index in the log, 0 for none.
func (w *window) LastIndex() (uint64, error) {
	current, err := w.current()
	return current.last, err
}

func (w *window) current() (span, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return span{}, ErrClosed
	}
	return w.span, nil
}

func (w *window) holds(index uint64) (bool, error) {
	current, err := w.current()
	return current.holds(index), err
}

// close refuses further calls; it reports what the log had.
func (w *window) close() (span, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return span{}, ErrClosed
	}
	w.closed = true
	return w.span, nil
}

func (w *window) set(s span) {
	w.mu.Lock()
	w.span = s
	w.mu.Unlock()
}

// append checks logs, has write store them, and moves the end.
func (w *window) append(logs []*raft.Log, write func() error) error {
	w.appending.Lock()
	defer w.appending.Unlock()
	current, err := w.current()
	if err != nil || len(logs) == 0 {
		return err
	}
	if err := checkAppend(current, logs); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.span.first == 0 {
		w.span.first = logs[0].Index
	}
	w.span.last = logs[len(logs)-1].Index
	return nil
}

func checkAppend(current span, logs []*raft.Log) error {
	next := current.last + 1
	if current.first == 0 {
		next = logs[0].Index
	}
	for _, log := range logs {
		if log.Index != next || log.Index == 0 {
			return fmt.Errorf("%w: got index %d, want %d", ErrGap, log.Index, next)
		}
		if err := checkLogSize(log); err != nil {
			return err
		}
		next++
	}
	return nil
}

// delete has apply remove what min to max covers of the log. For a prefix, apply is called with 0 as its start.
func (w *window) delete(min, max uint64, apply func(min, max uint64) error) error {
	if done, err := w.deletePrefix(min, max, apply); done || err != nil {
		return err
	}
	w.appending.Lock()
	defer w.appending.Unlock()
	current, err := w.current()
	switch {
	case err != nil:
		return err
	case current.first == 0 || min > max || min > current.last || max < current.first:
		return nil
	case max < current.last:
		return fmt.Errorf("%w: %d to %d of %d to %d", ErrRange, min, max, current.first, current.last)
	case min <= current.first:
		w.set(span{})
		return apply(0, current.last)
	}
	w.set(span{first: current.first, last: min - 1})
	return apply(min, current.last)
}

// deletePrefix removes a prefix that leaves a rest, beside appends; done is false if the range is not one.
func (w *window) deletePrefix(min, max uint64, apply func(min, max uint64) error) (done bool, err error) {
	if w.keepFrom != nil {
		// Asked before the lock, because it is the caller's code.
		if keep := w.keepFrom(); max >= keep {
			clamped, err := w.clamps(min, max)
			if err != nil || clamped && keep == 0 {
				return clamped, err
			}
			if clamped {
				max = keep - 1
			}
		}
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return false, ErrClosed
	}
	first := w.span.first
	if first == 0 || min > first || max >= w.span.last {
		w.mu.Unlock()
		return false, nil
	}
	if max < first {
		w.mu.Unlock()
		return true, nil
	}
	w.span.first = max + 1
	w.mu.Unlock()
	return true, apply(0, max)
}

// clamps reports whether min to max is a prefix with a rest, which keepFrom may shorten. The end only moves away meanwhile: raft does
// not cut a suffix and compact at once.
func (w *window) clamps(min, max uint64) (bool, error) {
	current, err := w.current()
	return current.first != 0 && min <= current.first && max < current.last, err
}
