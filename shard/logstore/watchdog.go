package logstore

import (
	"fmt"
	"sync"
	"time"
)

// watchdog reports store calls that do not come back: a hung disk blocks raft's main loop while heartbeats keep the followers quiet
// (hashicorp/raft #503, #666), so the process has to end. It reports once.
type watchdog struct {
	timeout time.Duration
	fatal   func(error)
	stop    chan struct{}
	done    chan struct{}

	mu   sync.Mutex
	head *watchedCall // oldest call in flight
	tail *watchedCall
	free *watchedCall
}

type watchedCall struct {
	name       string
	replica    uint64
	start      time.Time
	prev, next *watchedCall
}

// newWatchdog starts a goroutine that ends in close. fatal is called at most once, from that goroutine.
func newWatchdog(timeout time.Duration, fatal func(error)) *watchdog {
	w := &watchdog{timeout: timeout, fatal: fatal, stop: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

func (w *watchdog) close() {
	close(w.stop)
	<-w.done
}

// begin registers a call; the caller ends it with end. Calls are kept oldest first, so that only the head need be looked at.
func (w *watchdog) begin(name string, replica uint64) *watchedCall {
	now := time.Now()
	w.mu.Lock()
	call := w.free
	if call == nil {
		call = new(watchedCall)
	} else {
		w.free = call.next
	}
	*call = watchedCall{name: name, replica: replica, start: now, prev: w.tail}
	if w.tail == nil {
		w.head = call
	} else {
		w.tail.next = call
	}
	w.tail = call
	w.mu.Unlock()
	return call
}

func (w *watchdog) end(call *watchedCall) {
	w.mu.Lock()
	if call.prev == nil {
		w.head = call.next
	} else {
		call.prev.next = call.next
	}
	if call.next == nil {
		w.tail = call.prev
	} else {
		call.next.prev = call.prev
	}
	call.prev, call.next = nil, w.free
	w.free = call
	w.mu.Unlock()
}

func (w *watchdog) run() {
	defer close(w.done)
	ticker := time.NewTicker(max(w.timeout/4, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-ticker.C:
		}
		if err := w.check(); err != nil {
			w.fatal(err)
			<-w.stop
			return
		}
	}
}

func (w *watchdog) check() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.head == nil {
		return nil
	}
	if age := time.Since(w.head.start); age > w.timeout {
		return fmt.Errorf("%w: %s of replica %d has not come back for %s: the disk hangs", ErrFailed, w.head.name, w.head.replica, age.Round(time.Millisecond))
	}
	return nil
}
