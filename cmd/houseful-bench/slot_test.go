package main

import (
	"context"
	"io"
	"testing"
	"time"
)

// newTestProgress draws nothing.
func newTestProgress(t *testing.T) *progress {
	t.Helper()
	p := newProgress(io.Discard)
	t.Cleanup(p.close)
	return p
}

// fixedWorkload asks the same count requests, or without end when count is negative.
type fixedWorkload struct {
	request []byte
	left    chan struct{} // nil: without end
}

func (w *fixedWorkload) steps() []step                      { return []step{{name: "fixed"}} }
func (w *fixedWorkload) stock(context.Context, int64) error { return nil }
func (w *fixedWorkload) session(sideKind, int) session      { return w }
func (w *fixedWorkload) answered(outcome, *response)        {}

func (w *fixedWorkload) next(dst []byte) ([]byte, int, bool) {
	if w.left != nil {
		if _, ok := <-w.left; !ok {
			return dst, 0, false
		}
	}
	return append(dst, w.request...), 0, true
}

var getReady = []byte("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")

func TestClosedLoop(t *testing.T) {
	connections := newConnections(startFake(t).address, 4)
	defer hangUpAll(connections)
	shape := slotShape{ramp: 20 * time.Millisecond, measured: 100 * time.Millisecond}
	result := runSlot(t.Context(), shape, &fixedWorkload{request: getReady}, sideReal, connections, newTestProgress(t))
	latencies := result.latencies[0]
	if result.done == 0 || latencies.TotalCount() != result.done || result.requests < result.done || result.seconds != 0.1 {
		t.Fatalf("%+v, %d latencies", result, latencies.TotalCount())
	}
	if result.tally.Done != result.requests || result.tally.others() != 0 || result.tally.Statuses[200] != result.requests {
		t.Fatalf("%+v", result.tally)
	}
}

// TestClosedLoopRunsOut ends the slot when the workload has nothing left, and divides by the time it took.
func TestClosedLoopRunsOut(t *testing.T) {
	connections := newConnections(startFake(t).address, 2)
	defer hangUpAll(connections)
	load := &fixedWorkload{request: getReady, left: make(chan struct{}, 50)}
	for range cap(load.left) {
		load.left <- struct{}{}
	}
	close(load.left)
	result := runSlot(t.Context(), slotShape{measured: time.Minute}, load, sideReal, connections, newTestProgress(t))
	if !result.ranOut || result.requests != 50 || result.seconds <= 0 || result.seconds > 30 {
		t.Fatalf("%+v", result)
	}
}

// TestOpenLoopCountsTheWait: while the server stalls, requests that are due wait for a connection. Their wait belongs to
// their latency; a closed loop's figures would show a single slow request.
func TestOpenLoopCountsTheWait(t *testing.T) {
	fake := startFake(t)
	w := newTestHold(t, false)
	for _, path := range []string{"/shows/" + string(w.plan.appendShow(nil, 0)), "/shows/" + string(w.plan.appendShow(nil, 1))} {
		fake.objects[path] = true
	}
	connections := newConnections(fake.address, 1)
	defer hangUpAll(connections)
	const stall = 250 * time.Millisecond
	fake.stall.Store(int64(stall))
	shape := slotShape{measured: 500 * time.Millisecond, rate: 100}
	result := runSlot(t.Context(), shape, w, sideReal, connections, newTestProgress(t))
	latencies := result.latencies[0]
	if got := latencies.TotalCount(); got != 50 {
		t.Fatalf("%d latencies for 50 requests due", got)
	}
	if median := time.Duration(latencies.ValueAtQuantile(60)); median < 50*time.Millisecond {
		t.Errorf("half of the requests were due during the stall; the 60th percentile is %v", median)
	}
	if highest := time.Duration(latencies.Max()); highest < stall {
		t.Errorf("the longest wait is %v", highest)
	}
}

// TestOpenLoopUnsent counts what was due and never sent, with its wait so far.
func TestOpenLoopUnsent(t *testing.T) {
	fake := startFake(t)
	w := newTestHold(t, false)
	fake.objects["/shows/"+string(w.plan.appendShow(nil, 0))] = true
	connections := newConnections(fake.address, 1)
	defer hangUpAll(connections)
	fake.stall.Store(int64(300 * time.Millisecond))
	shape := slotShape{measured: 200 * time.Millisecond, rate: 100}
	result := runSlot(t.Context(), shape, w, sideReal, connections, newTestProgress(t))
	if result.unsent != 19 || result.latencies[0].TotalCount() != 20 || result.requests != 1 {
		t.Fatalf("%+v, %d latencies", result, result.latencies[0].TotalCount())
	}
}

func TestPacerSchedule(t *testing.T) {
	began := time.Now()
	p := newPacer(began, 2000, 100*time.Millisecond, 1)
	go p.run(t.Context())
	last := int64(-1)
	count := 0
	for {
		due, ok := p.next()
		if !ok {
			break
		}
		if now := int64(time.Since(began)); now < due {
			t.Fatalf("request %d came %v early", count, time.Duration(due-now))
		}
		if want := int64(count) * 500_000; due != want || due <= last {
			t.Fatalf("request %d is due at %d, want %d", count, due, want)
		}
		last = due
		count++
	}
	if count != 200 {
		t.Fatalf("%d requests", count)
	}
}

// TestSlotEndsWithContext ends at once although the server does not answer.
func TestSlotEndsWithContext(t *testing.T) {
	fake := startFake(t)
	w := newTestHold(t, false)
	fake.stall.Store(int64(time.Second))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	connections := newConnections(fake.address, 1)
	defer hangUpAll(connections)
	began := time.Now()
	result := runSlot(ctx, slotShape{measured: time.Minute}, w, sideReal, connections, newTestProgress(t))
	if took := time.Since(began); took > 900*time.Millisecond {
		t.Errorf("took %v", took)
	}
	if result.tally.Unknown["TIMEOUT"] != 1 {
		t.Errorf("an interrupted request is of unknown outcome: %+v", result.tally)
	}
}

// TestNobodyListens counts what was not sent as not applied, and ends.
func TestNobodyListens(t *testing.T) {
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	result := runSlot(t.Context(), slotShape{measured: time.Minute}, &fixedWorkload{request: getReady}, sideReal, newConnections(address, 1), newTestProgress(t))
	if result.requests != 0 || result.tally.NotApplied["CONNECTION_REFUSED"] != dialFailuresMax {
		t.Fatalf("%+v", result.tally)
	}
}
