package rest

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// TestConventions: ids, headers, paths and methods, as the API's first section has them.
func TestConventions(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	body := holdBody(show, "u", "A1")
	hold := func(headers ...string) *answer { return a.call("POST", "/api/v1/bookings/hold", body, headers...) }

	a.call("GET", "/api/v1/nothing", "").want(404, codeNotFound)
	a.call("GET", "/", "").want(200, "").is("name", "Houseful").is("links.cities", "/api/v1/cities")
	a.call("GET", "/?x=1", "").want(200, "")
	a.call("GET", "//", "").want(404, codeNotFound)
	a.call("POST", "/", "").want(405, codeMethodNotAllowed)
	a.call("GET", "/api/v1/bookings/", "").want(404, codeNotFound)
	a.call("GET", "/api/v1/shows/x%2Fy/bookings?idempotencyKey=k", "").want(400, codeInvalidRequest).is("details.field", "id")
	a.call("GET", "/api/v1/shows/%73how-1", "").want(200, "").is("id", show)

	if r := a.call("DELETE", "/api/v1/bookings/hold", "").want(405, codeMethodNotAllowed); r.header.Get("Allow") != "POST, OPTIONS" {
		t.Errorf("Allow is %q", r.header.Get("Allow"))
	}
	a.call("PATCH", "/api/v1/shows/"+show, "").want(405, codeMethodNotAllowed)
	if r := a.call("OPTIONS", "/api/v1/shows/"+show, "").want(204, ""); r.header.Get("Allow") != "GET, HEAD, PUT, OPTIONS" || len(r.raw) > 0 {
		t.Errorf("OPTIONS answered %v %s", r.header, r.raw)
	}
	if r := a.call("HEAD", "/api/v1/shows/"+show, "").want(200, ""); len(r.raw) > 0 || r.header.Get("Content-Length") == "0" {
		t.Errorf("HEAD answered %v %s", r.header, r.raw)
	}

	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=latin1"} {
		hold("Content-Type", kind).want(415, codeUnsupportedMediaType)
	}
	hold("Content-Encoding", "gzip").want(415, codeUnsupportedMediaType)
	hold("Content-Type", "application/json; charset=utf-8").want(201, "")

	for given, want := range map[string]string{"abc-1": "abc-1", strings.Repeat("x", 128): strings.Repeat("x", 128)} {
		a.call("GET", "/api/v1/nothing", "", "X-Request-Id", given).want(404, codeNotFound).is("requestId", want)
	}
	ids := make(map[string]bool)
	for _, given := range []string{"", "a b", `a"b`, "<b>", "ü", strings.Repeat("x", 129)} {
		id := a.call("GET", "/api/v1/nothing", "", "X-Request-Id", given).want(404, codeNotFound).text("requestId")
		if id == given || ids[id] {
			t.Errorf("X-Request-Id %q became %q", given, id)
		}
		ids[id] = true
	}
}

// TestOpenMode: without keys only loopback names are answered, and credentials that cannot be verified are refused.
func TestOpenMode(t *testing.T) {
	a := startAPI(t)
	const path = "/api/v1/cities"
	for _, host := range []string{"localhost", "localhost:80", "127.0.0.1", "127.1.2.3:9", "[::1]:8080"} {
		a.call("GET", path, "", "Host", host).want(200, "")
	}
	for _, host := range []string{"evil.example", "localhost.evil.example:8080", "10.1.2.3", "127.0.0.1.nip.io"} {
		a.call("GET", path, "", "Host", host).want(403, codeForbidden)
		a.call("GET", "/healthz", "", "Host", host).want(403, codeForbidden)
	}
	for _, credentials := range []string{"Bearer hf_1_secret", "Basic dTpw", "Bearer", "x"} {
		if r := a.call("GET", path, "", "Authorization", credentials).want(401, codeUnauthenticated); r.header.Get("WWW-Authenticate") == "" {
			t.Error("a 401 without WWW-Authenticate")
		}
	}
	// An absolute request target counts, not the Host beside it.
	a.rawCall("GET http://evil.example/api/v1/cities HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "403", codeForbidden)
	a.rawCall("GET http://localhost/api/v1/cities?limit=5 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "200", "")
	a.rawCall("GET /api/v1/cities HTTP/1.0\r\n\r\n", "403", codeForbidden)

	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := a.server.Serve(listener); err == nil || !strings.Contains(err.Error(), "loopback only") || !strings.Contains(err.Error(), "--http") {
		t.Errorf("a listener on every interface: %v", err)
	}
}

// TestOrigins: pages of listed origins may call, pages of others may change nothing.
func TestOrigins(t *testing.T) {
	const listed, foreign = "https://tickets.example", "https://evil.example"
	a := startAPI(t, func(c *Config) { c.CORSOrigins = []string{listed} })
	body := holdBody(a.newShow(""), "u", "A1")
	r := a.call("POST", "/api/v1/bookings/hold", body, "Origin", listed).want(201, "")
	if r.header.Get("Access-Control-Allow-Origin") != listed || r.header.Get("Access-Control-Allow-Credentials") != "" || !strings.Contains(r.header.Get("Vary"), "Origin") ||
		!strings.Contains(r.header.Get("Access-Control-Expose-Headers"), "Idempotent-Replayed") {
		t.Errorf("headers for a listed origin: %v", r.header)
	}
	preflight := a.call("OPTIONS", "/api/v1/bookings/hold", "", "Origin", listed, "Access-Control-Request-Method", "POST").want(204, "")
	if preflight.header.Get("Access-Control-Allow-Methods") != "POST, OPTIONS" || !strings.Contains(preflight.header.Get("Access-Control-Allow-Headers"), "Idempotency-Key") {
		t.Errorf("a preflight answered %v", preflight.header)
	}
	for _, origin := range []string{foreign, "null", "https://tickets.example.evil.example", "http://tickets.example", listed + "/"} {
		r := a.call("GET", "/api/v1/cities", "", "Origin", origin).want(200, "")
		if r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("origin %s is allowed", origin)
		}
		a.call("POST", "/api/v1/bookings/hold", body, "Origin", origin).want(403, codeForbidden)
		r = a.call("OPTIONS", "/api/v1/bookings/hold", "", "Origin", origin, "Access-Control-Request-Method", "POST").want(204, "")
		if r.header.Get("Access-Control-Allow-Origin") != "" || r.header.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("origin %s is allowed", origin)
		}
	}
	a.call("POST", "/api/v1/bookings/hold", body, "Origin", a.url).want(200, "") // a page of this server
}

