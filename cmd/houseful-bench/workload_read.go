package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// readWorkload asks for seat maps, or for what changed in them, over a fixed set of requests.
type readWorkload struct {
	name     string
	maker    requestMaker
	server   *catalogue
	plan     *seatPlan
	requests [][]byte
}

func newReadWorkload(name string, maker requestMaker, server *catalogue, cfg *config) *readWorkload {
	return &readWorkload{
		name: name, maker: maker, server: server,
		plan: newSeatPlan(server.prefix+name+"-", readShows, newLayout(cfg.ShowSeats, cfg.Seats), cfg.Seats),
	}
}

func (w *readWorkload) steps() []step { return []step{{name: w.name}} }

// stock makes the shows and their requests the first time. Reading uses nothing up.
func (w *readWorkload) stock(ctx context.Context, _ int64) error {
	if len(w.requests) > 0 {
		return nil
	}
	screen := w.plan.prefix + "screen"
	if err := w.server.screen(ctx, screen, w.plan.layout); err != nil {
		return err
	}
	id := func(show int64) string { return string(w.plan.appendShow(nil, show)) }
	if err := w.server.shows(ctx, screen, readShows, id); err != nil {
		return err
	}
	w.plan.made(readShows)
	for show := range int64(readShows) {
		request, err := w.prepareShow(ctx, show, id(show))
		if err != nil {
			return err
		}
		w.requests = append(w.requests, request)
	}
	return nil
}

// prepareShow sells a few seats of a show, so that it has a past, and gives the request to be repeated.
func (w *readWorkload) prepareShow(ctx context.Context, show int64, id string) ([]byte, error) {
	before, err := w.version(ctx, "/shows/"+id+"/availability")
	if err != nil {
		return nil, err
	}
	newest := before
	for i := range int64(deltaChanges) {
		if newest, err = w.hold(ctx, show, id, i); err != nil {
			return nil, err
		}
	}
	path := "/shows/" + id + "/seats"
	// Both endpoints answer from the same versions; asking for the newest one once makes every later answer as new.
	current, err := w.server.call(ctx, http.MethodGet, path+"?minVersion="+strconv.FormatInt(newest, 10), nil)
	if err != nil {
		return nil, err
	}
	switch w.name {
	case workloadDelta:
		return w.maker.get("/shows/" + id + "/availability?since=" + strconv.FormatInt(before, 10)), nil
	case workloadSeatsETag:
		if current.eTag == "" {
			return nil, fmt.Errorf("GET %s: the answer has no ETag", path)
		}
		return w.maker.get(path, "If-None-Match: "+current.eTag), nil
	default:
		return w.maker.get(path), nil
	}
}

// version reads the version of a show.
func (w *readWorkload) version(ctx context.Context, path string) (int64, error) {
	answer, err := w.server.call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, err
	}
	var body struct {
		Version int64 `json:"version"`
	}
	if err := json.Unmarshal(answer.body, &body); err != nil {
		return 0, fmt.Errorf("GET %s: %w", path, err)
	}
	return body.Version, nil
}

// hold takes the show's booking with the given number and gives the version that contains it.
func (w *readWorkload) hold(ctx context.Context, show int64, id string, number int64) (int64, error) {
	at := w.plan.place(show + number*readShows)
	var seats json.RawMessage = append(w.plan.appendSeats([]byte{'['}, at), ']')
	answer, err := w.server.call(ctx, http.MethodPost, "/bookings/hold", map[string]any{
		"showId": id, "seats": seats, "userId": string(appendUser(nil, number)),
	})
	if err != nil {
		return 0, err
	}
	var body struct {
		ShowVersion int64 `json:"showVersion"`
	}
	if err := json.Unmarshal(answer.body, &body); err != nil {
		return 0, fmt.Errorf("POST /bookings/hold: %w", err)
	}
	return body.ShowVersion, nil
}

func (w *readWorkload) session(_ sideKind, connection int) session {
	return &readSession{requests: w.requests, at: connection}
}

// readSession asks for one show after the other.
type readSession struct {
	requests [][]byte
	at       int
}

func (s *readSession) next(dst []byte) (request []byte, step int, ok bool) {
	s.at++
	return append(dst, s.requests[s.at%len(s.requests)]...), 0, true
}

func (s *readSession) answered(outcome, *response) {}
