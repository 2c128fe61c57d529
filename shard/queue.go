package shard

import (
	"sync"
	"time"
)

// queue holds the commands that wait to join a batch, in a ring of fixed size. Whether it takes commands is decided
// under its own mutex, so none slips in after leadership was lost or the group was closed.
type queue[R any] struct {
	commandsMax int
	bytesMax    int
	wake        chan struct{} // of capacity 1: something changed for the actor

	mu     sync.Mutex
	ring   []*waiter[R] // nil where the sweeper answered
	head   int
	count  int
	bytes  int
	refuse error // why commands are refused; nil while open
	closed bool
}

func newQueue[R any](commandsMax, bytesMax int) *queue[R] {
	return &queue[R]{
		commandsMax: commandsMax,
		bytesMax:    bytesMax,
		wake:        make(chan struct{}, 1),
		ring:        make([]*waiter[R], commandsMax+1), // and one pulse
		refuse:      ErrNotLeader,
	}
}

// push appends a command, or says at once why not.
func (q *queue[R]) push(w *waiter[R]) error {
	q.mu.Lock()
	switch {
	case q.refuse != nil:
		err := q.refuse
		q.mu.Unlock()
		return err
	case q.count >= q.commandsMax || q.bytes+len(w.command) > q.bytesMax:
		q.mu.Unlock()
		return ErrOverloaded
	}
	q.ring[(q.head+q.count)%len(q.ring)] = w
	q.count++
	q.bytes += len(w.command)
	first := q.count == 1
	q.mu.Unlock()
	if first {
		q.signal()
	}
	return nil
}

// pushFirst puts the group's own pulse before all others. It passes the limits: there is one pulse at a time.
func (q *queue[R]) pushFirst(w *waiter[R]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.refuse != nil {
		return q.refuse
	}
	if q.count == len(q.ring) {
		return ErrOverloaded
	}
	q.head = (q.head + len(q.ring) - 1) % len(q.ring)
	q.ring[q.head] = w
	q.count++
	q.bytes += len(w.command)
	q.signal()
	return nil
}

// next appends to batch what fits one entry, waiting for at least one command. false: the queue is closed and empty.
func (q *queue[R]) next(batch []*waiter[R]) ([]*waiter[R], bool) {
	for {
		var drained bool
		batch, drained = q.take(batch)
		if len(batch) > 0 {
			return batch, true
		}
		if drained {
			return batch, false
		}
		<-q.wake
	}
}

func (q *queue[R]) take(batch []*waiter[R]) (_ []*waiter[R], drained bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	room := EntryBytesMax - entryHeadBytesMax
	for q.count > 0 && len(batch) < BatchCommandsMax {
		w := q.ring[q.head]
		if w != nil {
			if room -= commandEntryBytes(len(w.command)); room < 0 {
				break
			}
			q.bytes -= len(w.command)
			batch = append(batch, w)
		}
		q.ring[q.head] = nil
		q.head = (q.head + 1) % len(q.ring)
		q.count--
	}
	return batch, q.closed && q.count == 0
}

// open lets commands in. A closed queue stays closed.
func (q *queue[R]) open() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.refuse = nil
	}
}

// shut refuses commands and answers those that are queued.
func (q *queue[R]) shut(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.refuse = why
	}
	q.flush(why)
}

// close refuses commands for good. What is queued is still taken, unless flush answers it.
func (q *queue[R]) close(flush bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refuse, q.closed = ErrClosed, true
	if flush {
		q.flush(ErrClosed)
	}
	q.signal()
}

// sweep answers what waited past its deadline.
func (q *queue[R]) sweep(now time.Time) (swept int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.count {
		at := (q.head + i) % len(q.ring)
		if w := q.ring[at]; w != nil && w.late(now) {
			q.ring[at] = nil
			q.bytes -= len(w.command)
			w.fail(ErrDeadline)
			swept++
		}
	}
	return swept
}

func (q *queue[R]) depth() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count
}

func (q *queue[R]) flush(why error) {
	for ; q.count > 0; q.count-- {
		if w := q.ring[q.head]; w != nil {
			w.fail(why)
		}
		q.ring[q.head] = nil
		q.head = (q.head + 1) % len(q.ring)
	}
	q.bytes = 0
}

func (q *queue[R]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
