package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/houseful/houseful/cluster"
	"github.com/houseful/houseful/fsm"
)

// testDeadline is how long a test waits for what should happen at once.
const testDeadline = 20 * time.Second

// testAPI is a server over a real node on a real disk, with a small catalogue and the test clock. When the test ends
// the node audits itself.
type testAPI struct {
	t      *testing.T
	node   *cluster.Node
	server *Server
	addr   string
	url    string
	client *http.Client
	shows  int
	closed bool // the test closed the node itself, after an audit
}

// startAPI starts a server over a new node with the catalogue; change may adapt its configuration.
func startAPI(t *testing.T, change ...func(*Config)) *testAPI {
	t.Helper()
	a := startAPIOn(t, nodeConfig(t), change...)
	a.catalogue()
	return a
}

// nodeConfig is a node's in a new folder.
func nodeConfig(t *testing.T) cluster.Config {
	t.Helper()
	config := cluster.DefaultConfig()
	config.DataDir, config.Shards, config.TestClock = t.TempDir(), 2, true
	config.FreeSpaceFloorBytes, config.BallastBytes = 0, 0
	return config
}

// startAPIOn starts a server over a node that may have a history.
func startAPIOn(t *testing.T, nodeConfig cluster.Config, change ...func(*Config)) *testAPI {
	t.Helper()
	node, err := cluster.Open(context.Background(), nodeConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNode(t, node) })
	config := DefaultConfig(node)
	config.TestClock = true
	config.Logger = slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	for _, c := range change {
		c(&config)
	}
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	a := &testAPI{t: t, node: node, server: server, addr: listener.Addr().String(), client: &http.Client{Timeout: testDeadline}}
	a.url = "http://" + a.addr
	t.Cleanup(func() {
		a.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), testDeadline)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("shut down: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	eventually(t, "the node is ready", func() bool { return node.Ready() == nil })
	t.Cleanup(a.audit)
	return a
}

func closeNode(t *testing.T, node *cluster.Node) {
	ctx, cancel := context.WithTimeout(context.Background(), testDeadline)
	defer cancel()
	if err := node.Close(ctx); err != nil {
		t.Errorf("close the node: %v", err)
	}
}

// testWriter shows the server's log as the test's.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testDeadline); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain until %s", testDeadline, what)
		}
	}
}

// audit checks the node's own books.
func (a *testAPI) audit() {
	if a.closed {
		return
	}
	groups, err := a.node.Audit(context.Background())
	if err != nil {
		a.t.Errorf("audit: %v", err)
	}
	for _, group := range groups {
		if !group.Report.OK {
			a.t.Errorf("audit of group %s: %v", group.Group, group.Report.Problems)
		}
	}
}

// catalogue writes a house with one screen: rows A to D, 10 seats each, tiers SILVER and GOLD.
func (a *testAPI) catalogue() {
	a.t.Helper()
	a.call("PUT", "/api/v1/cities/BLR", `{"name":"Bengaluru","state":"Karnataka","timeZone":"Asia/Kolkata"}`).want(201, "")
	a.call("PUT", "/api/v1/movies/MV-1", `{"title":"Interstellar","durationMinutes":169}`).want(201, "")
	a.call("PUT", "/api/v1/theatres/TH-1", `{"name":"PVR Forum","cityId":"BLR"}`).want(201, "")
	a.call("PUT", "/api/v1/screens/SCR-1", `{"theatreId":"TH-1","name":"Audi 1","rows":[
		{"row":"A","tier":"SILVER","seats":"1-10"},{"row":"B","tier":"SILVER","seats":"1-10"},
		{"row":"C","tier":"GOLD","seats":"1-5,6-10"},{"row":"D","tier":"GOLD","seats":"1-10"}]}`).want(201, "")
}

// newShow writes a show that starts in three days and gives its id. more is further fields, with a leading comma.
func (a *testAPI) newShow(more string) string {
	a.t.Helper()
	a.shows++
	id := fmt.Sprintf("show-%d", a.shows)
	a.putShow(id, a.node.Now().Add(72*time.Hour), more)
	return id
}

func (a *testAPI) putShow(id string, startsAt fsm.Time, more string) {
	a.t.Helper()
	body := fmt.Sprintf(`{"movieId":"MV-1","screenId":"SCR-1","startsAt":%q,"currency":"INR","pricing":{"strategy":"tier","base":{"SILVER":15000,"GOLD":20001}}%s}`,
		rfc3339(startsAt), more)
	if r := a.call("PUT", "/api/v1/shows/"+id, body); r.status != 200 && r.status != 201 {
		a.t.Fatalf("put show: %d %s", r.status, r.raw)
	}
}

