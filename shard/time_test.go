package shard

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/houseful/houseful/fsm"
)

// setClock is a clock that shows what it is told, steps back included.
type setClock struct{ now atomic.Int64 }

func (c *setClock) Now() fsm.Time { return fsm.Time(c.now.Load()) }

// Log time never goes back: not when the clock does, not over a restart. M-14
func TestTimeNeverGoesBack(t *testing.T) {
	var clock setClock
	clock.now.Store(1_000_000)
	b := newBench(t, withConfig(func(c *Config) { c.Clock = &clock }))
	steps := []int64{1_000_000, 1_000_500, 900_000, 900_100, 1_000_600, 5}
	for _, now := range steps {
		clock.now.Store(now)
		b.must(command(commandAdd, uint64(now)))
	}
	if err := b.Snapshot(); err != nil {
		t.Fatal(err)
	}
	b.reopen()
	got := b.must(command(commandAdd, 0))
	if got.at != 1_000_600 {
		t.Fatalf("stamp %d after the restart", got.at)
	}
	want := []fsm.Time{1_000_000, 1_000_500, 1_000_500, 1_000_500, 1_000_600, 1_000_600, 1_000_600}
	if !slices.Equal(b.machine.times, want) {
		t.Fatalf("stamps %v, want %v", b.machine.times, want)
	}
}

// The pulse comes with no traffic, at most 100 ms late by wall clock, and the group is idle otherwise. M-13
func TestPulseWithoutTraffic(t *testing.T) {
	b := newBench(t)
	due := int64(b.config.Clock.Now()) + 150
	b.must(command(commandAlarm, uint64(due)))
	b.waitEnded(1)
	var at fsm.Time
	b.Read(func() { at = b.machine.now })
	if late := int64(at) - due; late < 0 || late > 1000 {
		t.Fatalf("pulse %d ms after its time", late)
	} else if late > 100 {
		t.Logf("pulse %d ms late", late)
	}
	entries := b.Status().LastIndex
	b.Read(func() {
		if b.machine.pulses != 1 {
			t.Errorf("%d pulses for one alarm", b.machine.pulses)
		}
	})
	b.must(command(commandAdd, 1))
	if got := b.Status().LastIndex; got != entries+1 {
		t.Fatalf("%d entries written while idle", got-entries-1)
	}
}

// A test clock that jumps brings the pulse at once; an earlier alarm wakes a loop that sleeps for a later one.
func TestPulseFollowsTheTestClock(t *testing.T) {
	clock := NewTestClock(NewSystemClock())
	b := newBench(t, withConfig(func(c *Config) { c.Clock = clock }))
	start := uint64(clock.Now())
	for _, minutes := range []uint64{60, 30, 10} {
		b.must(command(commandAlarm, start+minutes*60_000))
	}
	clock.Advance(10 * time.Minute)
	b.waitEnded(1)
	clock.Advance(time.Hour)
	b.waitEnded(3)
	b.reopen()
	b.must(command(commandAlarm, uint64(clock.Now())))
	b.waitEnded(4) // three of them in the replayed log
}

// What was due while the group was down is ended after the restart.
func TestPulseAfterRestart(t *testing.T) {
	clock := NewTestClock(NewSystemClock())
	b := newBench(t, withConfig(func(c *Config) { c.Clock = clock }))
	b.must(command(commandAlarm, uint64(clock.Now())+60_000))
	if err := b.Snapshot(); err != nil {
		t.Fatal(err)
	}
	b.close()
	clock.Advance(time.Hour)
	b.open()
	b.waitEnded(1)
}

// A machine whose pulse moves nothing is asked again with a growing pause, not in a busy loop.
func TestPulseThatMovesNothingBacksOff(t *testing.T) {
	b := newBench(t)
	b.must(command(commandStuck, 0))
	began := time.Now()
	b.must(command(commandAlarm, 1))
	eventually(t, "ten pulses", func() (done bool) {
		b.Read(func() { done = b.machine.pulses >= 10 })
		return done
	})
	if took := time.Since(began); took < 200*time.Millisecond {
		t.Fatalf("ten pulses in %v", took)
	}
}

func TestSystemClock(t *testing.T) {
	var wall atomic.Int64
	wall.Store(1_000_000)
	c := newSystemClock(func() time.Time { return time.UnixMilli(wall.Load()) })
	if got := c.at(0); got != 1_000_000 {
		t.Fatalf("starts at %d", got)
	}
	wall.Store(5_000_000) // a step is not seen before the next sample
	if got := c.at(500 * time.Millisecond); got != 1_000_500 {
		t.Fatalf("runs to %d", got)
	}
	if got := c.at(2 * time.Second); got != 5_000_000 {
		t.Fatalf("follows to %d", got)
	}
	if got := c.at(2500 * time.Millisecond); got != 5_000_500 {
		t.Fatalf("runs on to %d", got)
	}
	now := NewSystemClock().Now()
	if difference := time.Now().UnixMilli() - int64(now); difference < 0 || difference > 5000 {
		t.Fatalf("%d ms from the wall clock", difference)
	}
}

func TestTestClock(t *testing.T) {
	base := &setClock{}
	base.now.Store(100)
	c := NewTestClock(base)
	c.Advance(-time.Hour)
	if got := c.Advance(time.Second); got != 1100 || c.Now() != 1100 {
		t.Fatalf("advanced to %d", got)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"name":    func(c *Config) { c.Name = "" },
		"replica": func(c *Config) { c.ReplicaID = "" },
		"clock":   func(c *Config) { c.Clock = nil },
		"logger":  func(c *Config) { c.Logger = nil },
		"queue":   func(c *Config) { c.QueueCommands = 0 },
		"bytes":   func(c *Config) { c.SnapshotBytes = 0 },
		"store":   func(c *Config) { c.StoreTimeout = 0 },
		"lease":   func(c *Config) { c.LeaderLeaseTimeout = time.Hour },
	} {
		config := quickConfig()
		spoil(&config)
		if _, err := Open(config, &tallyMachine{}, Stores{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := Open(quickConfig(), &tallyMachine{}, Stores{}); err == nil || errors.Is(err, ErrStore) {
		t.Errorf("no stores: %v", err)
	}
}
