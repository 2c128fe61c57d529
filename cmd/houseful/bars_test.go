package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The bars of a real node: what shows take in memory, and how long a start from many bookings takes. They need an idle
// machine and some minutes, so they run only when they are asked for ("make bars").

const (
	barsVariable = "HOUSEFUL_BARS"

	barShows        = 6000
	barShowsGrowth  = 64 << 20
	barBookings     = 1_000_000
	barStart        = 5 * time.Second
	barHallSeats    = 100_000
	barHallRowSeats = 400
	barConnections  = 256
	barPatience     = 10 * time.Minute
)

func needsBars(t *testing.T) {
	t.Helper()
	if os.Getenv(barsVariable) == "" {
		t.Skipf("measures for minutes: set %s=1, or make bars", barsVariable)
	}
}

// M-2: 6,000 untouched shows of 500 seats add under 64 MiB to the memory of the process.
func TestBarUntouchedShows(t *testing.T) {
	needsBars(t)
	server := startServer(t, t.TempDir())
	putBarScreen(t, server, "S", 20, 25)
	server.mustPutBarShow("first", "S")
	before := server.settledMemory()
	began := time.Now()
	var wait sync.WaitGroup
	var next atomic.Int64
	for range 32 {
		wait.Go(func() {
			for show := next.Add(1); show <= barShows && !t.Failed(); show = next.Add(1) {
				server.putBarShow(fmt.Sprint("untouched-", show), "S")
			}
		})
	}
	wait.Wait()
	took := time.Since(began)
	after := server.settledMemory()
	growth, live := after.resident-before.resident, after.live-before.live
	t.Logf("%d shows of 500 seats in %v: resident memory grew by %.1f MiB (%.1f to %.1f), the live heap by %.1f MiB (%.1f to %.1f)",
		barShows, took.Round(time.Millisecond), mib(growth), mib(before.resident), mib(after.resident), mib(live), mib(before.live), mib(after.live))
	if growth > barShowsGrowth {
		t.Errorf("resident memory grew by %.1f MiB, more than %d", mib(growth), barShowsGrowth>>20)
	}
}

// M-41: a node with a million bookings is ready within 5 s of its start, from snapshots.
func TestBarStart(t *testing.T) {
	needsBars(t)
	dataDir := t.TempDir()
	server := startServer(t, dataDir)
	putBarScreen(t, server, "S", barHallSeats/barHallRowSeats, barHallRowSeats)
	took := fillBar(t, server)
	t.Logf("%d bookings held over HTTP in %v: %.0f a second", barBookings, took.Round(time.Millisecond), barBookings/took.Seconds())
	server.stop()

	fromLog := startBar(t, dataDir, "--snapshot-kib", "1")
	t.Logf("start from what the log has (%s): %v", openedFrom(fromLog.child), fromLog.took)
	fromLog.pollMetrics("every group has a snapshot of all", func(m map[string]float64) bool {
		for group := range 8 {
			index := func(kind string) float64 {
				return m[fmt.Sprintf(`houseful_shard_raft_index{group="%d",kind="%s"}`, group, kind)]
			}
			if index("applied") == 0 || index("applied")-index("snapshot") > 10 {
				return false
			}
		}
		return true
	})
	fromLog.stop()

	fromSnapshots := startBar(t, dataDir)
	t.Logf("start from snapshots (%s): %v", openedFrom(fromSnapshots.child), fromSnapshots.took)
	if bookings := sum(fromSnapshots.metrics(), "houseful_bookings"); bookings != barBookings {
		t.Errorf("%v bookings after the start", bookings)
	}
	if fromSnapshots.took > barStart {
		t.Errorf("ready after %v, more than %v", fromSnapshots.took, barStart)
	}
	audit := fromSnapshots.must(http.StatusOK, "GET", "/api/v1/audit", "")
	if audit["ok"] != true {
		t.Errorf("audit: %v", audit)
	}
}

func mib(bytes float64) float64 { return bytes / (1 << 20) }

// barStarted is a server that was started by the clock.
type barStarted struct {
	*child
	took time.Duration // from the start of the process until /readyz answers 200
}

func startBar(t *testing.T, dataDir string, args ...string) barStarted {
	t.Helper()
	began := time.Now()
	c := spawn(t, append([]string{"serve", "--data-dir", dataDir, "--http", "127.0.0.1:0", "--log-format", "json"}, args...)...)
	c.address, _ = c.waitFor("listening")["http"].(string)
	for {
		if status, _, err := c.call("GET", "/readyz", ""); err == nil && status == http.StatusOK {
			return barStarted{c, time.Since(began).Round(time.Millisecond)}
		}
		if time.Since(began) > barPatience {
			t.Fatal("the server is not ready")
		}
		<-time.After(pollEvery)
	}
}

// openedFrom says how many groups came up from a snapshot, and what of the log was left to apply.
func openedFrom(c *child) string {
	groups, entries := 0, 0.0
	for _, opened := range c.logged("group opened") {
		snapshot, _ := opened["snapshot"].(float64)
		last, _ := opened["lastIndex"].(float64)
		if entries += last - snapshot; snapshot > 0 {
			groups++
		}
	}
	return fmt.Sprintf("%d groups have a snapshot, %.0f entries after it", groups, entries)
}

// memory is what a server takes, in bytes.
type memory struct {
	resident float64
	live     float64 // about the heap that the last collection found in use
}

