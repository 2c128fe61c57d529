package rest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
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
	for _, garbage := range []string{"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", "hello\r\n\r\n", "GET /nothing HTTP/9.9\r\nHost: localhost\r\n\r\n", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n"} {
		answer := a.rawCall(garbage, "", "")
		if answer != "" && !strings.Contains(answer, " 400 ") && !strings.Contains(answer, " 404 ") && !strings.Contains(answer, " 403 ") {
			t.Errorf("%q: got %.200q", garbage, answer)
		}
	}
	a.alive()
}

// idleAddress names the server to the process that TestIdleConnections starts: this test, once more, as its client.
// (One process may not open enough files for both ends.)
const idleAddress = "HOUSEFUL_TEST_IDLE_ADDRESS"

// TestIdleConnections: ten thousand of them are cheap, and a buyer beside them notices nothing.
func TestIdleConnections(t *testing.T) {
	count := raiseOpenFiles(t, 10_000)
	if address := os.Getenv(idleAddress); address != "" {
		beIdle(t, address, count)
		return
	}
	a := startAPI(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	client := exec.Command(os.Args[0], "-test.run=^TestIdleConnections$")
	client.Env = append(os.Environ(), idleAddress+"="+a.addr)
	release, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var output strings.Builder
	client.Stdout, client.Stderr = &output, &output
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all connections are open", func() bool { return int(a.server.http.GetOpenConnectionsCount()) > count })
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+before.StackInuse)) / int64(count)
	t.Logf("%d idle connections, %d bytes each", count, each)
	if each > 32<<10 {
		t.Errorf("an idle connection costs %d bytes", each)
	}
	start := time.Now()
	a.held(a.newShow(""), "u", "A1")
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("a hold beside them took %s", took)
	}
	release.Close()
	if err := client.Wait(); err != nil {
		t.Errorf("the idle clients: %v: %s", err, output.String())
	}
}

// beIdle opens connections, uses each once, and keeps them until its input ends; then each must still work.
func beIdle(t *testing.T, address string, count int) {
	conns := make([]net.Conn, count)
	use := func(conn net.Conn) {
		t.Helper()
		buffer := make([]byte, 4096)
		if _, err := conn.Write([]byte(plainGet)); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(buffer); err != nil || !strings.HasPrefix(string(buffer[:n]), "HTTP/1.1 200") {
			t.Fatalf("%v %.200q", err, buffer[:n])
		}
	}
	for i := range conns {
		conn, err := net.DialTimeout("tcp", address, testDeadline)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(2 * testDeadline))
		use(conn)
		conns[i] = conn
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	for _, conn := range conns {
		use(conn)
	}
}

// raiseOpenFiles raises the limit on open files as far as it goes and gives how many connections fit under it.
func raiseOpenFiles(t *testing.T, want int) int {
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
	count, err := connectionsWithin(uint64(limit.Cur), want)
	if err != nil {
		t.Fatal(err)
	}
	if count < want {
		t.Logf("the limit of %d open files lets the test open %d connections instead of %d", limit.Cur, count, want)
	}
	return count
}

// connectionsWithin gives how many of the wanted connections fit under a limit on open files, beside the files of a
// test. Too few to prove anything are an error.
func connectionsWithin(openFiles uint64, want int) (int, error) {
	const others, least = 500, 1000
	count := min(int(min(openFiles, 1<<20))-others, want)
	if count < least {
		return 0, fmt.Errorf("the limit of %d open files is too low: raise it to %d (ulimit -n)", openFiles, want+others)
	}
	return count, nil
}

func TestConnectionsWithin(t *testing.T) {
	for openFiles, want := range map[uint64]int{0: 0, 1024: 0, 1499: 0, 1500: 1000, 4096: 3596, 10_500: 10_000, 1 << 20: 10_000, 1<<64 - 1: 10_000} {
		if count, err := connectionsWithin(openFiles, 10_000); count != want || (err != nil) != (want == 0) {
			t.Errorf("%d open files: %d connections, %v; want %d", openFiles, count, err, want)
		}
	}
}
