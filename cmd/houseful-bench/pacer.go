package main

import (
	"context"
	"sync/atomic"
	"time"
)

// pacer is the clock of an open loop: request n is due at n/rate, whatever became of those before it. Any free
// connection takes the next one. Latency counts from the due time, so a request that found no free connection, or a
// pacer that woke late, shows in the percentiles instead of thinning out the load.
type pacer struct {
	began    time.Time
	interval float64 // nanoseconds
	total    int64   // due in the whole slot

	tickets chan int64 // due numbers; closed by run
	taken   atomic.Int64
}

// newPacer plans rate requests per second over length. ready is how many due requests may wait for a connection
// before the pacer stops to hand out more; that delays nothing that is not late already.
func newPacer(began time.Time, rate float64, length time.Duration, ready int) *pacer {
	return &pacer{
		began: began, interval: float64(time.Second) / rate, total: int64(length.Seconds() * rate),
		tickets: make(chan int64, ready),
	}
}

// due gives when request n is to be sent, in nanoseconds since the slot began.
func (p *pacer) due(n int64) int64 { return int64(float64(n) * p.interval) }

// run hands out requests as they become due, until all are out or ctx ends.
func (p *pacer) run(ctx context.Context) {
	defer close(p.tickets)
	for n := range p.total {
		for {
			early := time.Duration(p.due(n)) - time.Since(p.began)
			if early <= 0 {
				break
			}
			sleepPrecisely(min(early, progressInterval))
			if ctx.Err() != nil {
				return
			}
		}
		select {
		case p.tickets <- n:
		case <-ctx.Done():
			return
		}
	}
}

// next waits for a due request and gives its due time; false when there are no more.
func (p *pacer) next() (int64, bool) {
	n, ok := <-p.tickets
	if !ok {
		return 0, false
	}
	p.taken.Add(1)
	return p.due(n), true
}

// unsent counts the requests due in the measured part that no connection took before the end, and records the wait
// of each so far: a lower bound of its latency. Called when run and every worker are done.
func (p *pacer) unsent(into *recorder, from, end int64) int64 {
	left := int64(0)
	for n := p.taken.Load(); n < p.total; n++ { // tickets are taken in order
		if due := p.due(n); due >= from && due < end {
			recordLatency(into.steps[0], time.Duration(end-due), 1)
			left++
		}
	}
	return left
}
