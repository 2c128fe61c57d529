package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sync/errgroup"
)

// errRefused is wrapped when the server refuses a call that prepares a run.
var errRefused = errors.New("the server refused")

// catalogue prepares what the workloads need on the server, through the API. Its objects have ids of their own run,
// so that runs against one server do not meet. They stay there: the API does not delete shows.
type catalogue struct {
	address string
	prefix  string // of every id
	key     string
	client  *fasthttp.HostClient
	notice  func(string)
}

// newCatalogue prepares nothing yet. notice is told what is being prepared.
func newCatalogue(address, key string, notice func(string)) (*catalogue, error) {
	var id [3]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, fmt.Errorf("drawing the run's id: %w", err)
	}
	return &catalogue{
		address: address, prefix: "b" + hex.EncodeToString(id[:]) + "-", key: key, notice: notice,
		client: &fasthttp.HostClient{
			Addr: address, MaxConns: prepareWorkers, ReadTimeout: prepareTimeout, WriteTimeout: prepareTimeout,
			MaxIdemponentCallAttempts: 1, NoDefaultUserAgentHeader: true, MaxResponseBodySize: bodyMax,
		},
	}, nil
}

// close hangs up.
func (c *catalogue) close() { c.client.CloseIdleConnections() }

// city makes the city, theatre and movie that everything else belongs to.
func (c *catalogue) city(ctx context.Context) error {
	c.notice("preparing the catalogue")
	for _, object := range []struct {
		path string
		body map[string]any
	}{
		{"/cities/" + c.prefix + "city", map[string]any{"name": "Benchmark " + c.prefix, "state": "Load", "timeZone": "Asia/Kolkata"}},
		{"/theatres/" + c.prefix + "theatre", map[string]any{"name": "Benchmark", "cityId": c.prefix + "city", "address": "1 Load Road"}},
		{"/movies/" + c.prefix + "movie", map[string]any{"title": "The Benchmark", "language": "en", "genre": "Drama", "durationMinutes": 120}},
	} {
		if _, err := c.put(ctx, object.path, object.body); err != nil {
			return err
		}
	}
	return nil
}

// screen makes a screen of one tier.
func (c *catalogue) screen(ctx context.Context, id string, seats layout) error {
	var rows []map[string]any
	for row := 0; row*seats.rowSize < seats.seats; row++ {
		last := min(seats.rowSize, seats.seats-row*seats.rowSize)
		rows = append(rows, map[string]any{"row": rowLabel(row), "tier": "STANDARD", "seats": fmt.Sprintf("1-%d", last)})
	}
	_, err := c.put(ctx, "/screens/"+id, map[string]any{"theatreId": c.prefix + "theatre", "name": id, "rows": rows})
	return err
}

// shows makes count shows of a screen, several at once. Their holds outlive the run: expiry is no part of it.
func (c *catalogue) shows(ctx context.Context, screen string, count int64, id func(int64) string) error {
	c.notice(fmt.Sprintf("preparing %d shows of %s", count, screen))
	body := map[string]any{
		"movieId": c.prefix + "movie", "screenId": screen, "currency": "INR", "holdSeconds": 3600, "maxSeatsPerBooking": seatsMax,
		"startsAt": time.Now().Add(30 * 24 * time.Hour).UTC().Format(time.RFC3339),
		"pricing":  map[string]any{"strategy": "flat", "amount": 20000},
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(prepareWorkers)
	for i := range count {
		group.Go(func() error {
			_, err := c.put(ctx, "/shows/"+id(i), body)
			return err
		})
	}
	return group.Wait()
}

// reply is an answer to a call that prepares.
type reply struct {
	status int
	eTag   string
	body   []byte
}

// put sends a JSON body and wants a 2xx.
func (c *catalogue) put(ctx context.Context, path string, body any) (*reply, error) {
	return c.call(ctx, http.MethodPut, path, body)
}

// call sends one request and gives its 2xx answer.
func (c *catalogue) call(ctx context.Context, method, path string, body any) (*reply, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	request, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(answer)
	request.Header.SetMethod(method)
	request.SetRequestURI("http://" + c.address + "/api/v1" + path)
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		request.Header.SetContentType("application/json")
		request.SetBody(text)
	}
	if err := c.client.DoTimeout(request, answer, prepareTimeout); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if answer.StatusCode() >= 300 {
		return nil, fmt.Errorf("%w: %s %s: %d %s", errRefused, method, path, answer.StatusCode(), answer.Body())
	}
	return &reply{
		status: answer.StatusCode(), eTag: string(answer.Header.Peek("ETag")), body: append([]byte(nil), answer.Body()...),
	}, nil
}
