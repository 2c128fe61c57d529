package shard

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/shard/snapshot"
)

// noExpiry is the next expiry while the machine has none.
const noExpiry = math.MaxInt64

// applied is what Apply answers to raft: one result per command, or why the machine stopped.
type applied[R any] struct {
	results []R
	err     error
}

// replica is the raft.FSM around the machine. After the machine failed once it applies and captures nothing more: a
// snapshot of a state that missed an entry would be a wrong state for ever.
type replica[R any] struct {
	machine Machine[R]
	metrics *metrics
	fail    func(error)
	rearm   func() // the next expiry is earlier than it was
	stop    <-chan struct{}

	now        atomic.Int64
	nextExpiry atomic.Int64
	index      atomic.Uint64 // of the last entry applied, not merely queued
	logBytes   atomic.Int64  // applied since the last capture that became a snapshot
	moved      broadcast     // index moved

	mu     sync.RWMutex // guards the machine: Apply, Capture and Restore write, Read reads
	failed error        // under mu
}

var (
	_ raft.FSM                = (*replica[int])(nil)
	_ raft.ConfigurationStore = (*replica[int])(nil)
)

// Apply gives an entry to the machine.
func (r *replica[R]) Apply(entry *raft.Log) any {
	began := time.Now()
	a := &applied[R]{}
	a.results, a.err = r.apply(entry)
	if a.err != nil {
		r.fail(a.err)
		return a
	}
	r.metrics.applySeconds.Observe(time.Since(began).Seconds())
	r.logBytes.Add(int64(len(entry.Data)))
	r.advance(entry.Index)
	return a
}

func (r *replica[R]) apply(entry *raft.Log) ([]R, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return nil, r.failed
	}
	results, err := applyEntry(r.machine, entry.Data)
	if err != nil {
		r.failed = fmt.Errorf("%w at log index %d, term %d: %w", ErrMachine, entry.Index, entry.Term, err)
		return nil, r.failed
	}
	r.publish()
	return results, nil
}

// applyEntry turns a panic into an error: half an entry may be applied, so the state must not be used again.
func applyEntry[R any](machine Machine[R], data []byte) (results []R, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return machine.ApplyEntry(data)
}

// publish copies what the other goroutines need out of the machine. The caller holds mu.
func (r *replica[R]) publish() {
	r.now.Store(int64(r.machine.Now()))
	next := int64(noExpiry)
	if at, ok := r.machine.NextExpiry(); ok {
		next = int64(at)
	}
	if next < r.nextExpiry.Swap(next) {
		r.rearm()
	}
}

// StoreConfiguration moves the applied index over configuration entries, so that a snapshot may be taken after one.
func (r *replica[R]) StoreConfiguration(index uint64, _ raft.Configuration) { r.advance(index) }

// Snapshot captures the state. It shares raft's goroutine with Apply, so nothing else happens here.
func (r *replica[R]) Snapshot() (raft.FSMSnapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return nil, r.failed
	}
	began := time.Now()
	view := &capturedState{capture: r.machine.Capture(), metrics: r.metrics, stop: r.stop}
	r.metrics.captureSeconds.Observe(time.Since(began).Seconds())
	bytes := r.logBytes.Load()
	view.persisted = func() { r.logBytes.Add(-bytes) }
	return view, nil
}

// Restore replaces the state with a snapshot that the leader sent. A failure after the machine took it is final: raft
// would go on as if the old state were there.
func (r *replica[R]) Restore(source io.ReadCloser) error {
	index, wrapped := uint64(0), source
	for {
		if reader, ok := wrapped.(*snapshot.Reader); ok {
			meta := reader.Meta()
			index = meta.Index
			break
		}
		w, ok := wrapped.(raft.ReadCloserWrapper)
		if !ok {
			break
		}
		wrapped = w.WrappedReadCloser()
	}
	taken, err := r.restore(source, index)
	if err != nil && taken {
		r.mu.Lock()
		r.failed = err
		r.mu.Unlock()
		r.fail(err)
	}
	return err
}

// restore reads a snapshot to its verified end. taken says that the machine holds the new state, whatever err says.
func (r *replica[R]) restore(source io.Reader, index uint64) (taken bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return false, r.failed
	}
	if err := r.machine.Restore(source); err != nil {
		return false, fmt.Errorf("restore: %w", err)
	}
	var rest [1]byte
	if n, err := io.ReadFull(source, rest[:]); n != 0 || !errors.Is(err, io.EOF) {
		return true, fmt.Errorf("%w: restore of index %d: no verified end where the machine stopped reading: %v",
			ErrMachine, index, err)
	}
	r.publish()
	r.advance(index)
	return true, nil
}

func (r *replica[R]) read(fn func()) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	fn()
}

func (r *replica[R]) logTime() fsm.Time { return fsm.Time(r.now.Load()) }

func (r *replica[R]) advance(index uint64) {
	r.index.Store(index)
	r.moved.notify()
}

// capturedState is a capture on its way to disk.
type capturedState struct {
	capture   Capture
	metrics   *metrics
	persisted func()
	stop      <-chan struct{}
	once      sync.Once
}

// Persist writes the capture. It runs beside Apply. Raft closes or cancels the sink.
func (c *capturedState) Persist(sink raft.SnapshotSink) error {
	began := time.Now()
	if _, err := c.capture.WriteTo(stoppableWriter{sink, c.stop}); err != nil {
		return fmt.Errorf("write capture: %w", err)
	}
	if err := sink.Close(); err != nil {
		return err
	}
	c.metrics.persistSeconds.Observe(time.Since(began).Seconds())
	c.persisted()
	return nil
}

// Release lets go of the capture; raft may call it more than once.
func (c *capturedState) Release() { c.once.Do(c.capture.Release) }

// stoppableWriter ends a long write when the group stops.
type stoppableWriter struct {
	io.Writer
	stop <-chan struct{}
}

func (w stoppableWriter) Write(p []byte) (int, error) {
	select {
	case <-w.stop:
		return 0, ErrClosed
	default:
		return w.Writer.Write(p)
	}
}
