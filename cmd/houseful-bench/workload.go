package main

import (
	"context"
	"fmt"
	"strconv"
)

// The names of the workloads. workloadSpread is another name of workloadHold.
const (
	workloadHold        = "hold"
	workloadSpread      = "spread"
	workloadHot         = "hot"
	workloadHoldConfirm = "hold-confirm"
	workloadSeats       = "seats"
	workloadSeatsETag   = "seats-etag"
	workloadDelta       = "delta"
	workloadIdle        = "idle"
)

// workloadNames lists what --workload takes.
func workloadNames() []string {
	return []string{
		workloadHold, workloadHot, workloadHoldConfirm, workloadSeats, workloadSeatsETag, workloadDelta, workloadIdle,
	}
}

// sideKind says which of the two servers a session speaks to.
type sideKind uint8

const (
	sideReal sideKind = iota
	sideEcho
)

// String gives the name in reports.
func (s sideKind) String() string {
	if s == sideEcho {
		return "echo"
	}
	return "houseful"
}

// step is one kind of request of a workload, with latencies of its own.
type step struct {
	name       string
	pathSuffix string // of its requests and of no other step's
}

// workload makes the requests of one kind of load.
type workload interface {
	steps() []step
	// stock prepares the server so that at least count more requests can be made. It is called between slots only.
	stock(ctx context.Context, count int64) error
	// session makes what one connection needs for one slot; sessions of a workload are used at once.
	session(side sideKind, connection int) session
}

// session makes the requests of one connection. One goroutine uses it.
type session interface {
	// next appends the next whole request to dst and says which step it is; false when there is nothing left to ask.
	next(dst []byte) (request []byte, step int, ok bool)
	// answered tells what became of it. The answer is empty when there was none, and valid during the call only.
	answered(result outcome, answer *response)
}

// newWorkload makes a workload by its name.
func newWorkload(name string, cfg *config, server *catalogue) (workload, error) {
	maker := newRequestMaker(cfg, server.address)
	switch name {
	case workloadHold:
		return newHoldWorkload(maker, server, holdOptions{name: "spread", spread: cfg.Shows, showSeats: cfg.ShowSeats}), nil
	case workloadHot:
		return newHoldWorkload(maker, server, holdOptions{name: "hot", spread: 1, showSeats: cfg.HotSeats}), nil
	case workloadHoldConfirm:
		return newHoldWorkload(maker, server, holdOptions{name: "confirm", spread: cfg.Shows, showSeats: cfg.ShowSeats, confirm: true}), nil
	case workloadIdle:
		return newHoldWorkload(maker, server, holdOptions{name: "idle", spread: min(cfg.Shows, idleShows), showSeats: cfg.ShowSeats}), nil
	case workloadSeats, workloadSeatsETag, workloadDelta:
		return newReadWorkload(name, maker, server, cfg), nil
	default:
		return nil, fmt.Errorf("%w: workload %q", errUsage, name)
	}
}

// requestMaker writes requests. What is the same in all of them is prepared once.
type requestMaker struct {
	headers         string // those of every request, each with its line end
	seats           int
	idempotencyKeys bool
}

func newRequestMaker(cfg *config, host string) requestMaker {
	headers := "Host: " + host + "\r\n"
	if cfg.Key != "" {
		headers += "Authorization: Bearer " + cfg.Key + "\r\n"
	}
	if cfg.AcceptEncoding != "" {
		headers += "Accept-Encoding: " + cfg.AcceptEncoding + "\r\n"
	}
	return requestMaker{headers: headers, seats: cfg.Seats, idempotencyKeys: cfg.IdempotencyKeys}
}

// appendPost writes the head of a POST to a path of three parts, up to where its own headers go; appendBody ends it.
func (m *requestMaker) appendPost(dst []byte, before string, id []byte, after string) []byte {
	dst = append(dst, "POST /api/v1"...)
	dst = append(dst, before...)
	dst = append(dst, id...)
	dst = append(dst, after...)
	dst = append(dst, " HTTP/1.1\r\n"...)
	dst = append(dst, m.headers...)
	return append(dst, "Content-Type: application/json\r\n"...)
}

// appendBody ends a head and writes the body.
func appendBody(dst, body []byte) []byte {
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(body)), 10)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, body...)
}

// get gives a whole GET request. Each of the extra headers is a line without its end.
func (m *requestMaker) get(path string, extra ...string) []byte {
	request := "GET /api/v1" + path + " HTTP/1.1\r\n" + m.headers
	for _, header := range extra {
		request += header + "\r\n"
	}
	return []byte(request + "\r\n")
}
