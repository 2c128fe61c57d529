package shard

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/houseful/houseful/fsm"
)

// Clock proposes times for log entries. It may step back; log time does not. Its methods may be called by many at once.
type Clock interface {
	Now() fsm.Time
	// Raise makes the clock go on from t if it is behind. A group that starts to lead raises it to log time: a log that
	// is ahead would stand still otherwise, and nothing in it expire, until the clock has caught up.
	Raise(t fsm.Time)
}

const (
	// clockSampleInterval is how long a reading of the wall clock is carried on by the monotonic clock.
	clockSampleInterval = time.Second
	// clockSlew is the part of passing time that a clock ahead of the wall clock leaves out: 5 ms a second. A hold is
	// then late by no more than that part of its length.
	clockSlew = 200
)

// SystemClock is the wall clock, sampled against the monotonic clock: between two samples time runs evenly. A wall clock
// that was set forward is followed at the next sample. One that was set back, or is behind a log, is waited for by
// running a little slower: time never goes back and never stands still.
type SystemClock struct {
	start time.Time // carries the monotonic reading everything is measured from
	wall  func() time.Time

	reading atomic.Pointer[clockReading]
}

// clockReading is the time at one moment, and how it goes on from there.
type clockReading struct {
	taken time.Duration // since the clock's start, monotonic
	time  int64         // microseconds since 1970: nanoseconds would end in 2262
	slow  bool          // the wall clock is behind
}

func (r *clockReading) at(elapsed time.Duration) int64 {
	passed := (elapsed - r.taken).Microseconds()
	if r.slow {
		passed -= passed / clockSlew
	}
	return r.time + passed
}

// NewSystemClock samples the wall clock and gives a clock that follows it.
func NewSystemClock() *SystemClock { return newSystemClock(time.Now) }

func newSystemClock(wall func() time.Time) *SystemClock {
	c := &SystemClock{start: time.Now(), wall: wall}
	c.reading.Store(&clockReading{time: wall().UnixMicro()})
	return c
}

// Now gives the time, taking a new sample when the last one is old.
func (c *SystemClock) Now() fsm.Time { return c.at(time.Since(c.start)) }

// Raise makes the clock go on from t if it is behind.
func (c *SystemClock) Raise(t fsm.Time) { c.raise(t, time.Since(c.start)) }

func (c *SystemClock) at(elapsed time.Duration) fsm.Time {
	r := c.reading.Load()
	if elapsed-r.taken >= clockSampleInterval {
		r = c.sample(r, elapsed)
	}
	return fsm.Time(r.at(elapsed) / 1000)
}

// sample replaces the reading old, unless somebody else has just done so, and gives the newest.
func (c *SystemClock) sample(old *clockReading, elapsed time.Duration) *clockReading {
	wall := c.wall().UnixMicro()
	next := &clockReading{taken: elapsed, time: max(old.at(elapsed), wall)}
	// Less is let be: to leave it out would put the clock behind, and have it jump at the next sample.
	next.slow = next.time-wall > (clockSampleInterval / clockSlew).Microseconds()
	if c.reading.CompareAndSwap(old, next) {
		return next
	}
	return c.reading.Load()
}

func (c *SystemClock) raise(t fsm.Time, elapsed time.Duration) {
	raised := &clockReading{taken: elapsed, time: int64(min(t, fsm.TimeMax)) * 1000}
	for {
		r := c.reading.Load()
		if r.at(elapsed) >= raised.time || c.reading.CompareAndSwap(r, raised) {
			return
		}
	}
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

// Raise makes the clock go on from t if it is behind: an advance that a restart forgot is in the log.
func (c *TestClock) Raise(t fsm.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if behind := t - c.Now(); behind > 0 {
		c.offset.Add(int64(behind))
	}
}
