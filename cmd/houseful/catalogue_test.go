package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// runJSON runs a command with --json against a server and decodes what it prints.
func (c *child) runJSON(into any, args ...string) {
	c.t.Helper()
	code, stdout, stderr := runHere(c.t, append(args, "--json", "--server", c.address)...)
	if err := json.Unmarshal([]byte(stdout), into); code != exitOK || err != nil {
		c.t.Fatalf("%s: exit %d, %v\n%s\n%s", strings.Join(args, " "), code, err, stdout, stderr)
	}
}

// items is a listing of the API.
type items struct {
	Items []map[string]any `json:"items"`
}

// The demo is what a person recognises, and a restart changes nothing.
func TestDemo(t *testing.T) {
	folder := t.TempDir()
	server := startServer(t, folder, "--demo")
	loaded := server.waitFor("demo catalogue loaded")
	if created, _ := loaded["created"].(float64); created < 2+6+3+6+7*21 {
		t.Errorf("%v objects created", created)
	}
	var listed items
	count := func(path string) int {
		t.Helper()
		answer := server.must(http.StatusOK, "GET", path, "")
		list, _ := answer["items"].([]any)
		return len(list)
	}
	if cities := count("/api/v1/cities"); cities != 2 {
		t.Errorf("%d cities", cities)
	}
	if theatres := count("/api/v1/cities/BLR/theatres") + count("/api/v1/cities/LON/theatres"); theatres != 3 {
		t.Errorf("%d theatres", theatres)
	}
	if movies := count("/api/v1/movies"); movies != 6 {
		t.Errorf("%d movies", movies)
	}
	server.runJSON(&listed, "show", "list", "--days", "9")
	sizes := map[float64]bool{}
	for _, show := range listed.Items {
		counts, _ := show["counts"].(map[string]any)
		total, _ := counts["total"].(float64)
		sizes[total] = true
	}
	if !sizes[40] || !sizes[240] || !sizes[500] || len(sizes) != 3 {
		t.Errorf("shows have %v seats", sizes)
	}
	first := server.must(http.StatusOK, "GET", "/api/v1/shows/1", "")
	starts, err := time.Parse(time.RFC3339, fmt.Sprint(first["startsAt"]))
	if ahead := time.Until(starts); err != nil || ahead < 0 || ahead > 48*time.Hour {
		t.Errorf("show 1 starts at %v", first["startsAt"])
	}
	server.must(http.StatusCreated, "POST", "/api/v1/bookings/hold", `{"showId":1,"seats":["A1","A2"],"userId":"1"}`)
	server.stop()

	again := startServer(t, folder, "--demo")
	if created := again.waitFor("demo catalogue loaded")["created"]; created != float64(0) {
		t.Errorf("%v objects created by a restart", created)
	}
	var after items
	again.runJSON(&after, "show", "list", "--days", "9")
	if len(after.Items) != len(listed.Items) {
		t.Errorf("%d shows, %d before the restart", len(after.Items), len(listed.Items))
	}
	moved := again.must(http.StatusOK, "GET", "/api/v1/shows/1", "")
	if moved["startsAt"] != first["startsAt"] {
		t.Errorf("show 1 moved from %v to %v", first["startsAt"], moved["startsAt"])
	}
	again.stop()
}

