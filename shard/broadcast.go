package shard

import (
	"sync"
	"sync/atomic"
)

// broadcast wakes all who wait for a change. notify costs an atomic load while nobody waits.
type broadcast struct {
	waiting atomic.Int64

	mu      sync.Mutex
	changed chan struct{} // made on demand, closed by notify
}

// listen gives a channel that is closed at the next notify. The caller looks at the condition after listen, and calls
// leave when done.
func (b *broadcast) listen() <-chan struct{} {
	b.waiting.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

func (b *broadcast) leave() { b.waiting.Add(-1) }

func (b *broadcast) notify() {
	if b.waiting.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}
