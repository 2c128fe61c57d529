package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serve starts an HTTP server that answers with handle, and gives a client for it.
func serve(t *testing.T, handle http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	c, err := New(server.URL, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestNewRefusesWhatIsNoServer(t *testing.T) {
	for _, base := range []string{"", "127.0.0.1:8080", "ftp://x", "http://", "http://x/api", "http://x?y=1", "::"} {
		if _, err := New(base, time.Second); err == nil {
			t.Errorf("%q was taken", base)
		}
	}
	if _, err := New("http://127.0.0.1:8080/", time.Second); err != nil {
		t.Error(err)
	}
}

// What the server did not apply is sent again; what may have been applied is not.
func TestRetries(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		calls      int32
	}{
		{"overloaded", `{"error":"OVERLOADED","details":{"outcome":"not_applied"}}`, 503, 2},
		{"unknown", `{"error":"UNAVAILABLE","details":{"outcome":"unknown"}}`, 503, 1},
		{"refused", `{"error":"INVALID_REQUEST","details":{"field":"name"}}`, 400, 1},
		{"proxy", `<html>`, 502, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // each waits a second for its Retry-After
			var calls atomic.Int32
			client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if calls.Add(1) == 1 {
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(c.status)
					fmt.Fprint(w, c.body)
					return
				}
				w.WriteHeader(http.StatusCreated)
			})
			created, err := client.Put(t.Context(), "/x", []byte("{}"))
			if calls.Load() != c.calls {
				t.Errorf("%d calls, want %d", calls.Load(), c.calls)
			}
			var refusal *Error
			switch {
			case c.calls == 2 && (err != nil || !created):
				t.Errorf("got %v, %v", created, err)
			case c.calls == 1 && (!errors.As(err, &refusal) || refusal.Status != c.status):
				t.Errorf("got %v", err)
			case c.status == 400 && refusal.Field() != "name":
				t.Errorf("field %q", refusal.Field())
			}
		})
	}
}

func TestGivesUpWhenToldTo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if err := client.Get(ctx, "/x", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	client, err := New(server.URL, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Get(t.Context(), "/x", nil); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), server.URL) {
		t.Errorf("got %v", err)
	}
}

func TestListReadsEveryPage(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("q") != "a b" || r.URL.Query().Get("limit") == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		switch r.URL.Query().Get("cursor") {
		case "":
			fmt.Fprint(w, `{"items":[1,2],"nextCursor":"a&b"}`)
		case "a&b":
			fmt.Fprint(w, `{"items":[3]}`)
		}
	})
	items, err := List[int](t.Context(), client, "/x?q=a+b")
	if err != nil || len(items) != 3 {
		t.Errorf("got %v, %v", items, err)
	}
}
