package rest

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/houseful/houseful/transport/payment"
)

// contractScript is a tour of the whole API.
type contractScript struct {
	*testAPI
	show      string
	bookingID string
}

func (s *contractScript) catalogue() {
	s.t.Helper()
	put := func(path, body string) {
		s.call("PUT", path, body).want(201, "")
		s.call("PUT", path, body).want(200, "")
		s.call("GET", path, "").want(200, "")
	}
	put("/api/v1/cities/MUM", `{"name":"Mumbai","state":null,"timeZone":"Asia/Kolkata"}`)
	put("/api/v1/movies/MV-2", `{"title":"Dune","language":"en","genre":"Sci-Fi","durationMinutes":155,"rating":8.1}`)
	put("/api/v1/theatres/2", `{"name":"Gaiety","cityId":"MUM","address":"Bandra"}`)
	put("/api/v1/screens/SCR-2", screenBodyFor("2"))
	show := func(pricing string) string {
		return fmt.Sprintf(`{"movieId":"MV-2","screenId":"SCR-2","startsAt":%q,"currency":"INR","pricing":%s}`, rfc3339(s.node.Now().Add(72*time.Hour)), pricing)
	}
	put("/api/v1/shows/flat", show(`{"strategy":"flat","amount":20000}`))
	put("/api/v1/shows/tier", show(`{"strategy":"tier","base":{"SILVER":15000,"RECLINER":30000}}`))
	put("/api/v1/shows/tier-time", show(`{"strategy":"tier_time","base":{"SILVER":15000,"RECLINER":30000},"bands":[{"fromHour":18,"percent":130},{"fromHour":0,"percent":90}]}`))
	for nouns, missing := range map[string]string{
		"cities": codeCityNotFound, "movies": codeMovieNotFound, "theatres": codeTheatreNotFound, "screens": codeScreenNotFound, "shows": codeShowNotFound,
	} {
		s.call("PUT", "/api/v1/"+nouns+"/x", `{}`).want(400, codeInvalidRequest)
		s.call("GET", "/api/v1/"+nouns+"/none", "").want(404, missing)
	}
	s.call("PUT", "/api/v1/theatres/x", `{"name":"X","cityId":"none"}`).want(404, codeCityNotFound)
	s.call("PUT", "/api/v1/screens/x", screenBodyFor("none")).want(404, codeTheatreNotFound)
	s.call("PUT", "/api/v1/shows/x", strings.Replace(show(`{"strategy":"flat","amount":1}`), "MV-2", "none", 1)).want(404, codeMovieNotFound)
	s.call("PUT", "/api/v1/shows/x", strings.Replace(show(`{"strategy":"flat","amount":1}`), "SCR-2", "none", 1)).want(404, codeScreenNotFound)
	s.held("flat", "7", "A1")
	s.call("PUT", "/api/v1/shows/flat", show(`{"strategy":"flat","amount":20001}`)).want(409, codeShowInUse)
	s.show = s.newShow("")
}

func screenBodyFor(theatre string) string {
	return strings.Replace(screenBody, `"TH-1"`, `"`+theatre+`"`, 1)
}

func (s *contractScript) browse() {
	s.t.Helper()
	date := s.node.Now().Add(72 * time.Hour).Std().In(time.FixedZone("IST", 19800)).Format(time.DateOnly)
	for _, path := range []string{
		"/cities", "/cities?limit=1", "/cities/BLR/movies", "/cities/MUM/theatres", "/movies?q=dun", "/movies",
		"/shows?cityId=BLR&date=" + date, "/shows?limit=2&cityId=MUM&date=" + date, "/shows?cityId=MUM&movieId=MV-2&theatreId=2&date=" + date,
	} {
		s.call("GET", "/api/v1"+path, "").want(200, "")
	}
	for _, path := range []string{"/cities?limit=0", "/cities/BLR/movies?cursor=x", "/cities/BLR/theatres?limit=1001", "/movies?limit=x", "/shows?cityId=BLR", "/shows?date=" + date} {
		s.call("GET", "/api/v1"+path, "").want(400, codeInvalidRequest)
	}
	for _, path := range []string{"/cities/none/movies", "/cities/none/theatres", "/shows?cityId=none&date=" + date} {
		s.call("GET", "/api/v1"+path, "").want(404, codeCityNotFound)
	}
}

