package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/valyala/fasthttp"
)

// TestMain lets the test binary be the echo, which is this binary again.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == echoCommand {
		os.Exit(runMain(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(serveFake(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// serveFake is the test binary as `houseful serve`: with --broken it ends at once, else when it is asked to.
func serveFake(args []string) int {
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	folder, address := flags.String("data-dir", "", ""), flags.String("http", "", "")
	broken := flags.Bool("broken", false, "")
	if err := flags.Parse(args); err != nil || *broken {
		fmt.Fprintln(os.Stderr, "no room at the inn", err)
		return 3
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := os.MkdirAll(*folder, 0o700); err != nil {
		return 1
	}
	server := &fasthttp.Server{Handler: newFake().serve}
	go func() {
		<-ctx.Done()
		_ = server.Shutdown()
	}()
	if err := server.ListenAndServe(*address); err != nil {
		return 1
	}
	return 0
}

// fakeServer answers as Houseful does, from memory, as far as the benchmark looks. It refuses a seat that is dealt
// twice, so a plan that repeats itself shows as refusals.
type fakeServer struct {
	address string
	refuse  atomic.Int64 // answer the next so many holds with 409
	expired atomic.Int64 // …with 503, outcome unknown
	stall   atomic.Int64 // nanoseconds that the next hold takes, once

	mutex    sync.Mutex // guards what follows
	objects  map[string]bool
	held     map[string]bool // show and seat
	bookings map[string]bool // id → confirmed
	keys     map[string]bool
}

func newFake() *fakeServer {
	return &fakeServer{objects: map[string]bool{}, held: map[string]bool{}, bookings: map[string]bool{}, keys: map[string]bool{}}
}

// startFake serves on a free port until the test ends.
func startFake(t *testing.T) *fakeServer {
	t.Helper()
	f := newFake()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.address = listener.Addr().String()
	server := &fasthttp.Server{Handler: f.serve, NoDefaultServerHeader: true, CloseOnShutdown: true}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fakeServer) serve(ctx *fasthttp.RequestCtx) {
	path := strings.TrimPrefix(string(ctx.Path()), "/api/v1")
	ctx.SetContentType("application/json")
	switch {
	case path == "/readyz":
	case ctx.IsPut():
		f.put(ctx, path)
	case path == "/bookings/hold":
		f.hold(ctx)
	case strings.HasSuffix(path, "/confirm"):
		f.confirm(ctx, strings.TrimSuffix(strings.TrimPrefix(path, "/bookings/"), "/confirm"))
	case strings.HasSuffix(path, "/seats"):
		ctx.Response.Header.Set("ETag", `W/"7"`)
		if string(ctx.Request.Header.Peek("If-None-Match")) == `W/"7"` {
			ctx.SetStatusCode(304)
			return
		}
		ctx.SetBodyString(`{"version":7,"seats":"` + strings.Repeat("A", 40_000) + `"}`)
	case strings.HasSuffix(path, "/availability"):
		ctx.SetBodyString(`{"version":7,"since":"` + string(ctx.QueryArgs().Peek("since")) + `"}`)
	default:
		ctx.SetStatusCode(404)
	}
}

// put makes an object; what it refers to must be there.
func (f *fakeServer) put(ctx *fasthttp.RequestCtx, path string) {
	var body map[string]any
	if err := json.Unmarshal(ctx.PostBody(), &body); err != nil {
		ctx.Error(err.Error(), 400)
		return
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, reference := range []struct{ field, at string }{
		{"cityId", "/cities/"}, {"theatreId", "/theatres/"}, {"movieId", "/movies/"}, {"screenId", "/screens/"},
	} {
		if id, ok := body[reference.field]; ok && !f.objects[reference.at+id.(string)] {
			ctx.Error("no "+reference.at+id.(string), 404)
			return
		}
	}
	f.objects[path] = true
	ctx.SetStatusCode(201)
}

func (f *fakeServer) hold(ctx *fasthttp.RequestCtx) {
	if f.refuse.Add(-1) >= 0 {
		ctx.SetStatusCode(409)
		ctx.SetBodyString(`{"error":"SEAT_UNAVAILABLE","message":"taken"}`)
		return
	}
	if f.expired.Add(-1) >= 0 {
		ctx.SetStatusCode(503)
		ctx.SetBodyString(`{"error":"UNAVAILABLE","details":{"outcome":"unknown"}}`)
		return
	}
	if wait := f.stall.Swap(0); wait > 0 {
		timer := time.NewTimer(time.Duration(wait))
		<-timer.C
	}
	var body struct {
		ShowID string   `json:"showId"`
		Seats  []string `json:"seats"`
		UserID string   `json:"userId"`
	}
	if err := json.Unmarshal(ctx.PostBody(), &body); err != nil || body.UserID == "" {
		ctx.Error(`{"error":"INVALID_REQUEST"}`, 400)
		return
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if !f.objects["/shows/"+body.ShowID] {
		ctx.Error(`{"error":"SHOW_NOT_FOUND"}`, 404)
		return
	}
	for _, seat := range body.Seats {
		if f.held[body.ShowID+seat] {
			ctx.Error(`{"error":"SEAT_UNAVAILABLE"}`, 409)
			return
		}
		f.held[body.ShowID+seat] = true
	}
	if key := string(ctx.Request.Header.Peek("Idempotency-Key")); key != "" {
		f.keys[key] = true
	}
	id := fmt.Sprintf("BMS-%08d", len(f.bookings))
	f.bookings[id] = false
	ctx.SetStatusCode(201)
	ctx.SetBodyString(`{"id":"` + id + `","userId":"` + body.UserID + `","status":"PENDING","showVersion":` + strconv.Itoa(1_000_000+len(f.bookings)) + `}`)
}

func (f *fakeServer) confirm(ctx *fasthttp.RequestCtx, id string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	confirmed, ok := f.bookings[id]
	if !ok || confirmed {
		ctx.Error(`{"error":"BOOKING_STATE"}`, 409)
		return
	}
	f.bookings[id] = true
	ctx.SetBodyString(`{"id":"` + id + `","status":"CONFIRMED"}`)
}
