package cluster

import (
	"errors"
	"fmt"
	"time"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/shard"
)

// proposer is a group, with what this package needs to know of its results.
type proposer[R any] struct {
	group *shard.Group[R]
	// tooLate and logTime read a result: that its command came after its notAfter, and when it was applied.
	tooLate func(R) bool
	logTime func(R) fsm.Time
	seen    logClock
}

// propose gives a command to a group until its outcome is known or the deadline has passed. The command keeps its id
// over all tries, so that it has one effect. Not applied is answered only when that is certain for every try.
func propose[R any](n *Node, p *proposer[R], id fsm.CommandID, field uint64, body body, deadline time.Time) (R, error) {
	var none R
	buffer := n.buffers.take()
	defer n.buffers.give(buffer)
	unknown := false
	pause := retryPauseMin
	notAfter := max(n.clock.Now(), p.seen.now()).Add(time.Until(deadline))
	for {
		encoded, err := appendCommand((*buffer)[:0], id, notAfter, field, body)
		if err != nil {
			return none, fmt.Errorf("encode a command: %w", errors.Join(err, ErrNotApplied))
		}
		*buffer = encoded
		result, err := p.group.Propose(encoded, deadline)
		if err == nil {
			at := p.logTime(result)
			p.seen.saw(at, n.clock)
			switch {
			case !p.tooLate(result):
				return result, nil
			case unknown: // an earlier try may have been applied, and its answer forgotten
				return none, ErrUnknown
			case !time.Now().Before(deadline):
				return none, fmt.Errorf("log time passed the request's: %w", ErrNotReady)
			}
			// The log is ahead of this node's clock. Only here may notAfter move: no try has had an effect, and with a
			// later one the log would keep an answer longer than it promised to an earlier try.
			notAfter = at.Add(time.Until(deadline))
			continue
		}
		unknown = unknown || errors.Is(err, shard.ErrUnknown)
		if !retryable(err) || !n.pause(&pause, deadline) {
			if unknown {
				return none, ErrUnknown
			}
			return none, notApplied(err)
		}
	}
}

// retryable says which errors are worth another try with the same id. A full queue is not: trying again makes it
// fuller.
func retryable(err error) bool {
	return errors.Is(err, shard.ErrNotLeader) || errors.Is(err, shard.ErrTransfer) || errors.Is(err, shard.ErrUnknown)
}

// notApplied gives a shard's refusal its name here.
func notApplied(err error) error {
	switch {
	case errors.Is(err, shard.ErrOverloaded), errors.Is(err, shard.ErrTooLarge):
		return ErrOverloaded
	case errors.Is(err, shard.ErrDiskFull):
		return ErrDiskFull
	case errors.Is(err, shard.ErrClosed):
		return ErrClosed
	default:
		return fmt.Errorf("%w: %w", ErrNotReady, err)
	}
}

// pause waits a little before the next try; false when there is no time left for one, or the node stops.
func (n *Node) pause(pause *time.Duration, deadline time.Time) bool {
	if time.Until(deadline) <= *pause {
		return false
	}
	timer := time.NewTimer(*pause)
	defer timer.Stop()
	*pause = min(2**pause, retryPauseMax)
	select {
	case <-timer.C:
		return true
	case <-n.stop:
		return false
	}
}

// decide lets a shard decide about a command. CodeFull becomes ErrOverloaded.
func (n *Node) decide(s *dataShard, id fsm.CommandID, field uint64, body body, deadline time.Time) (*fsm.Result, error) {
	result, err := propose(n, &s.proposer, id, field, body, deadline)
	if err == nil && result.Code == fsm.CodeFull {
		return nil, ErrOverloaded
	}
	return result, err
}

// agree lets the meta group decide about a command.
func (n *Node) agree(field uint64, body body, deadline time.Time) (*meta.Result, error) {
	return propose(n, &n.meta.proposer, drawCommandID(), field, body, deadline)
}
