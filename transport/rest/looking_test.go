package rest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// M-2: the same body again changes nothing; another one replaces what may be replaced.
func TestPutIsIdempotent(t *testing.T) {
	a := startAPI(t)
	for path, body := range map[string]string{
		"cities/C": `{"name":"Pune","timeZone":"Asia/Kolkata"}`, "movies/M": `{"title":"Dune","durationMinutes":155,"rating":8.25}`,
		"theatres/T": `{"name":"T","cityId":"BLR"}`, "screens/S": screenBodyFor("TH-1"),
		"shows/X": strings.NewReplacer("MV-1", "MV-1", "SCR-2", "SCR-1").Replace(showBody),
	} {
		first := a.call("PUT", "/api/v1/"+path, body).want(201, "")
		again := a.call("PUT", "/api/v1/"+path, body).want(200, "")
		read := a.call("GET", "/api/v1/"+path, "").want(200, "")
		if string(first.raw) != string(again.raw) {
			t.Errorf("%s: the same body changed something:\n%s\n%s", path, first.raw, again.raw)
		}
		if path != "theatres/T" && string(read.raw) != string(first.raw) { // a theatre is read with its screens
			t.Errorf("%s: read\n%s\nwritten\n%s", path, read.raw, first.raw)
		}
	}
	show := a.call("GET", "/api/v1/shows/X", "")
	show.is("startsAt", "2026-12-01T12:30:00.000Z").is("endsAt", "2026-12-01T15:19:00.000Z").is("salesCloseAt", "2026-12-01T12:30:00.000Z").
		is("holdSeconds", "420").is("maxSeatsPerBooking", "10").is("maxHoldsPerUser", "4").is("timeZone", "Asia/Kolkata").
		is("priceFrom", "19500").is("movie.title", "Interstellar").is("theatre.name", "PVR Forum").is("screen.name", "Audi 1").
		is("counts.total", "40").is("refundPolicy.0.minutesBefore", "120") // 15000 at 18:00 local time is 130 %
	a.call("GET", "/api/v1/theatres/TH-1", "").is("screens.0.id", "S").is("timeZone", "Asia/Kolkata")
}

// A show's seats outlive a change of its screen, and its sale a change of what it is sold by.
func TestShowInUse(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	before := a.call("GET", "/api/v1/shows/"+show+"/seats", "").want(200, "")
	a.call("PUT", "/api/v1/screens/SCR-1", `{"theatreId":"TH-1","name":"Small","rows":[{"row":"A","tier":"GOLD","seats":"1-4"}]}`).want(200, "")
	if after := a.call("GET", "/api/v1/shows/"+show+"/seats", ""); string(after.raw) != string(before.raw) {
		t.Error("a changed screen altered a show")
	}
	a.held(show, "u", "A1")
	body := func(pricing string, holdSeconds int) string {
		return fmt.Sprintf(`{"movieId":"MV-1","screenId":"SCR-1","startsAt":%q,"currency":"INR","pricing":%s,"holdSeconds":%d}`,
			rfc3339(a.node.Now().Add(72*time.Hour)), pricing, holdSeconds)
	}
	const pricing = `{"strategy":"tier","base":{"SILVER":15000,"GOLD":20001}}`
	a.call("PUT", "/api/v1/shows/"+show, body(`{"strategy":"flat","amount":1}`, 60)).want(409, codeShowInUse)
	a.call("PUT", "/api/v1/shows/"+show, body(pricing, 60)).want(200, "").is("holdSeconds", "60").is("counts.total", "40")
	a.call("PUT", "/api/v1/shows/"+show, strings.Replace(body(pricing, 60), "INR", "EUR", 1)).want(409, codeShowInUse)
}

