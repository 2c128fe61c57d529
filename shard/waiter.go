package shard

import "time"

// answer is how a command ended.
type answer[R any] struct {
	result R
	err    error
}

// waiter is one caller of Propose. It has one owner at a time: the queue (under its mutex), the actor while it makes
// the entry, then the list of batches in flight (under its mutex). Whoever answers does so once.
type waiter[R any] struct {
	command  []byte
	deadline time.Time
	answered chan answer[R] // of capacity 1, so that answering never blocks

	// abandoned says that the sweeper answered while a batch still refers to the waiter: it must not be used again.
	abandoned bool
}

func newWaiter[R any]() *waiter[R] {
	return &waiter[R]{answered: make(chan answer[R], 1)}
}

func (w *waiter[R]) fail(err error) { w.answered <- answer[R]{err: err} }

func (w *waiter[R]) late(now time.Time) bool { return now.After(w.deadline) }
