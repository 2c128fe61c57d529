package rest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestConnectionLimit: a connection too many is told so, and one that leaves makes room.
func TestConnectionLimit(t *testing.T) {
	a := startAPI(t, func(c *Config) { c.ConnectionsMax = 4 })
	a.client.CloseIdleConnections()
	eventually(t, "the harness's connections are gone", func() bool { return a.server.http.GetOpenConnectionsCount() <= 1 })
	var conns []net.Conn
	for range 4 {
		conn := a.dial()
		defer conn.Close()
		if _, err := conn.Write([]byte(plainGet)); err != nil {
			t.Fatal(err)
		}
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	answer := readAll(t, a.dial())
	if !strings.HasPrefix(answer, "HTTP/1.1 503") || !strings.Contains(answer, codeOverloaded) || !strings.Contains(answer, "Retry-After") || !strings.Contains(answer, "not_applied") {
		t.Errorf("the fifth connection got %q", answer)
	}
	for _, conn := range conns {
		conn.Close()
	}
	eventually(t, "there is room again", func() bool {
		conn := a.dial()
		defer conn.Close()
		_, _ = conn.Write([]byte("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
		return strings.HasPrefix(readAll(t, conn), "HTTP/1.1 200")
	})
}

// scarceListener fails as accept does when the process has no files left.
type scarceListener struct {
	net.Listener
	failures int
}

func (l *scarceListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// TestOutOfFiles: running out of open files does not end the server.
func TestOutOfFiles(t *testing.T) {
	a := startAPI(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := newLimitedListener(&scarceListener{Listener: listener, failures: 5}, a.server)
	go func() {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err == nil {
			conn.Close()
		}
	}()
	conn, err := limited.Accept()
	if err != nil {
		t.Fatalf("after a shortage: %v", err)
	}
	conn.Close()
	listener.Close()
	if _, err := limited.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener: %v", err)
	}
}

// TestRequestLimit: a request too many is refused at once.
func TestRequestLimit(t *testing.T) {
	a := startAPI(t, func(c *Config) { c.RequestsMax = 3 })
	a.server.inFlight.Add(3)
	r := a.call("GET", "/healthz", "").want(503, codeOverloaded).is("details.outcome", "not_applied")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	a.server.inFlight.Add(-3)
	a.alive()
}

// TestPanic: a bug in one handler costs one request, with its line in the log.
func TestPanic(t *testing.T) {
	var log logLines
	a := startAPI(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	var params [pathParamsMax][]byte
	a.server.router.find([]byte("/api/v1/cities"), &params).routes[methodGet].Handle = func(c *Call) error {
		c.setHeader("Location", "/nowhere")
		_ = c.answer(200, append(c.buffer(), `{"half":`...))
		panic("a bug")
	}
	r := a.call("GET", "/api/v1/cities", "").want(500, codeInternal)
	if r.header.Get("Location") != "" {
		t.Error("the half-made answer's headers are there")
	}
	if lines := strings.Join(log.get(), ""); !strings.Contains(lines, "a bug") || !strings.Contains(lines, r.text("requestId")) || !strings.Contains(lines, "connections_test.go") || len(log.get()) != 1 {
		t.Errorf("the log is %q", lines)
	}
	a.alive()
}

// TestPipelining: requests sent at once are answered in order.
func TestPipelining(t *testing.T) {
	a := startAPI(t)
	conn := a.dial()
	defer conn.Close()
	const count = 50
	var requests strings.Builder
	for i := range count {
		fmt.Fprintf(&requests, "GET /api/v1/nothing HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: r%d\r\n\r\n", i)
	}
	if _, err := conn.Write([]byte(requests.String())); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	for i := range count {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		if got, want := response.Header.Get("X-Request-Id"), fmt.Sprintf("r%d", i); got != want {
			t.Fatalf("answer %d is to %s", i, got)
		}
	}
}

// TestShutdown: what is in flight is finished, nothing new begins.
func TestShutdown(t *testing.T) {
	a := startAPI(t)
	show := a.newShow(`,"maxHoldsPerUser":1000`)
	var group sync.WaitGroup
	results := make(chan string, 40)
	for i := range 40 {
		group.Go(func() {
			request, err := http.NewRequest("POST", a.url+"/api/v1/bookings/hold", strings.NewReader(holdBody(show, "u", fmt.Sprintf("%c%d", 'A'+i/10, i%10+1))))
			if err != nil {
				results <- err.Error()
				return
			}
			response, err := a.client.Do(request)
			if err != nil {
				results <- "refused" // its connection came too late
				return
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				results <- fmt.Sprintf("answer cut off: %v", err)
				return
			}
			results <- fmt.Sprintf("%d %s", response.StatusCode, body[:min(len(body), 20)])
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), testDeadline)
	defer cancel()
	if err := a.server.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	close(results)
	for result := range results {
		if result != "refused" && !strings.HasPrefix(result, "201 ") {
			t.Errorf("a hold during the shutdown: %s", result)
		}
	}
	if _, err := net.DialTimeout("tcp", a.addr, time.Second); err == nil {
		t.Error("the server still listens")
	}
}
