package shard

import (
	"context"
	"fmt"
	"time"
)

// Close refuses new commands, finishes what is queued and in flight, and stops. When ctx ends first the rest is
// answered as not applied or unknown. It returns once every goroutine of the group ended; an error means that a call
// of its store or machine hangs. It may be called again.
func (g *Group[R]) Close(ctx context.Context) error {
	g.closeOnce.Do(func() { close(g.closing) })
	select {
	case <-g.done:
		return nil
	case <-ctx.Done():
	}
	g.hurryOnce.Do(func() { close(g.hurry) })
	timer := time.NewTimer(closeGrace)
	defer timer.Stop()
	select {
	case <-g.done:
		return nil
	case <-timer.C:
		return fmt.Errorf("close group %s: a call of its store or machine does not return: %w", g.config.Name, ctx.Err())
	}
}

// supervise ends the group. Raft is shut down only after it answered all that it was asked: futures that wait for its
// FSM at shutdown are never answered, and a goroutine that waits for one could not be ended.
func (g *Group[R]) supervise() {
	defer close(g.done)
	select {
	case <-g.closing:
	case <-g.failed:
	}
	close(g.stop) // before the lead is given up: openActor looks in the other order
	g.lead.set(false)
	g.queue.close(g.Err() != nil)

	answered := make(chan struct{})
	go func() { // ends with askers
		g.askers.Wait()
		close(answered)
	}()
	patience := g.patience()
	select {
	case <-answered:
	case <-patience:
	case <-g.hurry:
	}
	close(g.givenUp)
	g.queue.close(true)
	g.inflight.close()
	if err := g.raft.Shutdown().Error(); err != nil {
		g.logger.Error("raft shutdown", "error", err)
	}
	select {
	case <-answered:
	case <-time.After(closeGrace):
		// An entry that raft's machine goroutine had not begun with stays unanswered at its shutdown: the goroutine that
		// waits for it is lost. Its callers were answered above.
		g.logger.Error("raft left an entry unanswered at its shutdown")
	}
	g.workers.Wait()
	g.metrics.unregister()
}

// patience ends the wait for raft's answers: a failed group is not waited for as long as a closing one.
func (g *Group[R]) patience() <-chan time.Time {
	if g.Err() != nil {
		return time.After(failDrainMax)
	}
	return nil
}

func (g *Group[R]) stopping() bool {
	select {
	case <-g.stop:
		return true
	default:
		return false
	}
}
