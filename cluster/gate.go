package cluster

import (
	"context"
	"sync"
	"sync/atomic"
)

// gate counts the calls that are inside and can be shut: nobody new comes in, and drained says when all have left.
type gate struct {
	state   atomic.Int64 // twice the calls inside, plus 1 when shut
	once    sync.Once
	drained chan struct{}
}

func newGate() *gate { return &gate{drained: make(chan struct{})} }

// enter lets a call in, which must leave; false when the gate is shut.
func (g *gate) enter() bool {
	if g.state.Add(2)&1 == 0 {
		return true
	}
	g.leave()
	return false
}

func (g *gate) leave() {
	if g.state.Add(-2) == 1 {
		g.once.Do(func() { close(g.drained) })
	}
}

// shut lets nobody in any more and waits until all have left or ctx ends.
func (g *gate) shut(ctx context.Context) {
	if g.state.Or(1)>>1 == 0 {
		g.once.Do(func() { close(g.drained) })
	}
	select {
	case <-g.drained:
	case <-ctx.Done():
	}
}
