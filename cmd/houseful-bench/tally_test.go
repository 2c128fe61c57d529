package main

import (
	"sync"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   outcome
		code   string
	}{
		{201, `{"id":"BMS-1"}`, outcomeDone, ""},
		{304, ``, outcomeDone, ""},
		{409, `{"error":"SEAT_UNAVAILABLE","message":"…"}`, outcomeRefused, "SEAT_UNAVAILABLE"},
		{404, `<html>`, outcomeRefused, "HTTP_404"},
		{503, `{"error":"OVERLOADED","details":{"outcome":"not_applied"}}`, outcomeNotApplied, "OVERLOADED"},
		{503, `{"error":"UNAVAILABLE","details":{"outcome":"unknown"}}`, outcomeUnknown, "UNAVAILABLE"},
		{503, ``, outcomeUnknown, "HTTP_503"},
		{500, `{"error":"INTERNAL"}`, outcomeUnknown, "INTERNAL"},
	} {
		tally := newTally()
		answer := response{status: c.status, body: []byte(c.body)}
		if got := tally.answered(&answer); got != c.want {
			t.Errorf("%d %s: outcome %d, want %d", c.status, c.body, got, c.want)
		}
		counted := map[outcome]map[string]int64{
			outcomeRefused: tally.Refused, outcomeNotApplied: tally.NotApplied, outcomeUnknown: tally.Unknown,
		}[c.want]
		if c.want == outcomeDone && tally.Done != 1 || c.want != outcomeDone && counted[c.code] != 1 {
			t.Errorf("%d %s: counted as %+v", c.status, c.body, tally)
		}
		total := newTally()
		total.merge(tally)
		total.merge(tally)
		if total.Done+total.others() != 2 || total.Statuses[c.status] != 2 {
			t.Errorf("merged twice: %+v", total)
		}
	}
}

// TestRecorder merges what many workers bring, and loses nothing that is out of range.
func TestRecorder(t *testing.T) {
	r := newRecorder(2)
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() {
			b := batch{recorder: r}
			for i := range 1000 {
				b.record(sample{step: worker % 2, latency: time.Duration(i+1) * time.Millisecond, done: i%10 != 0})
			}
			b.record(sample{step: worker % 2, latency: time.Hour, done: true})
			b.record(sample{step: worker % 2, latency: -time.Second, done: true})
			b.flush()
		})
	}
	workers.Wait()
	if got := r.done.Load(); got != 8*902 {
		t.Errorf("%d done", got)
	}
	for _, h := range r.steps {
		if h.TotalCount() != 4*1002 {
			t.Errorf("%d latencies", h.TotalCount())
		}
		if p50 := time.Duration(h.ValueAtQuantile(50)); p50 < 495*time.Millisecond || p50 > 505*time.Millisecond {
			t.Errorf("p50 is %v", p50)
		}
		if h.Max() < int64(latencyHighest) {
			t.Errorf("max is %v", time.Duration(h.Max()))
		}
	}
}

func TestNewSpread(t *testing.T) {
	s := newSpread([]float64{60, 50, 70, 10}, []float64{100, 100, 100, 0})
	if len(s.Rounds) != 3 || s.Median != 0.6 || s.Min != 0.5 || s.Max != 0.7 {
		t.Errorf("%+v", s)
	}
	if s = newSpread([]float64{60, 50}, []float64{100, 100}); s.Median != 0.55 {
		t.Errorf("%+v", s)
	}
	if s = newSpread(nil, nil); s.Median != 0 {
		t.Errorf("%+v", s)
	}
}
