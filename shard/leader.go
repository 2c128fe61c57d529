package shard

import (
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// leadership says whether the actor is open.
type leadership struct {
	open    atomic.Bool
	changed broadcast
}

func (l *leadership) set(open bool) {
	l.open.Store(open)
	l.changed.notify()
}

// followLeadership opens the actor when this replica leads and shuts it when it does not. LeaderCh keeps only the
// newest change, so each one shuts first: the term may be another.
func (g *Group[R]) followLeadership() {
	for {
		select {
		case leads := <-g.raft.LeaderCh():
			g.lead.set(false)
			g.queue.shut(ErrNotLeader)
			if leads {
				g.openActor()
			}
		case <-g.stop:
			return
		}
	}
}

// openActor waits until everything that earlier leaders committed is applied here: before that the machine's time and
// state are old. The clock then goes on from the machine's time.
func (g *Group[R]) openActor() {
	for g.raft.State() == raft.Leader {
		term := g.raft.CurrentTerm()
		err := g.raft.Barrier(barrierTimeout).Error()
		if err == nil && g.raft.State() == raft.Leader && g.raft.CurrentTerm() == term {
			g.config.Clock.Raise(g.replica.logTime())
			g.queue.open()
			g.lead.set(true)
			if g.stopping() { // supervise shut it before it was opened
				g.lead.set(false)
				return
			}
			g.armPulse()
			g.logger.Info("group leads", "term", term, "appliedIndex", g.replica.index.Load())
			return
		}
		if !g.sleep(barrierRetry) {
			return
		}
	}
}