func TestConfigRefusals(t *testing.T) {
	node := startAPI(t).node
	for _, origin := range []string{"*", "tickets.example", "https://tickets.example/", "ftp://x", "null", "https://"} {
		config := DefaultConfig(node)
		config.CORSOrigins = []string{origin}
		if _, err := New(config); err == nil {
			t.Errorf("CORS origin %q was accepted", origin)
		}
	}
	config := DefaultConfig(nil)
	if _, err := New(config); err == nil {
		t.Error("a server without a node was made")
	}
	config = DefaultConfig(node)
	config.ReadTimeout = 0
	if _, err := New(config); err == nil {
		t.Error("a server without a read timeout was made")
	}
}

// TestMalformedBodies: each is a 400 (413, 415), and none reaches the log.
func TestMalformedBodies(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	id := a.held(show, "u", "A1")
	a.quiet(func() {
		paths := []string{"/api/v1/shows/" + show + "/block", "/api/v1/shows/" + show + "/unblock", "/api/v1/test/clock/advance", "/api/v1/bookings/hold"}
		for _, deed := range []string{"confirm", "release", "extend", "cancel"} {
			paths = append(paths, "/api/v1/bookings/"+id+"/"+deed)
		}
		for _, path := range paths {
			for _, body := range []string{
				"", "{", "[]", "null", "1", `"x"`, "{}x", "\xff\xfe", `{"userId":"u","userId":"u"}`, `{"nothing":1}`, `{"userId":{}}`, `{"userId":"u","seats":{}}`,
				`{"userId":"` + strings.Repeat("x", 65) + `"}`, strings.Repeat("[", 30_000), strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000),
				`{"seconds":"1"}`, `{"seconds":1.5}`, `{"seconds":-1}`,
			} {
				if r := a.call("POST", path, body); r.status != 400 || r.text("error") != codeInvalidRequest || r.text("details.field") == "" {
					t.Errorf("%s with %.40q: got %d %s", path, body, r.status, r.raw)
				}
			}
			a.call("POST", path, `{"userId":"`+strings.Repeat("x", BodyBytesMax)+`"}`).want(413, codeBodyTooLarge)
			a.call("POST", path, `{"userId":"u"}`, "Content-Type", "text/xml").want(415, codeUnsupportedMediaType)
		}
	})
}

// quiet runs f and checks that it put nothing into any log.
func (a *testAPI) quiet(f func()) {
	a.t.Helper()
	a.settle()
	before := a.applied()
	f()
	a.settle()
	if after := a.applied(); after != before {
		a.t.Errorf("%d log entries were written", after-before)
	}
}

// settle waits until nothing is being applied.
func (a *testAPI) settle() {
	a.t.Helper()
	last, since := a.applied(), time.Now()
	eventually(a.t, "the logs are quiet", func() bool {
		if now := a.applied(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 100*time.Millisecond
	})
}

// rawCall sends bytes as they are and checks the answer's status and error.
func (a *testAPI) rawCall(request, status, code string) string {
	a.t.Helper()
	conn := a.dial()
	defer conn.Close()
	if _, err := conn.Write([]byte(request)); err != nil {
		a.t.Fatal(err)
	}
	answer := readAll(a.t, conn)
	if !strings.HasPrefix(answer, "HTTP/1.1 "+status) || (code != "" && !strings.Contains(answer, fmt.Sprintf(`"error":%q`, code))) {
		a.t.Errorf("%.60q: got %.400q, want %s %s", request, answer, status, code)
	}
	return answer
}

func (a *testAPI) dial() net.Conn {
	a.t.Helper()
	conn, err := net.DialTimeout("tcp", a.addr, testDeadline)
	if err != nil {
		a.t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(testDeadline)); err != nil {
		a.t.Fatal(err)
	}
	return conn
}

// readAll reads until the server closes the connection, however it does that.
func readAll(t *testing.T, conn net.Conn) string {
	t.Helper()
	var answer strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := conn.Read(buffer)
		answer.Write(buffer[:n])
		if err != nil {
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
				t.Fatalf("the server neither answered nor closed; so far %q", answer.String())
			}
			return answer.String()
		}
	}
}
