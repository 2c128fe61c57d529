package cluster

import (
	"sync/atomic"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/shard"
)

// logClock remembers log time where it runs ahead of this node's clock (a clock that was set back, a leader with a
// faster one), so that commands get a notAfter that the log has not passed yet.
type logClock struct{ latest atomic.Int64 }

// saw notes the log time of a result.
func (c *logClock) saw(t fsm.Time, clock shard.Clock) {
	if t <= clock.Now() {
		return // the usual case writes nothing
	}
	for {
		latest := c.latest.Load()
		if int64(t) <= latest || c.latest.CompareAndSwap(latest, int64(t)) {
			return
		}
	}
}

// now is the latest log time seen ahead of the clock.
func (c *logClock) now() fsm.Time { return fsm.Time(c.latest.Load()) }
