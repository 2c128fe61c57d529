package main

import (
	"context"
	"fmt"
	"sync/atomic"
)

// holdOptions tells the workloads that hold seats apart.
type holdOptions struct {
	name      string // part of the ids of its shows
	spread    int    // shows filled at the same time
	showSeats int
	confirm   bool // and confirm each hold
}

// holdWorkload holds seats, each once, for users of whom each comes once: nothing is refused but by mistake.
type holdWorkload struct {
	options holdOptions
	maker   requestMaker
	server  *catalogue
	plan    *seatPlan
	echoed  atomic.Int64 // bookings asked of the echo, which never runs out
	made    int64        // shows
}

func newHoldWorkload(maker requestMaker, server *catalogue, options holdOptions) *holdWorkload {
	prefix := server.prefix + options.name + "-"
	return &holdWorkload{
		options: options, maker: maker, server: server,
		plan: newSeatPlan(prefix, options.spread, newLayout(options.showSeats, maker.seats), maker.seats),
	}
}

func (w *holdWorkload) steps() []step {
	steps := []step{{name: "hold", pathSuffix: "/hold"}}
	if w.options.confirm {
		steps = append(steps, step{name: "confirm", pathSuffix: "/confirm"})
	}
	return steps
}

// stock makes whole generations of shows until the seats are enough.
func (w *holdWorkload) stock(ctx context.Context, count int64) error {
	generation := w.plan.perShow * w.plan.spread
	missing := count/int64(len(w.steps())) + 1 - w.plan.left()
	if missing <= 0 {
		return nil
	}
	add := (missing + generation - 1) / generation * w.plan.spread
	if w.made+add > showsMax {
		return fmt.Errorf("the run needs more than %d shows: shorten it", showsMax)
	}
	screen := w.plan.prefix + "screen"
	if w.made == 0 {
		if err := w.server.screen(ctx, screen, w.plan.layout); err != nil {
			return err
		}
	}
	show := func(i int64) string { return string(w.plan.appendShow(nil, w.made+i)) }
	if err := w.server.shows(ctx, screen, add, show); err != nil {
		return err
	}
	w.made += add
	w.plan.made(w.made)
	return nil
}

func (w *holdWorkload) session(side sideKind, _ int) session {
	return &holdSession{workload: w, side: side}
}

// holdSession is one connection's buyer after buyer.
type holdSession struct {
	workload *holdWorkload
	side     sideKind
	at       place
	booking  []byte // to be confirmed next
	body     []byte
}

func (s *holdSession) next(dst []byte) (request []byte, step int, ok bool) {
	if len(s.booking) > 0 {
		return s.appendConfirm(dst), 1, true
	}
	if s.side == sideEcho {
		plan := s.workload.plan
		s.at = plan.place(s.workload.echoed.Add(1) % max(plan.ready.Load(), 1))
	} else if s.at, ok = s.workload.plan.take(); !ok {
		return dst, 0, false
	}
	return s.appendHold(dst), 0, true
}

// answered keeps the booking's id when it is to be confirmed. A confirm is not tried twice, whatever became of it.
func (s *holdSession) answered(result outcome, answer *response) {
	confirmed := len(s.booking) > 0
	s.booking = s.booking[:0]
	if confirmed || !s.workload.options.confirm || result != outcomeDone {
		return
	}
	if id, ok := stringField(answer.body, `"id":"`); ok {
		s.booking = append(s.booking, id...)
	}
}

// appendHold writes the request for the seats dealt last.
func (s *holdSession) appendHold(dst []byte) []byte {
	plan := s.workload.plan
	body := append(s.body[:0], `{"showId":"`...)
	body = plan.appendShow(body, s.at.show)
	body = append(body, `","seats":[`...)
	body = plan.appendSeats(body, s.at)
	body = append(body, `],"userId":"`...)
	body = appendUser(body, s.at.number)
	s.body = append(body, `"}`...)

	dst = s.workload.maker.appendPost(dst, "/bookings/hold", nil, "")
	if s.workload.maker.idempotencyKeys {
		dst = append(dst, "Idempotency-Key: k"...)
		dst = append(appendPadded(dst, s.at.number, 10), "\r\n"...)
	}
	return appendBody(dst, s.body)
}

// appendConfirm writes the request that confirms the booking made last.
func (s *holdSession) appendConfirm(dst []byte) []byte {
	body := append(s.body[:0], `{"userId":"`...)
	body = appendUser(body, s.at.number)
	body = append(body, `","paymentRef":"`...)
	body = append(body, s.workload.plan.prefix...)
	body = appendPadded(body, s.at.number, 10)
	s.body = append(body, `"}`...)

	dst = s.workload.maker.appendPost(dst, "/bookings/", s.booking, "/confirm")
	return appendBody(dst, s.body)
}

// appendUser writes the id of the buyer of a booking.
func appendUser(dst []byte, number int64) []byte {
	return appendPadded(append(dst, 'u'), number, 10)
}