// M-30: search, movies of a city, shows by local date; lists come in pages.
func TestBrowse(t *testing.T) {
	a := startAPI(t)
	a.call("PUT", "/api/v1/cities/NYC", `{"name":"New York","timeZone":"America/New_York"}`).want(201, "")
	a.call("PUT", "/api/v1/theatres/NY", `{"name":"Lincoln","cityId":"NYC"}`).want(201, "")
	a.call("PUT", "/api/v1/screens/NY-1", screenBodyFor("NY")).want(201, "")
	day := a.node.Now().Std().AddDate(0, 0, 10)
	night := time.Date(day.Year(), day.Month(), day.Day(), 2, 0, 0, 0, time.UTC) // still the day before in New York
	for i := range 5 {
		a.call("PUT", fmt.Sprintf("/api/v1/shows/ny-%d", i), fmt.Sprintf(
			`{"movieId":"MV-1","screenId":"NY-1","startsAt":%q,"currency":"USD","pricing":{"strategy":"flat","amount":%d}}`,
			night.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), 1000+i)).want(201, "")
	}
	list := func(query string) *answer { return a.call("GET", "/api/v1/shows?cityId=NYC&"+query, "").want(200, "") }
	if items := list("date=" + night.Format(time.DateOnly)).at("items").([]any); len(items) != 0 {
		t.Errorf("%d shows on the UTC date", len(items))
	}
	query, cursor, found := "limit=2&date="+night.AddDate(0, 0, -1).Format(time.DateOnly), "", ""
	for pages := 0; ; pages++ {
		r := list(query + cursor)
		for _, item := range r.at("items").([]any) {
			found += fmt.Sprint(item.(map[string]any)["id"], " ")
		}
		if r.text("nextCursor") == "" {
			break
		}
		cursor = "&cursor=" + r.text("nextCursor")
		if pages > 5 {
			t.Fatal("the list has no end")
		}
	}
	if found != "ny-0 ny-1 ny-2 ny-3 ny-4 " {
		t.Errorf("found %s", found)
	}
	a.held("ny-0", "u", "A1 A2")
	list(query).is("items.0.priceFrom", "1000").is("items.0.timeZone", "America/New_York").is("items.0.counts.held", "2").
		is("items.0.counts.total", "17").is("items.0.movieTitle", "Interstellar").is("items.0.status", "ON_SALE")
	if items := list(query + "&movieId=none").at("items").([]any); len(items) != 0 {
		t.Error("shows of another movie")
	}
	a.call("GET", "/api/v1/movies?q=STELL", "").is("items.0.id", "MV-1")
	a.call("GET", "/api/v1/cities/NYC/movies", "").is("items.0.id", "MV-1")
	if items := a.call("GET", "/api/v1/cities/BLR/movies", "").at("items").([]any); len(items) != 0 {
		t.Error("a movie in a city without a show of it")
	}
	for _, query := range []string{"date=2026-02-30", "date=26-02-03", "date=", "date=2026-01-01&movieId=a%20b"} {
		a.call("GET", "/api/v1/shows?cityId=NYC&"+query, "").want(400, codeInvalidRequest)
	}
}

// M-31: caching of maps; and a booking's showVersion as minVersion shows the booking, at once.
func TestSeatMapCaching(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	seats := "/api/v1/shows/" + show + "/seats"
	r := a.call("GET", seats, "").want(200, "")
	tag := r.header.Get("ETag")
	if !strings.HasPrefix(tag, `W/"`) || r.header.Get("Cache-Control") != "public, max-age=1" || r.header.Get("X-Houseful-Lag-Ms") != "0" ||
		!strings.Contains(r.header.Get("Vary"), "Accept-Encoding") {
		t.Errorf("headers %v", r.header)
	}
	for _, match := range []string{tag, "*", `"x", ` + tag, strings.TrimPrefix(tag, "W/")} {
		if r := a.call("GET", seats, "", "If-None-Match", match).want(304, ""); len(r.raw) != 0 || r.header.Get("ETag") != tag {
			t.Errorf("304 for %s: %s %v", match, r.raw, r.header)
		}
	}
	for i := range 200 {
		held := a.hold(show, fmt.Sprint("u", i), fmt.Sprintf("%c%d", 'A'+i/10%4, i%10+1))
		if held.status != 201 {
			break // all seats are held
		}
		label := held.text("seatLabels.0")
		r := a.call("GET", seats+"?minVersion="+held.text("showVersion"), "", "If-None-Match", tag).want(200, "")
		for _, seat := range decodeMap(t, r.raw).Seats {
			if seat.Label == label && seat.Status != "HELD" {
				t.Fatalf("%s is %s at version %s, after version %s", label, seat.Status, r.text("version"), held.text("showVersion"))
			}
		}
		tag = r.header.Get("ETag")
	}
	a.call("GET", seats+"?minVersion=1000000", "").want(400, codeInvalidRequest).is("details.field", "minVersion")
	plain := a.call("GET", seats, "").want(200, "").raw
	for encoding, decode := range map[string]func(dst, src []byte) ([]byte, error){"gzip": fasthttp.AppendGunzipBytes, "zstd": fasthttp.AppendUnzstdBytes} {
		if got := a.encoded(seats, encoding, decode); !bytes.Equal(got, plain) {
			t.Errorf("%s gives\n%s, plain is\n%s", encoding, got, plain)
		}
	}
	layout := a.call("GET", "/api/v1/shows/"+show+"/layout", "").want(200, "")
	if got := layout.header.Get("Cache-Control"); strings.Contains(got, "immutable") {
		t.Errorf("without v: %s", got)
	}
	layout = a.call("GET", "/api/v1/shows/"+show+"/layout?v="+layout.text("layoutVersion"), "").want(200, "")
	layout.is("rows.2.seats", "1-5,6-10").is("rows.2.firstSeatId", "21").is("rows.2.price", "20001").is("tiers.GOLD.price", "20001").is("seatCount", "40")
	if got := layout.header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
		t.Errorf("with v: %s", got)
	}
	a.call("GET", "/api/v1/shows/"+show+"/layout", "", "If-None-Match", layout.header.Get("ETag")).want(304, "")
}