func TestLoadAndLook(t *testing.T) {
	server := startServer(t, t.TempDir())
	file := oneShow(t)

	code, stdout, stderr := runHere(t, "load", file, "--dry-run", "--server", "http://127.0.0.1:1")
	if code != exitOK || !strings.Contains(stdout, "checked") {
		t.Errorf("dry run: exit %d: %s%s", code, stdout, stderr)
	}
	var report loadReport
	server.runJSON(&report, "load", file)
	for _, kind := range []string{"city", "movie", "theatre", "screen", "show"} {
		if report.Objects[kind]["created"] != 1 {
			t.Errorf("first load: %v", report.Objects)
		}
	}
	report = loadReport{}
	server.runJSON(&report, "load", file)
	for _, kind := range []string{"city", "movie", "theatre", "screen", "show"} {
		if report.Objects[kind]["replaced"] != 1 || report.Objects[kind]["created"] != 0 {
			t.Errorf("second load: %v", report.Objects)
		}
	}

	server.must(http.StatusCreated, "POST", "/api/v1/bookings/hold", `{"showId":"1","seats":["A1","A2"],"userId":"u"}`)
	server.must(http.StatusOK, "POST", "/api/v1/shows/1/block", `{"seats":["B25"],"reason":"house"}`)
	look := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := runHere(t, append(args, "--server", server.address)...)
		if code != exitOK || stderr != "" {
			t.Errorf("%s: exit %d: %s", strings.Join(args, " "), code, stderr)
		}
		return stdout
	}
	starts := time.Now().Add(48 * time.Hour).UTC()
	kolkata, err := time.LoadLocation("Asia/Kolkata")
	if err != nil {
		t.Fatal(err)
	}
	list := look("show", "list", "--city", "BLR", "--date", starts.In(kolkata).AddDate(0, 0, -1).Format(time.DateOnly), "--days", "3")
	for _, part := range []string{"Dune", "Forum", "Audi 1", "200.00 INR", "497", "500"} {
		if !strings.Contains(list, part) {
			t.Errorf("no %s in\n%s", part, list)
		}
	}
	grid := look("show", "seats", "1")
	for _, part := range []string{"\nA  h  h  .", "  x  SILVER 200.00 INR", ". available 497", "h held 2", "B booked 0", "x blocked 1", "of 500"} {
		if !strings.Contains(grid, part) {
			t.Errorf("no %q in\n%s", part, grid)
		}
	}
	if strings.Contains(grid, "\x1b") {
		t.Error("colours where nobody sees them")
	}
	if audit := look("show", "audit", "1"); !strings.Contains(audit, "ok") {
		t.Errorf("audit of the show:\n%s", audit)
	}
	if audit := look("audit"); strings.Count(audit, "ok") < 8 || !strings.Contains(audit, "meta") {
		t.Errorf("audit of the node:\n%s", audit)
	}
	if nothing := look("show", "list", "--date", "2020-01-01"); !strings.Contains(nothing, "No shows") {
		t.Errorf("got %s", nothing)
	}
	var seats seatMap
	server.runJSON(&seats, "show", "seats", "1")
	if len(seats.Seats) != 500 || seats.Counts.Held != 2 {
		t.Errorf("%d seats, %+v", len(seats.Seats), seats.Counts)
	}
	for _, args := range [][]string{{"show", "seats", "2"}, {"show", "audit", "2"}} {
		if code, _, stderr := runHere(t, append(args, "--server", server.address)...); code != exitFailed || !strings.Contains(stderr, "SHOW_NOT_FOUND") {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
}

// What the server refuses is named by file, line and path, as what the file itself tells.
func TestLoadErrors(t *testing.T) {
	server := startServer(t, t.TempDir())
	file := filepath.Join(t.TempDir(), "c.yaml")
	for _, c := range []struct{ name, text, says string }{
		{"file", "cities:\n  - {id: A, name: A, timeZone: Europe/London}\n  - {id: A, name: B, timeZone: Europe/London}\n", ":3: cities[1].id (A): "},
		{"server", "cities:\n  - {id: A, name: A, timeZone: Europe/London}\ntheatres:\n  - {id: T, name: T, cityId: NOWHERE}\n", ":4: theatres[0]"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := runHere(t, "load", file, "--server", server.address)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, "houseful: "+file+c.says) {
			t.Errorf("%s: exit %d\n%s%s", c.name, code, stdout, stderr)
		}
	}
	// The catalogue that failed in the file was not sent, not even its good part; the other was, up to its mistake.
	answer := server.must(http.StatusOK, "GET", "/api/v1/cities", "")
	if list, _ := answer["items"].([]any); len(list) != 1 {
		t.Errorf("got %v", answer)
	}
}
