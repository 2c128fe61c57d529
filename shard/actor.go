package shard

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/houseful/houseful/fsm"
)

// Propose gives a command to the group and waits for its result. command is an encoded command of the machine; it is
// not kept after Propose returns. On error the class says what is known: errors.Is(err, ErrNotApplied) or
// errors.Is(err, ErrUnknown). The wait ends at the deadline, up to 50 ms late.
func (g *Group[R]) Propose(command []byte, deadline time.Time) (R, error) {
	result, err := g.proposeChecked(command, deadline)
	if err != nil {
		g.metrics.refused(err)
	}
	return result, err
}

func (g *Group[R]) proposeChecked(command []byte, deadline time.Time) (none R, _ error) {
	switch {
	case len(command) == 0 || len(command) > CommandBytesMax:
		return none, ErrTooLarge
	case g.stores.Space != nil && g.stores.Space.Low():
		return none, ErrDiskFull
	case !time.Now().Before(deadline):
		return none, ErrDeadline
	}
	return g.enqueue(command, deadline, g.queue.push)
}

func (g *Group[R]) enqueue(command []byte, deadline time.Time, push func(*waiter[R]) error) (none R, _ error) {
	w := g.waiters.Get().(*waiter[R])
	w.command, w.deadline = command, deadline
	if err := push(w); err != nil {
		w.command = nil
		g.waiters.Put(w)
		return none, err
	}
	a := <-w.answered // always comes: from the deliverer, the sweeper or the end of the group
	if !w.abandoned {
		w.command = nil
		g.waiters.Put(w)
	}
	return a.result, a.err
}

// act is the actor: while earlier entries commit the next batch forms in the queue, so there is no timer and no added
// delay. A slot is taken before the batch, so that a batch is as full as it can be.
func (g *Group[R]) act() {
	defer close(g.proposed)
	for {
		select {
		case g.slots <- struct{}{}:
		case <-g.givenUp:
			return
		}
		b := g.batches.Get().(*batch[R])
		var more bool
		if b.waiters, more = g.queue.next(b.waiters[:0]); !more {
			return
		}
		if !g.submit(b) {
			return
		}
	}
}

// submit makes the entry and hands it to raft. It blocks while raft is busy storing, up to EnqueueTimeout.
func (g *Group[R]) submit(b *batch[R]) bool {
	entry := encodeEntry(g.stamp(), b.waiters)
	if !g.inflight.add(b) {
		return false
	}
	g.metrics.batchCommands.Observe(float64(len(b.waiters)))
	b.began = time.Now()
	b.future = g.raft.ApplyLog(raft.Log{Data: entry}, g.config.EnqueueTimeout)
	g.proposed <- b // of capacity EntriesInFlightMax, as slots
	return true
}

// stamp gives the time of the next entry. Log time never goes back, whatever the clock does, and never leaves the range
// that machines read. Only the actor calls it.
func (g *Group[R]) stamp() fsm.Time {
	g.stamped = min(max(g.stamped, g.now()), fsm.TimeMax)
	return g.stamped
}

// deliver waits for the entries in order and answers their callers.
func (g *Group[R]) deliver() {
	watch := transferWatch{limit: 2 * g.config.ElectionTimeout}
	for b := range g.proposed {
		err := outcome(b.future.Error())
		now := time.Now()
		if watch.stuck(err, now) {
			g.fail(fmt.Errorf("%w: refused for over %v", ErrTransferStuck, watch.limit))
		}
		var results []R
		if err == nil {
			g.metrics.commitSeconds.Observe(now.Sub(b.began).Seconds())
			results, err = b.results()
		}
		if errors.Is(err, ErrMachine) {
			g.fail(err)
		}
		g.inflight.remove(b)
		b.answer(results, err)
		clear(b.waiters)
		b.future = nil
		g.batches.Put(b)
		<-g.slots
	}
}

// results gives what the machine answered.
func (b *batch[R]) results() ([]R, error) {
	a, ok := b.future.Response().(*applied[R])
	if !ok {
		return nil, fmt.Errorf("%w: %w: no answer", ErrUnknown, ErrMachine)
	}
	if a.err != nil { // the entry is in the log and may be applied by a program that understands it
		return nil, fmt.Errorf("%w: %w", ErrUnknown, a.err)
	}
	if len(a.results) != len(b.waiters) {
		return nil, fmt.Errorf("%w: %w: %d results for %d commands", ErrUnknown, ErrMachine, len(a.results), len(b.waiters))
	}
	return a.results, nil
}

func (b *batch[R]) answer(results []R, err error) {
	for i, w := range b.waiters {
		switch {
		case w.abandoned: // answered by the sweeper
		case err != nil:
			w.fail(err)
		default:
			w.answered <- answer[R]{result: results[i]}
		}
	}
}

// transferWatch notices a leadership transfer that never ends (hashicorp/raft #696).
type transferWatch struct {
	limit time.Duration

	since, last time.Time
}

func (t *transferWatch) stuck(err error, now time.Time) bool {
	if !errors.Is(err, ErrTransfer) {
		t.since = time.Time{}
		return false
	}
	if t.since.IsZero() || now.Sub(t.last) > t.limit {
		t.since = now
	}
	t.last = now
	return now.Sub(t.since) > t.limit
}
