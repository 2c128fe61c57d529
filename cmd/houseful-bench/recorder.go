package main

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// newHistogram makes an empty histogram of nanoseconds.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(latencyLowest), int64(latencyHighest), latencyDigits)
}

// recorder gathers the latencies of a slot, one histogram a step of the workload. Workers bring them in batches.
type recorder struct {
	mutex sync.Mutex // guards steps
	steps []*hdrhistogram.Histogram

	done atomic.Int64 // completed in the measured part; behind by what the workers still hold
}

func newRecorder(steps int) *recorder {
	r := &recorder{steps: make([]*hdrhistogram.Histogram, steps)}
	for i := range r.steps {
		r.steps[i] = newHistogram()
	}
	return r
}

// sample is one measured request.
type sample struct {
	step    int
	latency time.Duration
	done    bool // else its outcome is unknown: its wait counts as latency, not as work done
}

// batch is a worker's part of the recorder.
type batch struct {
	recorder *recorder
	samples  [latencyBatch]sample
	count    int
}

// record notes one request; flush must follow the last one.
func (b *batch) record(s sample) {
	b.samples[b.count] = s
	if b.count++; b.count == len(b.samples) {
		b.flush()
	}
}

// flush hands over what was noted.
func (b *batch) flush() {
	done := int64(0)
	b.recorder.mutex.Lock()
	for _, s := range b.samples[:b.count] {
		recordLatency(b.recorder.steps[s.step], s.latency, 1)
		if s.done {
			done++
		}
	}
	b.recorder.mutex.Unlock()
	b.recorder.done.Add(done)
	b.count = 0
}

// recordLatency clamps to the histogram's range: nothing is dropped because it took too long.
func recordLatency(histogram *hdrhistogram.Histogram, latency time.Duration, count int64) {
	value := min(max(int64(latency), 0), int64(latencyHighest))
	if err := histogram.RecordValues(value, count); err != nil {
		panic("a clamped latency is outside the histogram's range: " + err.Error())
	}
}