func rfc3339(t fsm.Time) string { return t.Std().Format("2006-01-02T15:04:05.000Z07:00") }

// answer is what a call answered.
type answer struct {
	t      *testing.T
	call   string
	status int
	header http.Header
	raw    []byte
	json   map[string]any
}

// call makes a request. headers are name, value pairs.
func (a *testAPI) call(method, path, body string, headers ...string) *answer {
	a.t.Helper()
	request, err := http.NewRequest(method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
			continue
		}
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := a.client.Do(request)
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	r := &answer{t: a.t, call: method + " " + path + " " + body, status: response.StatusCode, header: response.Header}
	if r.raw, err = io.ReadAll(response.Body); err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), mimeJSON) && len(r.raw) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(r.raw))
		decoder.UseNumber()
		if err := decoder.Decode(&r.json); err != nil {
			a.t.Fatalf("%s %s answered %s: %v", method, path, r.raw, err)
		}
	}
	return r
}

// want checks status and, of an error, its code and shape.
func (r *answer) want(status int, code string) *answer {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("%s: got %d %s, want %d %s", r.call, r.status, r.raw, status, code)
	}
	if code == "" {
		return r
	}
	if got, _ := r.json["error"].(string); got != code {
		r.t.Fatalf("%s: got %s, want error %s", r.call, r.raw, code)
	}
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", r.text("timestamp")); err != nil {
		r.t.Errorf("%s: timestamp: %v", r.call, err)
	}
	if id := r.text("requestId"); id == "" || id != r.header.Get("X-Request-Id") {
		r.t.Errorf("%s: requestId is %q, X-Request-Id %q", r.call, id, r.header.Get("X-Request-Id"))
	}
	if len(r.text("message")) < 10 {
		r.t.Errorf("%s: the message %q helps nobody", r.call, r.text("message"))
	}
	return r
}

// at walks the answer's JSON: names of members, or "0" for the first entry of a list.
func (r *answer) at(path string) any {
	r.t.Helper()
	var value any = r.json
	for _, step := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(v) {
				r.t.Fatalf("%s: no %s in %s", r.call, path, r.raw)
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// text gives a member as text: "" when it is absent.
func (r *answer) text(path string) string {
	r.t.Helper()
	if value := r.at(path); value != nil {
		return fmt.Sprint(value)
	}
	return ""
}

// is checks a member's text.
func (r *answer) is(path, want string) *answer {
	r.t.Helper()
	if got := r.text(path); got != want {
		r.t.Errorf("%s: %s is %q, want %q; the answer is %s", r.call, path, got, want, r.raw)
	}
	return r
}

// hold asks for seats, named like "A1 A2".
func (a *testAPI) hold(show, user, seats string, headers ...string) *answer {
	a.t.Helper()
	return a.call("POST", "/api/v1/bookings/hold", holdBody(show, user, seats), headers...)
}

func holdBody(show, user, seats string) string {
	return fmt.Sprintf(`{"showId":%q,"userId":%q,"seats":["%s"]}`, show, user, strings.ReplaceAll(seats, " ", `","`))
}

// held holds seats and gives the booking's id.
func (a *testAPI) held(show, user, seats string) string {
	a.t.Helper()
	return a.hold(show, user, seats).want(201, "").text("id")
}

// on calls a booking, for example on(id, "release", `{"userId":"u"}`).
func (a *testAPI) on(id, deed, body string) *answer {
	a.t.Helper()
	return a.call("POST", "/api/v1/bookings/"+id+"/"+deed, body)
}

// confirm pays with a reference.
func (a *testAPI) confirm(id, user, ref string) *answer {
	a.t.Helper()
	return a.on(id, "confirm", fmt.Sprintf(`{"userId":%q,"paymentRef":%q}`, user, ref))
}

// booking reads a booking.
func (a *testAPI) booking(id string) *answer {
	a.t.Helper()
	return a.call("GET", "/api/v1/bookings/"+id, "").want(200, "")
}

// advance moves the test clock.
func (a *testAPI) advance(d time.Duration) {
	a.t.Helper()
	a.call("POST", "/api/v1/test/clock/advance", fmt.Sprintf(`{"seconds":%d}`, int64(d/time.Second))).want(200, "")
}

// applied gives how many log entries the node's data shards have applied, pulses aside they grow with commands only.
func (a *testAPI) applied() (total uint64) {
	for _, group := range a.node.Status().Shards {
		for _, replica := range group.Replicas {
			total += replica.AppliedIndex
		}
	}
	return total
}