// settledMemory waits until kept answers are let go of and the garbage of the way there is collected and returned.
func (c *child) settledMemory() memory {
	c.t.Helper()
	c.pollMetrics("answers are let go of", func(m map[string]float64) bool { return sum(m, "houseful_answers_kept") == 0 })
	collections := c.metrics()["go_gc_duration_seconds_count"]
	c.pollMetrics("garbage is collected", func(m map[string]float64) bool { return m["go_gc_duration_seconds_count"] >= collections+2 })
	// The runtime returns free pages at its own pace. Two equal readings in a row are its last word.
	last, equal := 0.0, 0
	var m map[string]float64
	for began := time.Now(); equal < 20 && time.Since(began) < barPatience; <-time.After(10 * pollEvery) {
		m = c.metrics()
		if now := m["process_resident_memory_bytes"]; now < last-(256<<10) || now > last+(256<<10) {
			last, equal = now, 0
			continue
		}
		equal++
	}
	return memory{resident: m["process_resident_memory_bytes"], live: m["go_memstats_next_gc_bytes"] / 3} // --gc-percent 200
}

// pollMetrics polls until a condition on the metrics holds.
func (c *child) pollMetrics(what string, holds func(map[string]float64) bool) {
	c.t.Helper()
	for began := time.Now(); !holds(c.metrics()); <-time.After(pollEvery) {
		if time.Since(began) > barPatience {
			c.t.Fatalf("not within %v: %s", barPatience, what)
		}
	}
}

// metrics reads every metric, by name and labels as they are written.
func (c *child) metrics() map[string]float64 {
	c.t.Helper()
	response, err := http.Get(c.address + "/metrics")
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	values := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		if at := strings.LastIndexByte(line, ' '); at > 0 && line[0] != '#' {
			values[line[:at]], _ = strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		}
	}
	return values
}

// sum adds a metric up over its labels.
func sum(metrics map[string]float64, name string) (total float64) {
	for labelled, value := range metrics {
		if bare, _, _ := strings.Cut(labelled, "{"); bare == name {
			total += value
		}
	}
	return total
}

func putBarScreen(t *testing.T, c *child, id string, rows, perRow int) {
	t.Helper()
	c.must(http.StatusCreated, "PUT", "/api/v1/cities/C", `{"name":"Bengaluru","state":"Karnataka","timeZone":"Asia/Kolkata"}`)
	c.must(http.StatusCreated, "PUT", "/api/v1/movies/M", `{"title":"Dune","language":"en","genre":"Sci-Fi","durationMinutes":155,"rating":8.1}`)
	c.must(http.StatusCreated, "PUT", "/api/v1/theatres/T", `{"name":"Forum","cityId":"C","address":"Road 1"}`)
	list := make([]string, rows)
	for row := range list {
		list[row] = fmt.Sprintf(`{"row":%q,"tier":"GOLD","seats":"1-%d"}`, barRow(row), perRow)
	}
	c.must(http.StatusCreated, "PUT", "/api/v1/screens/"+id, `{"theatreId":"T","name":"One","rows":[`+strings.Join(list, ",")+`]}`)
}

// barRow is the label of a row: AA, AB, …
func barRow(row int) string { return string([]byte{byte('A' + row/26), byte('A' + row%26)}) }

func (c *child) mustPutBarShow(id, screen string) {
	c.t.Helper()
	if c.putBarShow(id, screen); c.t.Failed() {
		c.t.FailNow()
	}
}

func (c *child) putBarShow(id, screen string) {
	c.t.Helper()
	body := fmt.Sprintf(`{"movieId":"M","screenId":%q,"startsAt":%q,"currency":"INR","holdSeconds":3600,"pricing":{"strategy":"flat","amount":100}}`,
		screen, time.Now().Add(48*time.Hour).UTC().Format(time.RFC3339))
	if status, answer, err := c.call("PUT", "/api/v1/shows/"+id, body); err != nil || status != http.StatusCreated {
		c.t.Errorf("PUT show %s: %d %v %v", id, status, answer, err)
	}
}

// fillBar holds a million seats, one a hold, for a user each.
func fillBar(t *testing.T, server *child) time.Duration {
	t.Helper()
	for show := range barBookings / barHallSeats {
		server.mustPutBarShow(fmt.Sprint("hall-", show), "S")
	}
	began := time.Now()
	var next atomic.Int64
	var wait sync.WaitGroup
	for range barConnections {
		wait.Go(func() {
			if err := holdBar(server.address, &next); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return time.Since(began)
}

// holdBar holds seats over a connection of its own until there are none. It writes and reads HTTP by hand: a client
// library would take the processor time that the server needs.
func holdBar(address string, next *atomic.Int64) error {
	host := strings.TrimPrefix(address, "http://")
	connection, err := net.Dial("tcp", host)
	if err != nil {
		return err
	}
	defer connection.Close()
	answers := bufio.NewReader(connection)
	for n := next.Add(1) - 1; n < barBookings; n = next.Add(1) - 1 {
		// Neighbours in time are of different shows, and so mostly of different shards.
		show, seat := n%(barBookings/barHallSeats), int(n/(barBookings/barHallSeats))
		body := fmt.Sprintf(`{"showId":"hall-%d","seats":["%s%d"],"userId":"user-%d"}`, show, barRow(seat/barHallRowSeats), seat%barHallRowSeats+1, n)
		if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		_, err := fmt.Fprintf(connection, "POST /api/v1/bookings/hold HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", host, len(body), body)
		if err != nil {
			return err
		}
		response, err := http.ReadResponse(answers, nil)
		if err != nil {
			return err
		}
		answer, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusCreated {
			return fmt.Errorf("hold %d: %d %s %w", n, response.StatusCode, answer, err)
		}
	}
	return nil
}
