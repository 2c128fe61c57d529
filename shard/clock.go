package shard

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/houseful/houseful/fsm"
)

// Clock proposes times for log entries. It may step back; log time does not. Now may be called by many at once.
type Clock interface {
	Now() fsm.Time
}

// clockSampleInterval is how long a reading of the wall clock is carried on by the monotonic clock.
const clockSampleInterval = time.Second

// SystemClock is the wall clock, sampled against the monotonic clock: between two samples time runs evenly, and a step
// of the wall clock is followed at the next sample.
type SystemClock struct {
	start time.Time // carries the monotonic reading everything is measured from
	wall  func() time.Time

	sampledAt atomic.Int64 // monotonic nanoseconds since start
	offset    atomic.Int64 // wall clock minus monotonic, in nanoseconds
}

// NewSystemClock samples the wall clock and gives a clock that follows it.
func NewSystemClock() *SystemClock { return newSystemClock(time.Now) }

func newSystemClock(wall func() time.Time) *SystemClock {
	c := &SystemClock{start: time.Now(), wall: wall}
	c.sample(0)
	return c
}

// Now gives the time, taking a new sample when the last one is old.
func (c *SystemClock) Now() fsm.Time { return c.at(time.Since(c.start)) }

func (c *SystemClock) at(elapsed time.Duration) fsm.Time {
	last := c.sampledAt.Load()
	if int64(elapsed)-last >= int64(clockSampleInterval) && c.sampledAt.CompareAndSwap(last, int64(elapsed)) {
		c.sample(elapsed)
	}
	return fsm.Time((c.offset.Load() + int64(elapsed)) / int64(time.Millisecond))
}

func (c *SystemClock) sample(elapsed time.Duration) {
	c.offset.Store(c.wall().UnixNano() - int64(elapsed))
}

// TestClock is another clock plus an offset that can be advanced, never turned back.
type TestClock struct {
	base Clock

	mu     sync.Mutex
	offset atomic.Int64 // milliseconds; written under mu
}

// NewTestClock puts an adjustable offset over base.
func NewTestClock(base Clock) *TestClock { return &TestClock{base: base} }

// Now gives the base's time plus all that was advanced.
func (c *TestClock) Now() fsm.Time { return c.base.Now() + fsm.Time(c.offset.Load()) }

// Advance moves the clock forward and gives the new time. A negative d is ignored.
func (c *TestClock) Advance(d time.Duration) fsm.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d > 0 {
		c.offset.Add(d.Milliseconds())
	}
	return c.Now()
}
