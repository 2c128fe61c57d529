package rest

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// reaper ends connections that take too long to send a request, to accept an answer, or between two requests.
// fasthttp's own timeouts arm a timer three times a request, which costs more than reading a hold does (measured:
// 1.3 µs of 35); this notes the time in a word, and looks at all connections a few times a second.
type reaper struct {
	read, write, idle time.Duration

	conns sync.Map     // net.Conn → *connWatch
	now   atomic.Int64 // nanoseconds since began, moved on at every look
	began time.Time

	start   sync.Once
	stopped sync.Once
	stop    chan struct{}
	ended   sync.WaitGroup
}

// connWatch is what a connection is doing, and since when: nanoseconds since the reaper began, its phase in the low
// bits. Only the goroutine that serves the connection changes it, but for phaseReaped.
type connWatch struct{ state atomic.Int64 }

type connPhase int64

const (
	phaseReading  connPhase = iota // since the first byte of a request, or since the connection is there
	phaseHandling                  // the wait is ours, and ends by itself
	phaseWriting
	phaseIdle
	phaseReaped

	phaseBits = 3
)

// reaperLooks is how many times it looks within the shortest timeout: how exact the timeouts are.
const reaperLooks = 8

// reaperPauseMax is the longest time between two looks.
const reaperPauseMax = 250 * time.Millisecond

func newReaper(cfg *Config) *reaper {
	return &reaper{
		read: cfg.ReadTimeout, write: cfg.WriteTimeout, idle: cfg.IdleTimeout, began: time.Now(), stop: make(chan struct{}),
	}
}

// run starts the looking, once.
func (r *reaper) run() {
	r.start.Do(func() {
		r.ended.Go(func() {
			pause := min(reaperPauseMax, min(r.read, r.write, r.idle)/reaperLooks)
			ticker := time.NewTicker(max(pause, time.Millisecond))
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
					r.look()
				case <-r.stop:
					return
				}
			}
		})
	})
}

// close ends the looking. Connections that are left are then ended by whoever closes the server.
func (r *reaper) close() {
	r.start.Do(func() {}) // not any more
	r.stopped.Do(func() { close(r.stop) })
	r.ended.Wait()
}

// changed is fasthttp's hook for the states of connections.
func (r *reaper) changed(conn net.Conn, state fasthttp.ConnState) {
	switch state {
	case fasthttp.StateNew:
		watch := &connWatch{}
		r.enter(watch, phaseReading)
		r.conns.Store(conn, watch)
	case fasthttp.StateActive:
		r.enter(r.watch(conn), phaseReading)
	case fasthttp.StateIdle:
		r.enter(r.watch(conn), phaseIdle)
	case fasthttp.StateHijacked, fasthttp.StateClosed: // a stream has deadlines of its own
		r.conns.Delete(conn)
	}
}

// watch gives a connection's watch; nil when it has none.
func (r *reaper) watch(conn net.Conn) *connWatch {
	if found, ok := r.conns.Load(conn); ok {
		return found.(*connWatch)
	}
	return nil
}

func (r *reaper) enter(w *connWatch, phase connPhase) {
	if w != nil {
		w.state.Store(r.now.Load()<<phaseBits | int64(phase))
	}
}

// look ends what has taken too long. A deadline in the past makes the connection's own goroutine give up.
func (r *reaper) look() {
	now := time.Since(r.began).Nanoseconds()
	r.now.Store(now)
	r.conns.Range(func(key, value any) bool {
		conn, watch := key.(net.Conn), value.(*connWatch)
		state := watch.state.Load()
		phase, lasts := connPhase(state&(1<<phaseBits-1)), time.Duration(now-state>>phaseBits)
		switch {
		case phase == phaseReading && lasts > r.read, phase == phaseIdle && lasts > r.idle:
			if watch.state.CompareAndSwap(state, int64(phaseReaped)) {
				_ = conn.SetWriteDeadline(time.Now().Add(r.write)) // for the answer that says so
				_ = conn.SetReadDeadline(time.Unix(1, 0))
			}
		case phase == phaseWriting && lasts > r.write:
			if watch.state.CompareAndSwap(state, int64(phaseReaped)) {
				_ = conn.SetDeadline(time.Unix(1, 0))
			}
		}
		return true
	})
}