func (s *contractScript) seats() {
	s.t.Helper()
	base := "/api/v1/shows/" + s.show
	for _, path := range []string{"/seats", "/layout", "/availability"} {
		r := s.call("GET", base+path, "").want(200, "")
		s.call("GET", base+path, "", "If-None-Match", r.header.Get("ETag")).want(304, "")
	}
	s.hold(s.show, "9", "D1 D2").want(201, "")
	version := s.call("GET", base+"/seats", "").text("version")
	s.call("GET", base+"/availability?since=1&minVersion="+version, "").want(200, "")
	s.call("GET", base+"/availability?since=99999", "").want(200, "")
	for _, path := range []string{"/seats?minVersion=x", "/seats?minVersion=99999", "/layout?v=x", "/availability?since=-1", "/stream?since=x", "/stream?minVersion=99999"} {
		s.call("GET", base+path, "").want(400, codeInvalidRequest)
	}
	for _, path := range []string{"/seats", "/layout", "/availability", "/stream"} {
		s.call("GET", "/api/v1/shows/none"+path, "").want(404, codeShowNotFound)
	}
	response, err := s.client.Get(s.url + base + "/stream")
	if err != nil {
		s.t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		s.t.Errorf("the stream answers %s", response.Status)
	}
}

func (s *contractScript) booking() {
	s.t.Helper()
	show := s.newShow(`,"holdSeconds":60,"maxHoldsPerUser":2`)
	id := s.hold(show, "1", "A1 A2", "Idempotency-Key", "k1").want(201, "").text("id")
	s.hold(show, "1", "A1 A2").want(200, "")
	s.hold(show, "1", "A1 A2", "Idempotency-Key", "k1").want(201, "")
	s.hold(show, "1", "A3", "Idempotency-Key", "k1").want(422, codeIdempotencyKeyReused)
	s.hold(show, "2", "A1").want(409, codeSeatUnavailable)
	s.hold(show, "1", "A1").want(409, codeSeatUnavailable)
	s.hold(show, "1", "Z9").want(400, codeInvalidRequest)
	s.hold("none", "1", "A1").want(404, codeShowNotFound)
	s.call("GET", "/api/v1/shows/"+show+"/bookings?idempotencyKey=k1", "").want(200, "")
	s.call("GET", "/api/v1/shows/"+show+"/bookings?idempotencyKey=other", "").want(404, codeBookingNotFound)
	s.call("GET", "/api/v1/shows/"+show+"/bookings", "").want(400, codeInvalidRequest)
	s.advance(time.Second)
	s.on(id, "extend", `{"userId":"1"}`).want(200, "")
	s.confirm(id, "1", "PAY-1").want(200, "")
	s.confirm(id, "1", "PAY-1").want(200, "")
	s.confirm(id, "1", "PAY-2").want(409, codeBookingState)
	s.on(id, "extend", `{"userId":"1"}`).want(409, codeBookingState)
	s.on(id, "release", `{"userId":"1","reason":"abandoned"}`).want(409, codeBookingState)
	s.on(id, "cancel", `{"userId":"1","seats":["A2"]}`).want(200, "")
	s.on(id, "cancel", `{"userId":"1","seats":["C1"]}`).want(400, codeInvalidRequest)
	pending := s.held(show, "1", "C1")
	s.on(pending, "cancel", `{"userId":"1","seats":["C1"]}`)
	s.held(show, "6", "D1")
	s.held(show, "6", "D2")
	s.hold(show, "6", "D3").want(429, codeHoldLimit)
	late := s.held(show, "3", "B1")
	declined := s.held(show, "4", "B2")
	released := s.held(show, "5", "B3")
	s.on(released, "release", `{"userId":"5","reason":"abandoned"}`).want(200, "")
	s.on(declined, "confirm", `{"userId":"4","paymentMethod":"`+payment.MethodSandboxDeclined+`"}`).want(402, codePaymentDeclined)
	s.advance(2 * time.Minute)
	s.confirm(late, "3", "PAY-3").want(410, codeHoldExpired)
	s.on(late, "extend", `{"userId":"3"}`).want(410, codeHoldExpired)
	for _, deed := range []string{"confirm", "release", "extend", "cancel"} {
		body := map[string]string{
			"confirm": `{"userId":%q,"paymentRef":"PAY-9"}`, "release": `{"userId":%q,"reason":"abandoned"}`, "extend": `{"userId":%q}`, "cancel": `{"userId":%q}`,
		}[deed]
		s.on(id, deed, fmt.Sprintf(body, "other")).want(403, codeNotYourBooking)
		s.on("BMS-none", deed, fmt.Sprintf(body, "1")).want(404, codeBookingNotFound)
		s.on(id, deed, `{}`).want(400, codeInvalidRequest)
	}
	s.bookingID = id
	s.readBooking(id)
}

