package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Limits of a call.
const (
	// attemptsMax is how often a call is tried while the server says that it did not apply it.
	attemptsMax = 5
	// retryWaitMax is the longest wait before the next attempt, whatever the server asks for.
	retryWaitMax = 5 * time.Second
	// answerBytesMax bounds an answer: the seat map of the largest screen is about 12 MiB.
	answerBytesMax = 64 << 20
	// pageItems is how many items a page of a listing is asked to have.
	pageItems = 1000
)

// ErrUnreachable is wrapped when no answer came back: wrong address, server down, connection cut.
var ErrUnreachable = errors.New("no answer from the server")

// Error is a refusal by the server.
type Error struct {
	Status    int
	Code      string          `json:"error"`
	Message   string          `json:"message"`
	RequestID string          `json:"requestId"`
	Details   json.RawMessage `json:"details"`
}

func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("the server answered %d", e.Status)
	}
	return fmt.Sprintf("%s (%d %s)", e.Message, e.Status, e.Code)
}

// Field is the field of the request that the server refused, or "".
func (e *Error) Field() string {
	var details struct {
		Field string `json:"field"`
	}
	_ = json.Unmarshal(e.Details, &details) // refusals without details name no field
	return details.Field
}

// notApplied reports whether the server promised that the call changed nothing and may be sent again.
func (e *Error) notApplied() bool {
	var details struct {
		Outcome string `json:"outcome"`
	}
	_ = json.Unmarshal(e.Details, &details)
	return e.Status == http.StatusServiceUnavailable && details.Outcome != "unknown"
}

// Client speaks to one server. It may be used by several goroutines at once.
type Client struct {
	base    string
	timeout time.Duration
	http    *http.Client
}

// New makes a client for the server at base, for example http://127.0.0.1:8080. Each attempt of a call takes at most
// timeout.
func New(base string, timeout time.Duration) (*Client, error) {
	parsed, err := url.Parse(base)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" ||
		strings.Trim(parsed.Path, "/") != "" || parsed.RawQuery != "" {
		return nil, fmt.Errorf("%q is no server's address; give for example http://127.0.0.1:8080", base)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	return &Client{
		base: parsed.Scheme + "://" + parsed.Host, timeout: timeout, http: &http.Client{Transport: transport},
	}, nil
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get reads path into answer. A missing thing is an *Error with status 404.
func (c *Client) Get(ctx context.Context, path string, answer any) error {
	_, err := c.call(ctx, http.MethodGet, path, nil, answer)
	return err
}

// Put writes body, which is JSON, to path. created says that it was not there before.
func (c *Client) Put(ctx context.Context, path string, body []byte) (created bool, err error) {
	status, err := c.call(ctx, http.MethodPut, path, body, nil)
	return status == http.StatusCreated, err
}

// List reads every page of a listing. path may carry a query.
func List[T any](ctx context.Context, c *Client, path string) ([]T, error) {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	path += separator + "limit=" + strconv.Itoa(pageItems)
	var items []T
	for cursor := ""; ; {
		var page struct {
			Items      []T    `json:"items"`
			NextCursor string `json:"nextCursor"`
		}
		next := path
		if cursor != "" {
			next += "&cursor=" + url.QueryEscape(cursor)
		}
		if err := c.Get(ctx, next, &page); err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if page.NextCursor == "" || page.NextCursor == cursor {
			return items, nil
		}
		cursor = page.NextCursor
	}
}

// call sends a request until it is answered with something else than "not applied, come back".
func (c *Client) call(ctx context.Context, method, path string, body []byte, answer any) (status int, err error) {
	for attempt := 1; ; attempt++ {
		wait := time.Duration(0)
		status, wait, err = c.attempt(ctx, method, path, body, answer)
		var refusal *Error
		if err == nil || attempt == attemptsMax || !errors.As(err, &refusal) || !refusal.notApplied() {
			return status, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return status, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// attempt sends a request once. wait is how long the server asks to wait before the next.
func (c *Client) attempt(
	ctx context.Context, method, path string, body []byte, answer any,
) (status int, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, 0, fmt.Errorf("%w at %s: %w", ErrUnreachable, c.base, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	if err != nil {
		return response.StatusCode, 0, fmt.Errorf("%w at %s: %w", ErrUnreachable, c.base, err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		refusal := &Error{Status: response.StatusCode}
		_ = json.Unmarshal(text, refusal) // an answer that is no JSON, say of a proxy, has its status only
		return response.StatusCode, retryAfter(response.Header), refusal
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			return response.StatusCode, 0, fmt.Errorf("%s%s: the answer is not what was expected: %w", c.base, path, err)
		}
	}
	return response.StatusCode, 0, nil
}

func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		seconds = 1
	}
	return min(time.Duration(seconds)*time.Second, retryWaitMax)
}
