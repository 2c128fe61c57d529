package rest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Clients as they are: slow, rude, many, or gone. The server answers or refuses, and lives.

const plainGet = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

// alive checks that the server still serves.
func (a *testAPI) alive() {
	a.t.Helper()
	a.call("GET", "/healthz", "").want(200, "")
}

func TestSlowClients(t *testing.T) {
	a := startAPI(t, func(c *Config) { c.ReadTimeout, c.IdleTimeout = 300*time.Millisecond, 600*time.Millisecond })
	for name, start := range map[string]string{
		"nothing at all":  "",
		"half a line":     "GET /api/v1/cit",
		"half the header": "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A",
		"half the body":   "POST /api/v1/bookings/hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"showId\":",
		"half a chunk":    "POST /api/v1/bookings/hold HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"sho",
	} {
		conn := a.dial()
		_, _ = conn.Write([]byte(start))
		answer := readAll(t, conn) // the server gives up on it
		conn.Close()
		if start != "" && !strings.Contains(answer, codeInvalidRequest) {
			t.Errorf("%s: got %.300q", name, answer)
		}
	}
	// One byte now and then does not keep a request alive: the time is for the whole of it.
	conn := a.dial()
	defer conn.Close()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			if _, err := conn.Write([]byte("G")); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond) // the client's pace
		}
	}()
	readAll(t, conn)
	conn.Close()
	<-stopped
	// An idle connection is let go.
	idle := a.dial()
	defer idle.Close()
	_, _ = idle.Write([]byte(plainGet))
	if answer := readAll(t, idle); !strings.HasPrefix(answer, "HTTP/1.1 200") {
		t.Errorf("an idle connection got %.200q", answer)
	}
	a.alive()
}

// TestHalfOpen: clients that are gone without a word, or only half there, hold nothing for long.
func TestHalfOpen(t *testing.T) {
	a := startAPI(t, func(c *Config) { c.ReadTimeout, c.IdleTimeout = 300*time.Millisecond, 600*time.Millisecond })
	open := a.server.http.GetOpenConnectionsCount()
	for i := range 200 {
		conn := a.dial().(*net.TCPConn)
		switch i % 4 {
		case 0: // sends all, wants no more to send: still gets its answer
			_, _ = conn.Write([]byte(plainGet))
			_ = conn.CloseWrite()
			if answer := readAll(t, conn); !strings.HasPrefix(answer, "HTTP/1.1 200") {
				t.Fatalf("a half-closed client got %.200q", answer)
			}
		case 1: // reset in the middle of a request
			_, _ = conn.Write([]byte(plainGet[:20]))
			_ = conn.SetLinger(0)
		case 2: // reset before the answer is read
			_, _ = conn.Write([]byte(plainGet))
			_ = conn.SetLinger(0)
		case 3: // says nothing and stays
			t.Cleanup(func() { conn.Close() })
			continue
		}
		conn.Close()
	}
	eventually(t, "the connections are gone", func() bool { return a.server.http.GetOpenConnectionsCount() <= open })
	a.alive()
}

// TestLargeBody: a body of a gigabyte is refused unread, whichever way it comes.
func TestLargeBody(t *testing.T) {
	a := startAPI(t)
	const gigabyte = 1 << 30
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a.quiet(func() {
		head := fmt.Sprintf("POST /api/v1/bookings/hold HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", gigabyte)
		a.rawCall(head+"\r\n{", "413", codeBodyTooLarge)
		if answer := a.rawCall(head+"Expect: 100-continue\r\n\r\n", "", ""); !strings.Contains(answer, codeBodyTooLarge) {
			t.Errorf("with Expect: got %.300q", answer)
		}
		// A client that just sends on still reads why.
		conn := a.dial()
		defer conn.Close()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = conn.Write([]byte(head + "\r\n"))
			_, _ = io.CopyN(conn, zeros{}, gigabyte)
		}()
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("a sending client got no answer: %v", err)
		}
		body, _ := io.ReadAll(response.Body)
		if response.StatusCode != 413 || !strings.Contains(string(body), codeBodyTooLarge) {
			t.Errorf("a sending client got %d %s", response.StatusCode, body)
		}
		conn.Close()
		<-sent
		chunks := "POST /api/v1/bookings/hold HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n40000000\r\n" + strings.Repeat(" ", BodyBytesMax+1)
		a.rawCall(chunks, "413", codeBodyTooLarge)
	})
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 64<<20 {
		t.Errorf("%d bytes were allocated to refuse four bodies", grown)
	}
	a.alive()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestManyHeaders(t *testing.T) {
	a := startAPI(t)
	var request strings.Builder
	request.WriteString("GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
	for i := range 100_000 {
		fmt.Fprintf(&request, "X-Header-%d: %d\r\n", i, i)
	}
	request.WriteString("\r\n")
	a.rawCall(request.String(), "431", codeInvalidRequest)
	a.rawCall("GET /"+strings.Repeat("x", HeaderBytesMax)+" HTTP/1.1\r\nHost: localhost\r\n\r\n", "431", codeInvalidRequest)
	for _, garbage := range []string{"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", "hello\r\n\r\n", "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n"} {
		answer := a.rawCall(garbage, "", "")
		if answer != "" && !strings.Contains(answer, " 400 ") && !strings.Contains(answer, " 404 ") && !strings.Contains(answer, " 403 ") {
			t.Errorf("%q: got %.200q", garbage, answer)
		}
	}
	a.alive()
}

// TestIdleConnections: ten thousand of them are cheap, and a buyer beside them notices nothing.
func TestIdleConnections(t *testing.T) {
	count := connectionsForTest(t, 10_000)
	a := startAPI(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	conns := make([]net.Conn, 0, count)
	defer func() {
		for _, conn := range conns {
			conn.Close()
		}
	}()
	buffer := make([]byte, 4096)
	for len(conns) < count {
		conn := a.dial()
		conns = append(conns, conn)
		if _, err := conn.Write([]byte(plainGet)); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(buffer); err != nil || !strings.HasPrefix(string(buffer[:n]), "HTTP/1.1 200") {
			t.Fatalf("connection %d: %v %.200q", len(conns), err, buffer[:n])
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	perConnection := (int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+before.StackInuse)) / int64(count)
	t.Logf("%d idle connections, %d bytes each (the client's side included)", count, perConnection)
	if perConnection > 48<<10 {
		t.Errorf("an idle connection costs %d bytes", perConnection)
	}
	start := time.Now()
	a.held(a.newShow(""), "u", "A1")
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("a hold beside them took %s", took)
	}
	for _, i := range []int{0, count / 2, count - 1} { // and each of them still works
		if _, err := conns[i].Write([]byte(plainGet)); err != nil {
			t.Fatal(err)
		}
		if n, err := conns[i].Read(buffer); err != nil || !strings.HasPrefix(string(buffer[:n]), "HTTP/1.1 200") {
			t.Fatalf("connection %d afterwards: %v %.200q", i, err, buffer[:n])
		}
	}
}

// connectionsForTest raises the limit on open files as far as it goes and gives how many connections, which take two
// files each here, fit under it.
func connectionsForTest(t *testing.T, want int) int {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur < limit.Max {
		limit.Cur = limit.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}
	const others = 500
	if fit := (int(min(limit.Cur, 1<<20)) - others) / 2; fit < want {
		t.Logf("the limit of %d open files lets the test open %d connections instead of %d", limit.Cur, fit, want)
		return fit
	}
	return want
}

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