func (s *contractScript) readBooking(id string) {
	s.t.Helper()
	for _, consistency := range []string{"local", "leader", "strong"} {
		s.call("GET", "/api/v1/bookings/"+id+"?consistency="+consistency, "").want(200, "")
	}
	s.call("GET", "/api/v1/bookings/"+id+"?consistency=x", "").want(400, codeInvalidRequest)
	s.call("GET", "/api/v1/bookings/none", "").want(404, codeBookingNotFound)
	s.call("GET", "/api/v1/bookings?userId=1", "").want(200, "")
	s.call("GET", "/api/v1/bookings?userId=1&status=CANCELLED&limit=1", "").want(200, "")
	s.call("GET", "/api/v1/bookings", "").want(400, codeInvalidRequest)
}

func (s *contractScript) staff() {
	s.t.Helper()
	show := s.newShow("")
	base := "/api/v1/shows/" + show
	s.hold(show, "1", "A1").want(201, "")
	for _, deed := range []string{"block", "unblock"} {
		s.call("POST", base+"/"+deed, `{"seats":["A2","A3"],"reason":"house"}`).want(200, "")
		s.call("POST", base+"/"+deed, `{"seats":["A1"]}`).want(409, codeSeatUnavailable) // held
		s.call("POST", base+"/"+deed, `{}`).want(400, codeInvalidRequest)
		s.call("POST", "/api/v1/shows/none/"+deed, `{"seats":["A1"]}`).want(404, codeShowNotFound)
	}
	for _, deed := range []string{"pause", "resume", "close", "resume", "cancel", "cancel"} {
		s.call("POST", base+"/"+deed, "").want(200, "")
		switch deed {
		case "pause":
			s.hold(show, "2", "B1").want(403, codeSalePaused)
		case "close":
			s.hold(show, "2", "B1").want(410, codeSaleClosed)
		}
		s.call("POST", base+"/"+deed, `{"x":1}`).want(400, codeInvalidRequest)
		s.call("POST", "/api/v1/shows/none/"+deed, "").want(404, codeShowNotFound)
	}
	for _, deed := range []string{"pause", "resume", "close"} {
		s.call("POST", base+"/"+deed, "").want(410, codeSaleClosed)
	}
	s.call("GET", base+"/audit", "").want(200, "")
	s.call("GET", base+"/audit?consistency=local", "").want(200, "")
	s.call("GET", base+"/audit?consistency=x", "").want(400, codeInvalidRequest)
	s.call("GET", "/api/v1/shows/none/audit", "").want(404, codeShowNotFound)
}

func (s *contractScript) operations() {
	s.t.Helper()
	for _, path := range []string{"/", "/healthz", "/readyz", "/metrics", "/api/v1/cluster", "/api/v1/audit"} {
		s.call("GET", path, "").want(200, "")
	}
	s.call("POST", "/api/v1/test/clock/advance", `{"seconds":1}`).want(200, "")
	s.call("POST", "/api/v1/test/clock/advance", `{"seconds":-1}`).want(400, codeInvalidRequest)
}

// commonRefusals provokes, on every operation that documents them, what does not depend on the operation.
func (s *contractScript) commonRefusals(doc *openapi3.T) {
	s.t.Helper()
	large := `{"name":"` + strings.Repeat("x", BodyBytesMax) + `"}`
	for pattern, item := range doc.Paths.Map() {
		bad := strings.ReplaceAll(pattern, "{id}", "%20") // not an id
		good := strings.ReplaceAll(pattern, "{id}", s.show)
		isBooking := strings.Contains(pattern, "/bookings/{id}")
		if isBooking {
			good = strings.ReplaceAll(pattern, "{id}", s.bookingID)
		}
		for method, operation := range item.Operations() {
			documented := operation.Responses.Map()
			if documented["413"] != nil {
				s.call(method, good, large).want(413, codeBodyTooLarge)
			}
			if documented["415"] != nil {
				s.call(method, good, `<x/>`, "Content-Type", "text/xml").want(415, codeUnsupportedMediaType)
			}
			if bad != good && !isBooking {
				s.call(method, bad, "").want(400, codeInvalidRequest)
			}
		}
	}
}
