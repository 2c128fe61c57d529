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

func (c *setClock) Now() fsm.Time  { return fsm.Time(c.now.Load()) }
func (c *setClock) Raise(fsm.Time) {}

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

// stepWall is a wall clock that is set from outside.
type stepWall struct{ ms atomic.Int64 }

func (w *stepWall) now() time.Time { return time.UnixMilli(w.ms.Load()) }

func TestSystemClock(t *testing.T) {
	const hour = 3_600_000
	var wall stepWall
	wall.ms.Store(1_000_000)
	c := newSystemClock(wall.now)
	for i, step := range []struct {
		wall    int64
		elapsed time.Duration
		want    fsm.Time
	}{
		{1_000_000, 0, 1_000_000},
		{5_000_000, 500 * time.Millisecond, 1_000_500}, // a step is not seen before the next sample
		{5_000_000, 2 * time.Second, 5_000_000},
		{5_000_000, 2500 * time.Millisecond, 5_000_500},
		{5_000_998, 3 * time.Second, 5_001_000}, // a little ahead is let be
		{5_001_998, 4 * time.Second, 5_002_000},
		{5_002_000 - hour, 5 * time.Second, 5_003_000}, // set back: time goes on
		{5_003_000 - hour, 7 * time.Second, 5_004_990}, // but slower
		{5_005_000, 8 * time.Second, 5_005_985},        // until the wall clock has
		{5_005_984, 9 * time.Second, 5_006_980},        // caught up
		{5_006_980, 10 * time.Second, 5_007_975},
		{5_008_000, 11 * time.Second, 5_008_970},
		{5_010_000, 12 * time.Second, 5_010_000},
		{5_010_000, 12*time.Second - time.Microsecond, 5_009_999}, // asked before the sample was taken
		{5_011_000, 13 * time.Second, 5_011_000},
		{5_011_000 + hour, 14 * time.Second, 8_611_000},
	} {
		wall.ms.Store(step.wall)
		if got := c.at(step.elapsed); got != step.want {
			t.Fatalf("step %d: %d, want %d", i, got, step.want)
		}
	}
	now := NewSystemClock().Now()
	if difference := time.Now().UnixMilli() - int64(now); difference < 0 || difference > 5000 {
		t.Fatalf("%d ms from the wall clock", difference)
	}
}

// A clock that is raised goes on from there, however far that is, and never falls back.
func TestSystemClockIsRaised(t *testing.T) {
	var wall stepWall
	wall.ms.Store(1_000_000)
	c := newSystemClock(wall.now)
	c.raise(2_000_000, 0)
	c.raise(1_500_000, 0)
	if got := c.at(0); got != 2_000_000 {
		t.Fatalf("raised to %d", got)
	}
	wall.ms.Store(1_001_000)
	if first, second := c.at(time.Second), c.at(2*time.Second); first != 2_001_000 || second != 2_001_995 {
		t.Fatalf("goes on to %d, %d", first, second)
	}
	c.raise(fsm.TimeMax+1, 2*time.Second)
	if got := c.at(3 * time.Second); got != fsm.TimeMax+1000 {
		t.Fatalf("at the end of time: %d", got)
	}
}

// M-13, M-14: the wall clock is set back after a hold was made: it still ends on time.
func TestPulseWhenTheWallClockIsSetBack(t *testing.T) {
	var back atomic.Int64
	clock := newSystemClock(func() time.Time { return time.Now().Add(-time.Duration(back.Load())) })
	b := newBench(t, withConfig(func(c *Config) { c.Clock = clock }))
	began := time.Now()
	const life = 2500 * time.Millisecond // two samples and a half
	b.must(command(commandAlarm, uint64(clock.Now())+uint64(life.Milliseconds())))
	back.Store(int64(10 * time.Minute))
	b.waitEnded(1)
	if took := time.Since(began); took < life-100*time.Millisecond {
		t.Fatalf("ended %v early", life-took)
	}
}

// M-13, M-14: a restart with a clock that is behind the log: what was due in a minute is due in a minute.
func TestPulseAfterRestartWithTheClockBehind(t *testing.T) {
	ahead := NewTestClock(NewSystemClock())
	b := newBench(t, withConfig(func(c *Config) { c.Clock = ahead }))
	stamped := ahead.Advance(time.Hour)
	b.must(command(commandAlarm, uint64(stamped)+60_000))
	b.close()
	behind := NewTestClock(NewSystemClock())
	b.config.Clock = behind
	b.open()
	if now := behind.Now(); now < stamped || now > stamped+50_000 {
		t.Fatalf("the clock goes on %d ms from the last stamp", now-stamped)
	}
	behind.Advance(60 * time.Second)
	b.waitEnded(1)
}

func TestTestClock(t *testing.T) {
	base := &setClock{}
	base.now.Store(100)
	c := NewTestClock(base)
	c.Advance(-time.Hour)
	if got := c.Advance(time.Second); got != 1100 || c.Now() != 1100 {
		t.Fatalf("advanced to %d", got)
	}
	c.Raise(1000)
	if c.Raise(5000); c.Now() != 5000 {
		t.Fatalf("raised to %d", c.Now())
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

// A machine whose next expiry is centuries away is looked at again soon, not at once for ever.
func TestPulseFarAhead(t *testing.T) {
	b := newBench(t)
	b.replica.nextExpiry.Store(int64(fsm.TimeMax))
	if wait, due := b.untilPulse(); due || wait != pulseSleepMax {
		t.Fatalf("an expiry at the end of time: due %t, wait %v", due, wait)
	}
}
