package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// slotShape is how one slot is driven.
type slotShape struct {
	ramp     time.Duration // unmeasured, first
	measured time.Duration
	rate     float64 // requests per second of an open loop; 0: closed loop
}

// slotResult is what one slot of one side gave.
type slotResult struct {
	seconds   float64 // the measured part
	done      int64   // completed in it
	requests  int64   // sent in the whole slot, ramp and all
	bytes     int64   // answered in the whole slot
	latencies []*hdrhistogram.Histogram
	tally     *tally
	unsent    int64         // of an open loop: due in the slot, no connection free before its end
	serverCPU time.Duration // of the server's process and of this one, in the whole slot; 0 when unknown
	clientCPU time.Duration
	ranOut    bool // the workload had no more requests before the time was over
}

// rate gives requests done per second.
func (r *slotResult) rate() float64 {
	if r.seconds <= 0 {
		return 0
	}
	return float64(r.done) / r.seconds
}

// slot drives one workload against one server for a while, with a goroutine for each connection. Times are
// nanoseconds since it began: monotonic, and cheaper to read and compare than time.Time.
type slot struct {
	began    time.Time
	from     int64 // the measured part begins
	end      atomic.Int64
	deadline time.Time
	recorder *recorder
	pacer    *pacer // nil: closed loop
	ranOut   atomic.Bool
}

// slotWorker is one connection's part in a slot.
type slotWorker struct {
	slot       *slot
	connection *connection
	session    session
	batch      batch
	tally      *tally
	requests   int64
	bytes      int64
	buffer     []byte
	answer     response
}

// runSlot drives load over the connections. It returns when every request it sent is answered or timed out.
func runSlot(ctx context.Context, shape slotShape, load workload, side sideKind, connections []*connection, live *progress) *slotResult {
	s := &slot{began: time.Now(), from: int64(shape.ramp), recorder: newRecorder(len(load.steps()))}
	s.end.Store(int64(shape.ramp + shape.measured))
	s.deadline = s.began.Add(shape.ramp + shape.measured + answerTimeout)
	live.follow(s)

	for _, c := range connections {
		c.setDeadline(s.deadline)
	}
	stopInterrupt := context.AfterFunc(ctx, func() {
		s.end.Store(0)
		for _, c := range connections {
			c.interrupt()
		}
	})
	defer stopInterrupt()

	paceCtx, stopPacer := context.WithCancel(ctx)
	defer stopPacer()
	var pacing sync.WaitGroup
	if shape.rate > 0 {
		s.pacer = newPacer(s.began, shape.rate, shape.ramp+shape.measured, len(connections))
		pacing.Go(func() { s.pacer.run(paceCtx) })
	}
	workers := s.startWorkers(ctx, load, side, connections)
	stopPacer()
	pacing.Wait()
	return s.collect(workers)
}

// startWorkers runs a worker for each connection, and waits for all of them.
func (s *slot) startWorkers(ctx context.Context, load workload, side sideKind, connections []*connection) []*slotWorker {
	workers := make([]*slotWorker, len(connections))
	var running sync.WaitGroup
	for i, c := range connections {
		w := &slotWorker{slot: s, connection: c, session: load.session(side, i), tally: newTally(), batch: batch{recorder: s.recorder}}
		workers[i] = w
		running.Go(func() { w.run(ctx) })
	}
	running.Wait()
	return workers
}

// collect adds up the workers.
func (s *slot) collect(workers []*slotWorker) *slotResult {
	result := &slotResult{tally: newTally(), latencies: s.recorder.steps, ranOut: s.ranOut.Load()}
	for _, w := range workers {
		result.tally.merge(w.tally)
		result.requests += w.requests
		result.bytes += w.bytes
	}
	result.seconds = max(0, time.Duration(s.end.Load()-s.from).Seconds())
	result.done = s.recorder.done.Load()
	if s.pacer != nil && !result.ranOut {
		result.unsent = s.pacer.unsent(s.recorder, s.from, s.end.Load())
	}
	return result
}

// now gives the time in the slot.
func (s *slot) now() int64 { return int64(time.Since(s.began)) }

// run sends requests until the slot is over. One dial or exchange fails at most until the deadline.
func (w *slotWorker) run(ctx context.Context) {
	defer w.batch.flush()
	dialFailures := 0
	for w.slot.now() < w.slot.end.Load() {
		if err := w.connection.connected(ctx); err != nil {
			if ctx.Err() != nil {
				return
			}
			w.tally.NotApplied[transportCode(err)]++
			if dialFailures++; dialFailures == dialFailuresMax {
				return
			}
			continue
		}
		dialFailures = 0
		if !w.one() {
			return
		}
	}
}

// one sends the next request and takes its answer. It says whether there may be another.
func (w *slotWorker) one() bool {
	intended := int64(-1)
	if w.slot.pacer != nil {
		var ok bool
		if intended, ok = w.slot.pacer.next(); !ok {
			return false
		}
	}
	request, step, ok := w.session.next(w.buffer[:0])
	if !ok {
		w.slot.runOut()
		return false
	}
	w.buffer = request
	w.requests++
	if intended < 0 {
		intended = w.slot.now()
	}
	err := w.connection.exchange(request, &w.answer)
	finished := w.slot.now()
	result := outcomeUnknown
	if err != nil {
		w.tally.Unknown[transportCode(err)]++
		w.answer = response{}
	} else {
		result = w.tally.answered(&w.answer)
	}
	w.bytes += w.answer.bytes
	w.session.answered(result, &w.answer)
	if w.counts(intended, finished, result) {
		w.batch.record(sample{step: step, latency: time.Duration(finished - intended), done: result == outcomeDone})
	}
	return true
}

// counts says whether a request belongs to what is measured. A refusal does not: it would flatter the percentiles. Of
// a closed loop, what ends in the measured part counts, so that the rate is exact; of an open loop, what was due in
// it, however late it came: leaving those out is the coordinated omission that an open loop is there to avoid.
func (w *slotWorker) counts(intended, finished int64, result outcome) bool {
	if result == outcomeRefused || result == outcomeNotApplied {
		return false
	}
	if w.slot.pacer != nil {
		return intended >= w.slot.from && intended < w.slot.end.Load()
	}
	return finished >= w.slot.from && (finished < w.slot.end.Load() || result == outcomeUnknown)
}

// runOut ends the slot now because the workload has nothing left to ask.
func (s *slot) runOut() {
	if s.ranOut.CompareAndSwap(false, true) {
		s.end.Store(min(s.end.Load(), s.now()))
	}
}
