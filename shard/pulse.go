package shard

import (
	"errors"
	"time"

	"github.com/houseful/houseful/fsm"
)

// pulse proposes the machine's expiry pulse when it is due: one at a time, by the leader only, in ordinary log order.
func (g *Group[R]) pulse() {
	backoff := pulseBackoffMin
	for {
		wait, due := g.untilPulse()
		if due {
			var moved bool
			if wait, moved = g.pulseOnce(); moved {
				backoff = pulseBackoffMin
				if !g.sleep(wait) {
					return
				}
				continue
			}
			wait, backoff = max(wait, backoff), min(2*backoff, pulseSleepMax)
		}
		timer := time.NewTimer(wait)
		select {
		case <-g.pulseArmed:
		case <-timer.C:
		case <-g.stop:
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// pulseOnce proposes a pulse. moved says that the next expiry is another one; wait is the least pause before the next
// pulse: none while more was due already, since one pulse does bounded work.
func (g *Group[R]) pulseOnce() (wait time.Duration, moved bool) {
	before, began := g.replica.nextExpiry.Load(), g.now()
	if err := g.proposePulse(); err != nil {
		if !errors.Is(err, ErrNotLeader) && !errors.Is(err, ErrClosed) {
			g.logger.Warn("expiry pulse failed", "error", err)
		}
		return pulseSleepMax, false
	}
	next := g.replica.nextExpiry.Load()
	if next > int64(began) {
		wait = pulseSpacing
	}
	return wait, next != before
}

// untilPulse says whether a pulse is due, or how long to sleep. Without an expiry to come, or without the lead, only
// armPulse ends the sleep; a known expiry is looked at again soon, because a clock may jump.
func (g *Group[R]) untilPulse() (wait time.Duration, due bool) {
	next := g.replica.nextExpiry.Load()
	if next == noExpiry || !g.lead.open.Load() {
		return never, false
	}
	if now := g.now(); now < fsm.Time(next) {
		return time.Duration(min(next-int64(now), pulseSleepMax.Milliseconds())) * time.Millisecond, false
	}
	return 0, true
}

// now is the time that an entry would be stamped with: log time may be ahead of the clock.
func (g *Group[R]) now() fsm.Time { return max(g.config.Clock.Now(), g.replica.logTime()) }

func (g *Group[R]) proposePulse() error {
	_, err := g.enqueue(g.replica.pulseCommand(), time.Now().Add(pulseTimeout), g.queue.pushFirst)
	return err
}

func (r *replica[R]) pulseCommand() []byte {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.machine.Pulse()
}

// sleep gives false when the group stops meanwhile.
func (g *Group[R]) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-g.stop:
		return false
	}
}

func (g *Group[R]) armPulse() {
	select {
	case g.pulseArmed <- struct{}{}:
	default:
	}
}
