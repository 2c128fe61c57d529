package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"

	"github.com/valyala/fasthttp"
)

// parseRequest reads a request as a server does.
func parseRequest(t *testing.T, text []byte) *fasthttp.Request {
	t.Helper()
	var request fasthttp.Request
	reader := bufio.NewReader(bytes.NewReader(text))
	if err := request.Read(reader); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	if reader.Buffered() > 0 {
		t.Fatalf("%d bytes follow the request", reader.Buffered())
	}
	return &request
}

func newTestHold(t *testing.T, confirm bool) *holdWorkload {
	t.Helper()
	cfg := defaultConfig()
	cfg.Key, cfg.IdempotencyKeys, cfg.AcceptEncoding = "hf_1_s", true, "gzip"
	server, err := newCatalogue("127.0.0.1:9", "", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	w := newHoldWorkload(newRequestMaker(&cfg, "127.0.0.1:9"), server, holdOptions{name: "t", spread: 2, showSeats: 100, confirm: confirm})
	w.plan.made(2)
	return w
}

// TestHoldRequests reads what a session writes with a real parser, for both sides.
func TestHoldRequests(t *testing.T) {
	w := newTestHold(t, true)
	lengths := map[int]bool{}
	for _, kind := range []sideKind{sideReal, sideEcho} {
		s := w.session(kind, 0)
		text, step, ok := s.next(nil)
		if !ok || step != 0 {
			t.Fatalf("step %d, %v", step, ok)
		}
		request := parseRequest(t, text)
		var body struct {
			ShowID string   `json:"showId"`
			Seats  []string `json:"seats"`
			UserID string   `json:"userId"`
		}
		if err := json.Unmarshal(request.Body(), &body); err != nil {
			t.Fatalf("%v in %s", err, request.Body())
		}
		if body.ShowID == "" || len(body.Seats) != 2 || body.UserID == "" || string(request.URI().Path()) != "/api/v1/bookings/hold" {
			t.Fatalf("%s", request)
		}
		for name, want := range map[string]string{
			"Host": "127.0.0.1:9", "Authorization": "Bearer hf_1_s", "Accept-Encoding": "gzip", "Content-Type": "application/json",
		} {
			if got := string(request.Header.Peek(name)); got != want {
				t.Errorf("%s: %q", name, got)
			}
		}
		if len(request.Header.Peek("Idempotency-Key")) == 0 {
			t.Error("no Idempotency-Key")
		}

		s.answered(outcomeDone, &response{status: 201, body: []byte(`{"id":"BMS-1","x":1}`)})
		text, step, _ = s.next(nil)
		request = parseRequest(t, text)
		if step != 1 || string(request.URI().Path()) != "/api/v1/bookings/BMS-1/confirm" || !json.Valid(request.Body()) {
			t.Fatalf("step %d: %s", step, request)
		}
		lengths[len(text)] = true
		s.answered(outcomeRefused, &response{status: 409})
		if _, step, _ = s.next(nil); step != 0 {
			t.Fatal("a refused confirm was tried again")
		}
		s.answered(outcomeRefused, &response{status: 409})
		if _, step, _ = s.next(nil); step != 0 {
			t.Fatal("a refused hold was confirmed")
		}
	}
	if len(lengths) != 1 {
		t.Errorf("requests to the two sides differ in length: %v", lengths)
	}
}

// TestHoldSessionAllocates nothing: the client shares the processors with the server it measures.
func TestHoldSessionAllocates(t *testing.T) {
	w := newTestHold(t, false)
	s := w.session(sideEcho, 0)
	buffer, _, _ := s.next(nil)
	answer := response{status: 201, body: []byte(`{"id":"BMS-1"}`)}
	allocations := testing.AllocsPerRun(100, func() {
		buffer, _, _ = s.next(buffer[:0])
		s.answered(outcomeDone, &answer)
	})
	if allocations != 0 {
		t.Errorf("%v allocations a request", allocations)
	}
}

func BenchmarkHoldRequest(b *testing.B) {
	cfg := defaultConfig()
	w := newHoldWorkload(newRequestMaker(&cfg, "127.0.0.1:8080"), &catalogue{prefix: "b123456-"}, holdOptions{name: "hot", spread: 1, showSeats: screenSeatsMax})
	w.plan.made(1)
	s := w.session(sideEcho, 0)
	var buffer []byte
	b.ReportAllocs()
	for b.Loop() {
		buffer, _, _ = s.next(buffer[:0])
	}
}
