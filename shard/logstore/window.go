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

	// appending is a lock, held while the end of the log changes; a prefix goes beside that. Lock order: appending, then mu. It is a
	// channel of capacity 1 because an append may hang, and close does not wait for it longer than the store lives.
	appending chan struct{}
	// mu guards the fields below.
	mu     sync.RWMutex
	span   span
	closed bool
}

func newWindow(held span, keepFrom func() uint64) window {
	return window{keepFrom: keepFrom, appending: make(chan struct{}, 1), span: held}
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

// close refuses further calls, after an append in flight unless the store fails meanwhile; it reports what the log had.
func (w *window) close(failed <-chan struct{}) (span, error) {
	select {
	case w.appending <- struct{}{}:
		defer w.release()
	case <-failed:
	}
	return w.shut()
}

// shut refuses further calls at once.
func (w *window) shut() (span, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return span{}, ErrClosed
	}
	w.closed = true
	return w.span, nil
}

func (w *window) release() { <-w.appending }

// append checks logs, has write store them, and moves the end.
func (w *window) append(logs []*raft.Log, write func() error) error {
	w.appending <- struct{}{}
	defer w.release()
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

// delete has apply remove what min to max covers of the log. For a prefix, apply is called with 0 as its start. A range that begins
// inside the log is a cut of its end, whatever a compaction that runs beside it leaves of its start.
func (w *window) delete(min, max uint64, apply func(min, max uint64) error) error {
	if done, err := w.deletePrefix(min, max, apply); done || err != nil {
		return err
	}
	w.appending <- struct{}{}
	defer w.release()
	from, to, err := w.cut(min, max)
	if err != nil || to == 0 {
		return err
	}
	return apply(from, to)
}

// cut takes min to max, which reaches the end of the log, out of the window and returns what to remove; to is 0 for nothing.
func (w *window) cut(min, max uint64) (from, to uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.span
	switch {
	case w.closed:
		return 0, 0, ErrClosed
	case held.first == 0 || min > max || min > held.last || max < held.first:
		return 0, 0, nil
	case max < held.last:
		return 0, 0, fmt.Errorf("%w: %d to %d of %d to %d", ErrRange, min, max, held.first, held.last)
	case min <= held.first:
		w.span = span{}
		return 0, held.last, nil
	}
	w.span.last = min - 1
	return min, held.last, nil
}

// deletePrefix removes a prefix that leaves a rest, beside appends; done is false if the range is not one.
func (w *window) deletePrefix(min, max uint64, apply func(min, max uint64) error) (done bool, err error) {
	limit := max
	if w.keepFrom != nil {
		// Asked before the lock, because it is the caller's code.
		limit = w.keepFrom()
		if limit > 0 {
			limit--
		}
	}
	prefix, err := w.shorten(min, max, &limit)
	if err != nil || !prefix || limit == 0 {
		return prefix, err
	}
	return true, apply(0, limit)
}

// shorten takes min to max out of the window if that is a prefix with a rest, but nothing behind limit; it sets limit to the last index
// to remove, 0 for none. Judging and taking are one step, so that a cut of the end beside it cannot make one of the other.
func (w *window) shorten(min, max uint64, limit *uint64) (prefix bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.span.first
	switch {
	case w.closed:
		return false, ErrClosed
	case first == 0 || min > first || max >= w.span.last:
		return false, nil
	}
	if max < *limit {
		*limit = max
	}
	if *limit < first {
		*limit = 0
		return true, nil
	}
	w.span.first = *limit + 1
	return true, nil
}