// encoded gets a path in a content encoding and decodes it.
func (a *testAPI) encoded(path, encoding string, decode func(dst, src []byte) ([]byte, error)) []byte {
	a.t.Helper()
	request, err := http.NewRequest("GET", a.url+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", encoding)
	response, err := a.client.Do(request)
	if err != nil {
		a.t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil || response.Header.Get("Content-Encoding") != encoding || !strings.Contains(response.Header.Get("Vary"), "Accept-Encoding") {
		a.t.Fatalf("%s: %v %v", encoding, response.Header, err)
	}
	body, err := decode(nil, raw)
	if err != nil {
		a.t.Fatal(err)
	}
	return body
}

// M-31: who follows with ?since sees what the full map shows.
func TestAvailabilityDeltas(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	path := "/api/v1/shows/" + show + "/availability"
	first := decodeMap(t, a.call("GET", path, "").want(200, "").raw)
	letters, version := []byte(first.letters(t)), first.Version
	for i := range 10 {
		held := a.hold(show, "u"+fmt.Sprint(i), fmt.Sprintf("A%d", i+1)).want(201, "")
		delta := decodeMap(t, a.call("GET", fmt.Sprintf("%s?since=%d&minVersion=%s", path, version, held.text("showVersion")), "").want(200, "").raw)
		if len(delta.Changes) != 1 || delta.Status != "" {
			t.Fatalf("%+v", delta)
		}
		letters, version = delta.change(t, letters), delta.Version
	}
	full := decodeMap(t, a.call("GET", fmt.Sprintf("%s?minVersion=%d", path, version), "").want(200, "").raw)
	if full.letters(t) != string(letters) {
		t.Errorf("deltas make %s, the map is %s", letters, full.Status)
	}
	if nothing := decodeMap(t, a.call("GET", fmt.Sprintf("%s?since=%d", path, version), "").want(200, "").raw); len(nothing.Changes) != 0 || nothing.Version != version {
		t.Errorf("%+v", nothing)
	}
	if foreign := decodeMap(t, a.call("GET", path+"?since=1000000", "").want(200, "").raw); foreign.Status == "" {
		t.Error("a version that is not this show's past got a delta")
	}
}

// dialStream asks for a stream over a connection of its own and reads the head of the answer.
func (a *testAPI) dialStream(show, headers string) (*follower, string) {
	a.t.Helper()
	conn, err := net.Dial("tcp", a.addr)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(testDeadline))
	fmt.Fprintf(conn, "GET /api/v1/shows/%s/stream HTTP/1.1\r\nHost: localhost\r\n%s\r\n", show, headers)
	f := &follower{t: a.t, conn: conn, reader: bufio.NewReader(conn), names: map[string]int{}}
	head := ""
	for !strings.HasSuffix(head, "\r\n\r\n") {
		line, err := f.reader.ReadString('\n')
		if err != nil {
			a.t.Fatalf("after %q: %v", head, err)
		}
		head += line
	}
	return f, head
}

// M-31: a stream over HTTP: head, first event, changes as they come, coming back with Last-Event-ID, shutdown.
func TestStreamOverHTTP(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	f, head := a.dialStream(show, "X-Request-Id: stream-1\r\n")
	for _, want := range []string{"HTTP/1.1 200 OK\r\n", "Content-Type: text/event-stream", "X-Request-Id: stream-1", "Connection: close", "Cache-Control: no-store"} {
		if !strings.Contains(head, want) {
			t.Errorf("no %q in %q", want, head)
		}
	}
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 10 {
				seat := fmt.Sprintf("%c%d", 'A'+w, i+1)
				body := holdBody(show, fmt.Sprintf("u%d-%d", w, i), seat)
				response, err := a.client.Post(a.url+"/api/v1/bookings/hold", mimeJSON, strings.NewReader(body))
				if err != nil || response.StatusCode != http.StatusCreated {
					t.Errorf("hold %s: %v %v", seat, response, err)
					return
				}
				_ = response.Body.Close()
			}
		})
	}
	f.catchUp(3)
	_ = f.conn.Close()
	back, _ := a.dialStream(show, fmt.Sprintf("Last-Event-ID: %d\r\n", f.version))
	back.started, back.version, back.letters = true, f.version, f.letters
	writers.Wait()
	full := a.call("GET", "/api/v1/shows/"+show+"/availability?minVersion=41", "").want(200, "")
	back.catchUp(41)
	if got, want := string(back.letters), decodeMap(t, full.raw).letters(t); got != want || back.names["snapshot"] != 0 {
		t.Errorf("the stream made %s, the map is %s; %v", got, want, back.names)
	}
	a.call("POST", "/api/v1/shows/"+show+"/pause", "").want(200, "")
	for _, status := range []string{"ON_SALE", "PAUSED"} { // what it is after the absence, and then the news
		for back.shown != status {
			if err := back.next(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r := a.call("HEAD", "/api/v1/shows/"+show+"/stream", ""); r.status != 200 || r.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD: %d %v", r.status, r.header)
	}
	garbled, _ := a.dialStream(show, "Last-Event-ID: yesterday\r\n")
	if err := garbled.next(); err != nil || garbled.names["snapshot"] != 1 {
		t.Error("a foreign Last-Event-ID", err, garbled.names)
	}
	// Every stream that is still open ends with the server, which the harness shuts down and waits for.
}

// ?minVersion holds for a stream's first event, as for any map; one that nobody has is refused.
func TestStreamMinVersion(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	stream := "/api/v1/shows/" + show + "/stream"
	for i, since := range []string{"", "&since=1", "&since=2", ""} {
		var version, first uint64
		if _, err := fmt.Sscan(a.hold(show, fmt.Sprint(i), fmt.Sprintf("A%d", i+1)).want(201, "").text("showVersion"), &version); err != nil {
			t.Fatal(err)
		}
		response, err := a.client.Get(fmt.Sprintf("%s%s?minVersion=%d%s", a.url, stream, version, since))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fscanf(response.Body, "retry: 1000\n\nid: %d\n", &first); err != nil || first < version {
			t.Errorf("the first event leads to version %d, want %d: %v", first, version, err)
		}
		_ = response.Body.Close()
	}
	for _, query := range []string{"?minVersion=99999", "?minVersion=99999&since=1", "?minVersion=-1"} {
		a.call("GET", stream+query, "").want(400, codeInvalidRequest).is("details.field", "minVersion")
	}
}

// One place too many is refused as overload, and is free again when a stream ends.
func TestStreamLimit(t *testing.T) {
	a := startAPI(t)
	a.server.streams.max = 1
	show := a.newShow("")
	f, _ := a.dialStream(show, "")
	f.catchUp(1)
	r := a.call("GET", "/api/v1/shows/"+show+"/stream", "").want(503, codeOverloaded)
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	_ = f.conn.Close()
	eventually(t, "the place is free", func() bool {
		a.call("POST", "/api/v1/shows/"+show+"/pause", "")
		a.call("POST", "/api/v1/shows/"+show+"/resume", "")
		return a.server.streams.full() == nil
	})
}

// What a seat map costs the handler, without the network.
func BenchmarkSeatMapHandler(b *testing.B) {
	box := newBox()
	box.putShow(b, "1", "S", 500)
	maps := newSeatMapCache(box, SeatMapCacheBytesMax, SeatMapRefreshInterval)
	ctx := &fasthttp.RequestCtx{}
	c := &Call{RequestCtx: ctx}
	b.ReportAllocs()
	for b.Loop() {
		ctx.Response.Reset()
		m, err := maps.get("1", 0)
		if err != nil {
			b.Fatal(err)
		}
		_ = answerShared(c, maps.seatsBody(m, encodingIdentity), encodingIdentity)
	}
}
