package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/houseful/houseful/cluster"
)

func TestOperations(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	a.held(show, "u", "A1 A2")
	a.call("GET", "/healthz", "").want(200, "").is("status", "ok")
	a.call("GET", "/readyz", "").want(200, "").is("status", "ready")
	a.call("GET", "/api/v1/cluster", "").want(200, "").is("nodes.0.id", "n1").is("nodes.0.status", "UP").is("nodes.0.replicas", "3").is("nodes.0.leaders", "3").
		is("shards.0.id", "meta").is("shards.1.id", "0").is("shards.2.id", "1").is("shards.1.leader", "n1").is("shards.1.replicas.0.role", "VOTER").
		is("shards.1.replicas.0.lag", "0").is("featureVersion", "1")
	a.call("GET", "/api/v1/audit", "").want(200, "").is("ok", "true").is("groups.0.ok", "true")
	one := a.call("GET", "/api/v1/shows/"+show+"/audit", "").want(200, "").is("ok", "true").is("counts.held", "2").is("counts.total", "40").is("counts.available", "38")
	two := a.call("GET", "/api/v1/shows/"+show+"/audit?consistency=local", "").want(200, "").is("digest", one.text("digest")).is("version", one.text("version"))
	if len(two.text("digest")) != 64 {
		t.Errorf("the digest is %q", two.text("digest"))
	}
	a.call("GET", "/api/v1/shows/none/audit", "").want(404, codeShowNotFound)
	a.call("GET", "/api/v1/shows/"+show+"/audit?consistency=some", "").want(400, codeInvalidRequest).is("details.field", "consistency")
}

func TestBlock(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	call := func(deed, body string) *answer { return a.call("POST", "/api/v1/shows/"+show+"/"+deed, body) }
	a.held(show, "u", "B1")
	call("block", `{"seats":["A1","B1"],"reason":"house"}`).want(409, codeSeatUnavailable).is("details.seats.0.label", "B1").is("details.seats.0.reason", "HELD")
	done := call("block", `{"seats":["A1","A2"],"reason":"house"}`).want(200, "").is("counts.blocked", "2").is("counts.available", "37").is("status", "ON_SALE")
	call("block", `{"seatIds":[1,2]}`).want(200, "").is("version", done.text("version")) // a repeat changes nothing
	call("unblock", `{"seats":["A1"]}`).want(200, "").is("counts.blocked", "1")
	a.held(show, "v", "A1")
	call("unblock", `{"seats":["Z1"]}`).want(400, codeInvalidRequest)
	a.call("POST", "/api/v1/shows/none/block", `{"seats":["A1"]}`).want(404, codeShowNotFound)
}

func TestMetrics(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	a.held(show, "u", "A1")
	a.hold(show, "v", "A1").want(409, codeSeatUnavailable)
	a.call("GET", "/nowhere", "").want(404, codeNotFound)
	page := string(a.call("GET", "/metrics", "").want(200, "").raw)
	for _, want := range []string{
		`houseful_http_requests_total{method="POST",route="holdSeats",status="201"} 1`,
		`houseful_http_requests_total{method="POST",route="holdSeats",status="409"} 1`,
		`houseful_http_requests_total{method="any",route="none",status="404"} 1`,
		`houseful_http_request_seconds_count{route="holdSeats"} 2`,
		`houseful_http_requests_in_flight 1`, `houseful_http_connections `,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

func TestTestClock(t *testing.T) {
	a := startAPI(t, func(c *Config) { c.TestClock = true })
	before := a.node.Now()
	r := a.call("POST", "/api/v1/test/clock/advance", `{"seconds":420}`).want(200, "")
	if r.text("now") < rfc3339(before.Add(420_000_000_000)) {
		t.Errorf("the clock says %s, started from %s", r.text("now"), rfc3339(before))
	}
	b := startAPI(t, func(c *Config) { c.TestClock = false })
	b.call("POST", "/api/v1/test/clock/advance", `{"seconds":420}`).want(404, codeNotFound)
}

// TestErrorsOfTheNode: what is not applied says so, what is not known is never guessed.
func TestErrorsOfTheNode(t *testing.T) {
	s := &Server{}
	for err, want := range map[error]string{
		cluster.ErrOverloaded:                           "503 OVERLOADED not_applied",
		fmt.Errorf("hold: %w", cluster.ErrDiskFull):     "503 UNAVAILABLE not_applied",
		cluster.ErrNotReady:                             "503 UNAVAILABLE not_applied",
		cluster.ErrClosed:                               "503 UNAVAILABLE not_applied",
		cluster.ErrNotApplied:                           "503 UNAVAILABLE not_applied",
		fmt.Errorf("confirm: %w", cluster.ErrUnknown):   "503 UNAVAILABLE unknown",
		errors.New("surprise"):                          "500 INTERNAL ",
		context.DeadlineExceeded:                        "500 INTERNAL ",
		&cluster.InvalidError{Field: "f", Reason: "is"}: "400 INVALID_REQUEST ",
	} {
		e := s.classify(err)
		outcome := ""
		if _, after, ok := strings.Cut(string(e.details), `"outcome":"`); ok {
			outcome = strings.TrimSuffix(after, `"`)
		}
		if got := fmt.Sprintf("%d %s %s", e.status, e.code, outcome); got != want {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
		if (e.retryAfter > 0) != (e.status == 503) {
			t.Errorf("%v: Retry-After is %d", err, e.retryAfter)
		}
	}
}

// TestClosedNode: a node that stops refuses, over HTTP, with the outcome.
func TestClosedNode(t *testing.T) {
	var log logLines
	a := startAPI(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	show := a.newShow("")
	id := a.held(show, "u", "A1")
	a.call("GET", "/api/v1/nothing", "").want(404, codeNotFound)
	if lines := log.get(); len(lines) > 0 {
		t.Errorf("ordinary requests were logged: %q", lines)
	}
	a.audit()
	a.closed = true
	closeNode(t, a.node)
	r := a.hold(show, "u", "A2").want(503, codeUnavailable).is("details.outcome", "not_applied")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	a.on(id, "extend", `{"userId":"u"}`).want(503, codeUnavailable).is("details.outcome", "not_applied")
	a.call("GET", "/readyz", "").want(503, codeUnavailable)
	a.call("GET", "/healthz", "").want(200, "")
	for _, noun := range []string{"cities", "movies", "theatres", "screens"} { // not 404: the node cannot tell
		a.call("GET", "/api/v1/"+noun+"/none", "").want(503, codeUnavailable)
	}
	if lines := log.get(); len(lines) > 0 {
		t.Errorf("refusals without effect were logged: %q", lines)
	}
}

// logLines collects log lines.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(p))
	return len(p), nil
}

func (l *logLines) get() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}
