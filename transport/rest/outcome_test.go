package rest

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/houseful/houseful/cluster"
	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// refused checks a 503: its outcome, and when to ask again.
func (r *answer) refused(code, outcome string) {
	r.t.Helper()
	if r.want(503, code).is("details.outcome", outcome).header.Get("Retry-After") == "" {
		r.t.Errorf("%s: no Retry-After", r.call)
	}
}

// TestDiskFull: below the floor of free space every write is refused before it reaches a log, and every read goes on.
// The refusals are not lines in the log.
func TestDiskFull(t *testing.T) {
	config := nodeConfig(t)
	var show, id string
	var starts fsm.Time
	t.Run("room", func(t *testing.T) {
		a := startAPIOn(t, config)
		a.catalogue()
		show = a.newShow("")
		id = a.held(show, "u", "A1")
		starts = a.node.Now().Add(96 * time.Hour)
		a.call("GET", "/readyz", "").want(200, "")
	})
	t.Run("no room", func(t *testing.T) {
		config.FreeSpaceFloorBytes = math.MaxInt64
		var log logLines
		a := startAPIOn(t, config, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		applied, before := a.applied(), a.booking(id)
		base := "/api/v1/shows/" + show
		a.hold(show, "u", "A2", "Idempotency-Key", "k").refused(codeUnavailable, notApplied)
		a.confirm(id, "u", "PAY-1").refused(codeUnavailable, notApplied)
		a.on(id, "confirm", `{"userId":"u","paymentMethod":"sandbox-declined"}`).refused(codeUnavailable, notApplied)
		for deed, body := range map[string]string{"extend": `{"userId":"u"}`, "cancel": `{"userId":"u"}`, "release": `{"userId":"u","reason":"abandoned"}`} {
			a.on(id, deed, body).refused(codeUnavailable, notApplied)
		}
		a.call("POST", base+"/block", `{"seats":["B1"]}`).refused(codeUnavailable, notApplied)
		a.call("POST", base+"/pause", "").refused(codeUnavailable, notApplied)
		a.call("PUT", "/api/v1/cities/MUM", `{"name":"Mumbai","timeZone":"Asia/Kolkata"}`).refused(codeUnavailable, notApplied)
		a.call("PUT", base, fmt.Sprintf(`{"movieId":"MV-1","screenId":"SCR-1","startsAt":%q,"currency":"INR","pricing":{"strategy":"tier","base":{"SILVER":15000,"GOLD":20001}}}`,
			rfc3339(starts))).refused(codeUnavailable, notApplied)
		if now := a.applied(); now != applied {
			t.Errorf("the groups were at %d and are at %d", applied, now)
		}
		a.booking(id).is("status", "PENDING").is("version", before.text("version"))
		a.call("GET", base+"/seats", "").want(200, "").is("counts.held", "1").is("counts.blocked", "0")
		for _, path := range []string{base, base + "/availability", base + "/layout", "/api/v1/cities/BLR", "/api/v1/bookings?userId=u", base + "/audit", "/healthz"} {
			a.call("GET", path, "").want(200, "")
		}
		a.call("GET", "/api/v1/cities/MUM", "").want(404, codeCityNotFound)
		if r := a.call("GET", "/readyz", "").want(503, codeUnavailable); !strings.Contains(r.text("message"), "disk space") {
			t.Errorf("not ready because of %s", r.text("message"))
		}
		if lines := log.get(); len(lines) > 0 {
			t.Errorf("refusals without effect were logged: %q", lines)
		}
	})
}

// faulty is a node's commands, some of which go wrong.
type faulty struct {
	commands
	hold    func(next commands, c *wire.Hold) (*fsm.Result, error)
	confirm func(next commands, ref fsm.BookingRef, c *wire.Confirm) (*fsm.Result, error)
}

func (f faulty) Hold(c *wire.Hold) (*fsm.Result, error) { return f.hold(f.commands, c) }

func (f faulty) Confirm(ref fsm.BookingRef, c *wire.Confirm) (*fsm.Result, error) {
	return f.confirm(f.commands, ref, c)
}

// TestUnknownOutcome: a call that may have been done says so, is logged, and can be asked again: with the same key, or by
// its reference, it is done once. (M-16, M-21)
func TestUnknownOutcome(t *testing.T) {
	for _, done := range []bool{true, false} {
		t.Run(fmt.Sprintf("done %v", done), func(t *testing.T) {
			var log logLines
			a := startAPI(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			show := a.newShow("")
			healthy := a.server.commands
			lost := func(do func() (*fsm.Result, error)) (*fsm.Result, error) {
				if done {
					if r, err := do(); err != nil || r.Code != fsm.CodeOK {
						t.Errorf("the command answered %+v, %v", r, err)
					}
				}
				return nil, fmt.Errorf("the leader is gone: %w", cluster.ErrUnknown)
			}
			a.server.commands = faulty{
				commands: healthy,
				hold: func(next commands, c *wire.Hold) (*fsm.Result, error) {
					return lost(func() (*fsm.Result, error) { return next.Hold(c) })
				},
				confirm: func(next commands, ref fsm.BookingRef, c *wire.Confirm) (*fsm.Result, error) {
					return lost(func() (*fsm.Result, error) { return next.Confirm(ref, c) })
				},
			}
			first := a.hold(show, "u", "A1 A2", "Idempotency-Key", "k")
			first.refused(codeUnavailable, outcomeUnknown)
			a.server.commands = healthy
			r := a.hold(show, "u", "A1 A2", "Idempotency-Key", "k").want(201, "")
			if replayed := r.header.Get("Idempotent-Replayed") == "true"; replayed != done {
				t.Errorf("replayed is %v", replayed)
			}
			id := r.text("id")
			a.server.commands = faulty{commands: healthy, hold: nil, confirm: func(next commands, ref fsm.BookingRef, c *wire.Confirm) (*fsm.Result, error) {
				return lost(func() (*fsm.Result, error) { return next.Confirm(ref, c) })
			}}
			second := a.confirm(id, "u", "PAY-1")
			second.refused(codeUnavailable, outcomeUnknown)
			a.server.commands = healthy
			a.confirm(id, "u", "PAY-1").want(200, "").is("status", "CONFIRMED")
			a.call("GET", "/api/v1/shows/"+show+"/seats", "").want(200, "").is("counts.booked", "2").is("counts.held", "0")
			lines := log.get()
			if len(lines) != 2 || !strings.Contains(lines[0], first.text("requestId")) || !strings.Contains(lines[1], second.text("requestId")) {
				t.Errorf("each unknown outcome is one line with its request id; got %q", lines)
			}
		})
	}
}

// TestOverloaded: a full queue is a refusal without effect, and no line in the log.
func TestOverloaded(t *testing.T) {
	var log logLines
	a := startAPI(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	show := a.newShow("")
	id := a.held(show, "u", "B1")
	healthy := a.server.commands
	a.server.commands = faulty{
		commands: healthy,
		hold:     func(commands, *wire.Hold) (*fsm.Result, error) { return nil, cluster.ErrOverloaded },
		confirm: func(commands, fsm.BookingRef, *wire.Confirm) (*fsm.Result, error) {
			return nil, fmt.Errorf("claim: %w", cluster.ErrOverloaded)
		},
	}
	a.hold(show, "u", "A1").refused(codeOverloaded, notApplied)
	a.confirm(id, "u", "PAY-1").refused(codeOverloaded, notApplied)
	a.server.commands = healthy
	a.hold(show, "u", "A1").want(201, "")
	a.confirm(id, "u", "PAY-1").want(200, "")
	if lines := log.get(); len(lines) > 0 {
		t.Errorf("refusals without effect were logged: %q", lines)
	}
	if page := string(a.call("GET", "/metrics", "").want(200, "").raw); !strings.Contains(page, `route="holdSeats",status="503"} 1`) {
		t.Error("the refusal is not counted")
	}
}
