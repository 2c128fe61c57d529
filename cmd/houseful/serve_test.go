package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// oneShow is a catalogue with one show of 500 seats that is on sale.
func oneShow(t *testing.T) string {
	t.Helper()
	var rows strings.Builder
	for row := 'A'; row <= 'T'; row++ {
		fmt.Fprintf(&rows, "      - {row: %c, tier: SILVER, seats: 1-25}\n", row)
	}
	text := fmt.Sprintf(`cities:
  - {id: BLR, name: Bengaluru, timeZone: Asia/Kolkata}
movies:
  - {id: M, title: Dune, durationMinutes: 155}
theatres:
  - {id: T, name: Forum, cityId: BLR}
screens:
  - id: S
    theatreId: T
    name: Audi 1
    rows:
%sshows:
  - {id: 1, movieId: M, screenId: S, startsAt: %s, currency: INR, pricing: {strategy: flat, amount: 20000}}
`, rows.String(), time.Now().Add(48*time.Hour).Format(time.RFC3339))
	path := filepath.Join(t.TempDir(), "one-show.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load loads a catalogue into a server with the command that people use.
func (c *child) load(file string) {
	c.t.Helper()
	if code, _, stderr := runHere(c.t, "load", file, "--server", c.address); code != exitOK {
		c.t.Fatalf("load: exit %d: %s", code, stderr)
	}
}

func TestServeAnswersAndStops(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	server := startServer(t, folder)
	server.must(http.StatusOK, "GET", "/healthz", "")
	server.must(http.StatusOK, "GET", "/readyz", "")
	server.waitFor("no keys")
	server.stop()
	server.waitFor("stopped")

	// A restart finds its folder again; another number of shards is not what it was born with.
	startServer(t, folder).stop()
	other := spawn(t, "serve", "--data-dir", folder, "--http", "127.0.0.1:0", "--shards", "3")
	if code := other.exitCode(); code != exitFailed || !strings.Contains(other.logText(), "leave --shards out") {
		t.Errorf("other shards: exit %d: %s", code, other.logText())
	}
}

func TestServeRefusesAFolderInUse(t *testing.T) {
	folder := t.TempDir()
	startServer(t, folder)
	code, _, stderr := runHere(t, "serve", "--data-dir", folder, "--http", "127.0.0.1:0")
	if code != exitFailed || !strings.Contains(stderr, "give another --data-dir") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// A stop under load answers everything that was taken, exits with 0, and what was acknowledged is there afterwards.
func TestGracefulStopUnderLoad(t *testing.T) {
	folder := t.TempDir()
	server := startServer(t, folder)
	server.load(oneShow(t))
	var mu sync.Mutex
	held := map[string]string{} // booking by seat
	var buyers sync.WaitGroup
	seat := func(i int) string { return fmt.Sprintf("%c%d", 'A'+i/25, i%25+1) }
	started := make(chan struct{}, 500)
	for buyer := range 20 {
		buyers.Go(func() {
			for i := buyer; i < 500; i += 20 {
				body := fmt.Sprintf(`{"showId":"1","seats":[%q],"userId":"u%d"}`, seat(i), i)
				status, answer, err := server.call("POST", "/api/v1/bookings/hold", body)
				switch {
				case err != nil:
					return // the port is closed: not taken
				case status == http.StatusCreated:
					mu.Lock()
					held[seat(i)], _ = answer["id"].(string)
					mu.Unlock()
					started <- struct{}{}
				case status == http.StatusServiceUnavailable:
					return // refused while stopping
				default:
					t.Errorf("hold: %d %v", status, answer)
					return
				}
			}
		})
	}
	for range 50 {
		<-started // the load is under way
	}
	server.signal(syscall.SIGTERM)
	if code := server.exitCode(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	buyers.Wait()

	again := startServer(t, folder)
	for label, id := range held {
		booking := again.must(http.StatusOK, "GET", "/api/v1/bookings/"+id, "")
		if labels := fmt.Sprint(booking["seatLabels"]); labels != "["+label+"]" {
			t.Errorf("%s holds %s, want %s", id, labels, label)
		}
	}
	code, stdout, stderr := runHere(t, "audit", "--server", again.address)
	if code != exitOK {
		t.Errorf("audit: exit %d\n%s%s", code, stdout, stderr)
	}
	again.stop()
}

// A request whose head has arrived when the stop begins is answered.
func TestGracefulStopFinishesARequest(t *testing.T) {
	server := startServer(t, t.TempDir())
	server.load(oneShow(t))
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	body := `{"showId":"1","seats":["A1"],"userId":"u"}`
	head := "POST /api/v1/bookings/hold HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n" +
		fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	goOn, err := reader.ReadString('\n') // the server has the head
	if err != nil || !strings.Contains(goOn, "100") {
		t.Fatalf("got %q, %v", goOn, err)
	}
	if _, err := reader.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	server.signal(syscall.SIGTERM)
	server.waitFor("stopping")
	if _, err := io.WriteString(conn, body); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if answer, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusCreated {
		t.Errorf("%d %s, %v", response.StatusCode, answer, err)
	}
	if code := server.exitCode(); code != exitOK {
		t.Errorf("exit %d", code)
	}
}

// A second signal does not wait for what is in flight.
func TestSecondSignalStopsAtOnce(t *testing.T) {
	server := startServer(t, t.TempDir(), "--stop-timeout", "1h")
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	head := "POST /api/v1/bookings/hold HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n"
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	server.signal(syscall.SIGTERM)
	server.waitFor("stopping")
	server.signal(syscall.SIGTERM)
	if code := server.exitCode(); code != exitSignal+int(syscall.SIGTERM) {
		t.Errorf("exit %d", code)
	}
}

// docs/OPERATIONS.md lists every metric of ours, and nothing else.
func TestMetricsAreDocumented(t *testing.T) {
	server := startServer(t, t.TempDir())
	server.must(http.StatusOK, "GET", "/healthz", "") // a counter with labels shows up with its first count
	response, err := http.Get(server.address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile("(?m)^\\| `(houseful_[a-z_]+)` \\| (counter|gauge|histogram) \\|").FindAllStringSubmatch(string(page), -1)
	kinds := map[string]string{}
	for _, line := range listed {
		kinds[line[1]] = line[2]
	}
	shown := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^# TYPE (houseful_[a-z_]+) (\w+)$`).FindAllStringSubmatch(string(metrics), -1) {
		shown[line[1]] = true
		if kinds[line[1]] != line[2] {
			t.Errorf("%s is a %s; the page says %q", line[1], line[2], kinds[line[1]])
		}
	}
	for name := range kinds {
		if !shown[name] {
			t.Errorf("the page has %s, the server has not", name)
		}
	}
	for _, name := range []string{"go_goroutines ", "process_open_fds "} {
		if !strings.Contains(string(metrics), "\n"+name) {
			t.Errorf("no %s among the metrics", name)
		}
	}
}
