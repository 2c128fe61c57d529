package shard

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestResultsComeInLogOrder(t *testing.T) {
	b := newBench(t)
	for i := range uint64(100) {
		if got := b.must(command(commandAdd, i)); got.position != int(i)+1 {
			t.Fatalf("command %d answered with place %d", i, got.position)
		}
	}
}

// Commands that arrive while an entry commits share the next one, each caller gets the result of its own command.
func TestBatchingUnderLoad(t *testing.T) {
	folder := t.TempDir()
	option, closeStore := onPebble(t, folder)
	defer closeStore()
	b := newBench(t, option)
	defer b.close()
	const callers, rounds = 256, 20
	var all sync.WaitGroup
	places := make([][]int, callers)
	for caller := range callers {
		all.Go(func() {
			for round := range rounds {
				result, err := b.Propose(command(commandAdd, uint64(caller*rounds+round)), time.Now().Add(patience))
				if err != nil {
					t.Error(err)
					return
				}
				places[caller] = append(places[caller], result.position)
			}
		})
	}
	all.Wait()
	values := b.values()
	if len(values) != callers*rounds {
		t.Fatalf("%d values, want %d", len(values), callers*rounds)
	}
	for caller, mine := range places {
		for round, place := range mine {
			if values[place-1] != uint64(caller*rounds+round) {
				t.Fatalf("caller %d got another's result", caller)
			}
		}
		if !slices.IsSorted(mine) {
			t.Fatalf("caller %d: its commands changed places", caller)
		}
	}
	var largest int
	b.Read(func() { largest = slices.Max(b.machine.sizes) })
	if largest < 2 || largest > BatchCommandsMax {
		t.Fatalf("largest batch has %d commands", largest)
	}
	t.Logf("%d entries for %d commands, largest %d", len(b.machine.sizes), len(values), largest)
}

func TestEntryBounds(t *testing.T) {
	b := newBench(t)
	big := append(command(commandAdd, 1), make([]byte, CommandBytesMax-9)...)
	b.must(big)
	if _, err := b.Propose(append(big, 0), time.Now().Add(patience)); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("one byte more: %v", err)
	}
	if _, err := b.Propose(nil, time.Now().Add(patience)); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("empty: %v", err)
	}
	w := make([]*waiter[int], BatchCommandsMax)
	for i := range w {
		w[i] = &waiter[int]{command: make([]byte, 2048)}
	}
	q := newQueue[int](2*BatchCommandsMax, 64<<20)
	q.open()
	for _, w := range w {
		if err := q.push(w); err != nil {
			t.Fatal(err)
		}
	}
	batch, _ := q.take(nil)
	if got := len(encodeEntry(1<<62, batch)); got > EntryBytesMax {
		t.Fatalf("entry of %d bytes", got)
	}
	if len(batch) < EntryBytesMax/2048-10 {
		t.Fatalf("only %d commands in a full entry", len(batch))
	}
}

