package shard

import (
	"fmt"
	"time"
)

// sweep ends waits whose deadline passed, so that no call needs a timer of its own, and watches for a disk that hangs:
// raft's heartbeats would go on and keep the lead for ever.
func (g *Group[R]) sweep() {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			g.queue.sweep(now)
			g.inflight.sweep(now)
			if took := g.log.watch.longest(now); took > g.config.StoreTimeout {
				g.fail(fmt.Errorf("%w: a call has taken %v", ErrStoreHung, took.Round(time.Millisecond)))
			}
		case <-g.givenUp:
			return
		}
	}
}