// A full queue refuses at once; what was refused is never applied.
func TestOverload(t *testing.T) {
	b := newBench(t, withConfig(func(c *Config) { c.QueueCommands = 8 }))
	b.must(command(commandAdd, 0))
	release := b.blockMachine()
	const callers = 64
	outcomes := make(chan error, callers)
	for i := range callers {
		go func() {
			_, err := b.Propose(command(commandAdd, uint64(i)), time.Now().Add(patience))
			outcomes <- err
		}()
	}
	// Two entries of at most eight commands are in flight and eight are queued; the rest is refused while nothing moves.
	eventually(t, "refusals", func() bool { return len(outcomes) >= callers-8*(EntriesInFlightMax+1) })
	close(release)
	refused := 0
	for range callers {
		if err := <-outcomes; errors.Is(err, ErrOverloaded) && errors.Is(err, ErrNotApplied) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if got := len(b.values()); got != 1+callers-refused {
		t.Fatalf("%d applied, %d of %d refused", got-1, refused, callers)
	}
	t.Logf("%d of %d refused", refused, callers)
}

// blockMachine lets no entry through until the channel it gives is closed.
func (b *bench) blockMachine() chan struct{} {
	release := make(chan struct{})
	b.replica.mu.Lock()
	b.machine.block = release
	b.replica.mu.Unlock()
	return release
}

// flying gives how many entries raft has.
func (b *bench) flying() int {
	b.inflight.mu.Lock()
	defer b.inflight.mu.Unlock()
	return len(b.inflight.batches)
}

// A wait ends at its deadline: in the queue as not applied, in flight as unknown. The command in flight may be applied.
func TestDeadlines(t *testing.T) {
	b := newBench(t)
	release := b.blockMachine()
	inFlight := make(chan error, 3)
	for i := range uint64(3) { // the first two take both slots, one after the other
		go func() {
			_, err := b.Propose(command(commandAdd, i), time.Now().Add(2*time.Second))
			inFlight <- err
		}()
		if i < EntriesInFlightMax {
			eventually(t, "the command on its way", func() bool { return b.flying() == int(i)+1 })
		} else {
			eventually(t, "the third in the queue", func() bool { return b.queue.depth() == 1 })
		}
	}
	var unknown, notApplied int
	for range 3 {
		switch err := <-inFlight; {
		case errors.Is(err, ErrUnknown) && !errors.Is(err, ErrNotApplied):
			unknown++
		case errors.Is(err, ErrDeadline) && errors.Is(err, ErrNotApplied) && !errors.Is(err, ErrUnknown):
			notApplied++
		default:
			t.Fatalf("outcome %v", err)
		}
	}
	if unknown != 2 || notApplied != 1 {
		t.Fatalf("%d unknown, %d not applied", unknown, notApplied)
	}
	close(release)
	if got := b.must(command(commandAdd, 9)).position; got != 3 {
		t.Fatalf("place %d after two unknown ones were applied", got)
	}
	if _, err := b.Propose(command(commandAdd, 1), time.Now()); !errors.Is(err, ErrDeadline) {
		t.Fatalf("a deadline that passed: %v", err)
	}
}

type space struct{ low atomic.Bool }

func (s *space) Low() bool { return s.low.Load() }

func TestDiskFullRefusesCommandsOnly(t *testing.T) {
	var low space
	clock := NewTestClock(NewSystemClock())
	b := newBench(t, withSpace(&low), withConfig(func(c *Config) { c.Clock = clock }))
	b.must(command(commandAlarm, uint64(clock.Now())+10_000))
	low.low.Store(true)
	if _, err := b.Propose(command(commandAdd, 1), time.Now().Add(patience)); !errors.Is(err, ErrDiskFull) || !errors.Is(err, ErrNotApplied) {
		t.Fatalf("outcome %v", err)
	}
	clock.Advance(time.Minute)
	b.waitEnded(1) // expiry goes on: it gives seats back
}

func (b *bench) waitEnded(want int) {
	b.t.Helper()
	eventually(b.t, "alarms ended", func() (done bool) {
		b.Read(func() { done = b.machine.ended == want })
		return done
	})
}

func TestCloseFinishesWhatIsInFlight(t *testing.T) {
	b := newBench(t)
	release := b.blockMachine()
	const callers = 50
	outcomes := make(chan error, callers)
	for i := range uint64(callers) {
		go func() {
			_, err := b.Propose(command(commandAdd, i), time.Now().Add(patience))
			outcomes <- err
		}()
	}
	eventually(t, "commands on their way", func() bool { return b.flying() > 0 })
	closed := make(chan error, 1)
	go func() { closed <- b.Close(context.Background()) }()
	eventually(t, "the group to refuse", func() bool {
		b.queue.mu.Lock()
		defer b.queue.mu.Unlock()
		return b.queue.closed
	})
	close(release)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	done := 0
	for range callers {
		if err := <-outcomes; err == nil {
			done++
		} else if !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
	}
	if got := len(b.machine.values); got != done || done == 0 {
		t.Fatalf("%d applied, %d told so", got, done)
	}
	if _, err := b.Propose(command(commandAdd, 0), time.Now().Add(patience)); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if err := b.WaitLeader(context.Background()); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

// A close that runs out of time leaves no wait behind: queued is not applied, in flight is unknown.
func TestCloseInAHurry(t *testing.T) {
	// With one entry in flight none can be left in raft's hands behind the one that is being applied.
	b := newBench(t, withConfig(func(c *Config) { c.EntriesInFlight = 1 }))
	release := b.blockMachine()
	const callers = 50
	outcomes := make(chan error, callers)
	for i := range uint64(callers) {
		go func() {
			_, err := b.Propose(command(commandAdd, i), time.Now().Add(time.Hour))
			outcomes <- err
		}()
	}
	eventually(t, "commands on their way", func() bool { return b.flying() > 0 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	closed := make(chan error, 1)
	go func() { closed <- b.Close(ctx) }()
	for range callers {
		if err := <-outcomes; !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrNotApplied) {
			t.Fatal(err)
		}
	}
	close(release)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
}

func TestRestartReplaysTheSameState(t *testing.T) {
	folder := t.TempDir()
	option, closeStore := onPebble(t, folder)
	b := newBench(t, option)
	for i := range uint64(300) {
		b.must(command(commandAdd, i*i))
		if i == 100 || i == 200 {
			if err := b.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
	values, times := b.values(), slices.Clone(b.machine.times)
	b.close()
	closeStore()

	option, closeStore = onPebble(t, folder)
	defer closeStore()
	option(b)
	b.open()
	defer b.close()
	if !slices.Equal(b.values(), values) || !slices.Equal(b.machine.times, times) {
		t.Fatal("another state after the restart")
	}
	if b.machine.restore != 1 {
		t.Fatalf("restored %d times", b.machine.restore)
	}
	if got := b.must(command(commandAdd, 1)); got.position != 301 {
		t.Fatalf("place %d after the restart", got.position)
	}
}

func TestWaitApplied(t *testing.T) {
	b := newBench(t)
	b.must(command(commandAdd, 1))
	index := b.Status().AppliedIndex
	waited := make(chan error, 1)
	go func() { waited <- b.WaitApplied(context.Background(), index+1) }()
	eventually(t, "a waiter", func() bool { return b.replica.moved.waiting.Load() == 1 })
	b.must(command(commandAdd, 2))
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.WaitApplied(ctx, index+100); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
