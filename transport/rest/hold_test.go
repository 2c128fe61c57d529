package rest

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/houseful/houseful/fsm"
)

// TestHold follows one booking from hold to confirm, field by field. (M-10, M-12, M-20, M-21)
func TestHold(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	r := a.call("POST", "/api/v1/bookings/hold", fmt.Sprintf(`{"showId":%q,"userId":7,"userName":"Ann","seats":["C8","A1"],
		"contact":{"email":"a@b.c","phone":"+911","locale":"en"}}`, show)).want(201, "")
	id := r.text("id")
	if r.header.Get("Location") != "/api/v1/bookings/"+id || r.header.Get("Cache-Control") != "no-store" || r.header.Get("X-Houseful-Node") == "" {
		t.Errorf("headers are %v", r.header)
	}
	r.is("bookingReference", id).is("userId", "7").is("userName", "Ann").is("showId", show).is("movieTitle", "Interstellar").
		is("theatreName", "PVR Forum").is("screenName", "Audi 1").is("seatLabels.0", "A1").is("seatLabels.1", "C8").is("totalAmount", "35001").
		is("currency", "INR").is("status", "PENDING").is("seats.0.seatId", "1").is("seats.0.tier", "SILVER").is("seats.0.price", "15000").
		is("seats.0.status", "HELD").is("seats.1.seatId", "28").is("seats.1.label", "C8").is("payment.status", "NONE").is("version", "1").
		is("paymentTransactionReference", "")
	created, err1 := time.Parse(time.RFC3339, r.text("createdAt"))
	expires, err2 := time.Parse(time.RFC3339, r.text("expiresAt"))
	if err1 != nil || err2 != nil || expires.Sub(created) != 7*time.Minute {
		t.Errorf("created at %s, expires at %s", r.text("createdAt"), r.text("expiresAt"))
	}
	for _, consistency := range []string{"", "?consistency=local", "?consistency=leader", "?consistency=strong"} {
		a.call("GET", "/api/v1/bookings/"+id+consistency, "").want(200, "").is("status", "PENDING").is("version", "1")
	}
	a.on(id, "confirm", `{"userId":"7","paymentRef":"PAY-1","amount":35001,"currency":"INR"}`).want(200, "").is("status", "CONFIRMED").
		is("seats.0.status", "BOOKED").is("payment.status", "CAPTURED").is("payment.amount", "35001").is("paymentTransactionReference", "PAY-1").
		is("payments.0.ref", "PAY-1").is("payments.0.method", "external").is("payments.0.status", "CAPTURED").is("version", "2")
}

// TestSeatUnavailable: every refused seat is told, why, and when it may come free; nothing is held. (M-10, M-11)
func TestSeatUnavailable(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	first := a.hold(show, "u1", "A1 A2").want(201, "")
	booked := a.held(show, "u2", "A3")
	a.confirm(booked, "u2", "PAY-1").want(200, "")
	a.call("POST", "/api/v1/shows/"+show+"/block", `{"seats":["A4"],"reason":"house"}`).want(200, "")
	r := a.hold(show, "u9", "A5 A4 A3 A2").want(409, codeSeatUnavailable)
	r.is("details.seats.0.label", "A2").is("details.seats.0.seatId", "2").is("details.seats.0.reason", "HELD").is("details.seats.0.freeAt", first.text("expiresAt")).
		is("details.seats.1.label", "A3").is("details.seats.1.reason", "BOOKED").is("details.seats.1.freeAt", "").
		is("details.seats.2.label", "A4").is("details.seats.2.reason", "BLOCKED")
	if n := len(r.at("details.seats").([]any)); n != 3 {
		t.Errorf("%d seats are named, want 3", n)
	}
	a.hold(show, "u9", "A5").want(201, "") // the refused call held none of its seats
	a.hold(show, "u1", "A2 A6").want(409, codeSeatUnavailable).is("details.seats.0.reason", "HELD_BY_YOU").is("details.seats.0.bookingId", first.text("id"))
	a.hold(show, "u1", "A1").want(409, codeSeatUnavailable).is("details.seats.0.reason", "HELD_BY_YOU")
	// Exactly the same seats, in any order: extended, same id. (M-15)
	a.advance(time.Minute)
	again := a.hold(show, "u1", "A2 A1").want(200, "").is("id", first.text("id"))
	if again.text("expiresAt") <= first.text("expiresAt") {
		t.Errorf("the hold was not extended: %s, then %s", first.text("expiresAt"), again.text("expiresAt"))
	}
	// Past its deadline a hold blocks nobody. (M-13)
	a.advance(8 * time.Minute)
	a.hold(show, "u9", "A1 A2").want(201, "")
}

func TestSeatIDs(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	body := fmt.Sprintf(`{"showId":%q,"userId":"u","seatIds":[40,1]}`, show)
	a.call("POST", "/api/v1/bookings/hold", body).want(201, "").is("seatLabels.0", "A1").is("seatLabels.1", "D10")
	for _, seats := range []string{`"seatIds":[41]`, `"seats":["A11"]`, `"seats":["E1"]`, `"seats":["a1"]`} {
		r := a.call("POST", "/api/v1/bookings/hold", fmt.Sprintf(`{"showId":%q,"userId":"u",%s}`, show, seats)).want(400, codeInvalidRequest)
		if !strings.HasPrefix(r.text("details.field"), "seat") {
			t.Errorf("%s: field is %q", seats, r.text("details.field"))
		}
	}
}

// TestReplace: an old hold is swapped for a new one in one step. (M-15)
func TestReplace(t *testing.T) {
	a := startAPI(t)
	show, otherShow := a.newShow(""), a.newShow("")
	replace := func(show, user, seats, old string) *answer {
		body := strings.TrimSuffix(holdBody(show, user, seats), "}") + fmt.Sprintf(`,"replace":%q}`, old)
		return a.call("POST", "/api/v1/bookings/hold", body)
	}
	old := a.held(show, "u", "A1 A2")
	a.held(show, "v", "B1")
	replace(show, "u", "A2 B1", old).want(409, codeSeatUnavailable)
	a.booking(old).is("status", "PENDING")
	id := replace(show, "u", "A2 A3", old).want(201, "").text("id")
	a.booking(old).is("status", "RELEASED")
	a.booking(id).is("status", "PENDING").is("seatLabels.1", "A3")
	a.hold(show, "w", "A1").want(201, "")
	replace(show, "u", "A4", old).want(409, codeBookingState).is("details.status", "RELEASED")
	replace(otherShow, "u", "A4", id).want(409, codeBookingState)
	replace(show, "v", "A4", id).want(409, codeBookingState)
	replace(show, "u", "A4", "BMS-00000000000000000000000000").want(409, codeBookingState)
	a.booking(id).is("status", "PENDING")
}

func TestHoldLimit(t *testing.T) {
	a := startAPI(t)
	show := a.newShow(`,"maxHoldsPerUser":2,"maxSeatsPerBooking":3`)
	a.held(show, "u", "A1")
	id := a.held(show, "u", "A2")
	if r := a.hold(show, "u", "A3").want(429, codeHoldLimit); r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	a.on(id, "release", `{"userId":"u","reason":"abandoned"}`).want(200, "")
	a.held(show, "u", "A3")
	a.hold(show, "v", "B1 B2 B3 B4").want(400, codeInvalidRequest).is("details.field", "seats")
	a.hold(show, "v", "B1 B2 B3").want(201, "")
}

// TestSaleStates: what a show's state refuses, and what it lets through.
func TestSaleStates(t *testing.T) {
	a := startAPI(t)
	a.hold("no-such-show", "u", "A1").want(404, codeShowNotFound)
	opens := a.node.Now().Add(time.Hour)
	soon := a.newShow(fmt.Sprintf(`,"salesOpenAt":%q`, rfc3339(opens)))
	a.hold(soon, "u", "A1").want(403, codeSaleNotOpen).is("details.opensAt", rfc3339(opens))

	show := a.newShow("")
	id, other := a.held(show, "u", "A1"), a.held(show, "u", "A2")
	control := func(action string) *answer { return a.call("POST", "/api/v1/shows/"+show+"/"+action, "") }
	control("pause").want(200, "").is("status", "PAUSED").is("showId", show).is("counts.held", "2").is("counts.total", "40")
	control("pause").want(200, "").is("status", "PAUSED")
	a.hold(show, "u", "A3").want(403, codeSalePaused)
	a.confirm(id, "u", "PAY-1").want(200, "")
	control("resume").want(200, "").is("status", "ON_SALE")
	control("close").want(200, "").is("status", "CLOSED")
	a.hold(show, "u", "A3").want(410, codeSaleClosed)
	control("resume").want(200, "").is("status", "ON_SALE")
	a.held(show, "u", "A3")
	control("cancel").want(200, "").is("status", "CANCELLED")
	control("cancel").want(200, "").is("status", "CANCELLED")
	a.hold(show, "u", "A4").want(410, codeSaleClosed)
	control("resume").want(410, codeSaleClosed)
	eventually(t, "everybody has everything back", func() bool { return a.booking(id).text("status") == "CANCELLED" })
	a.booking(id).is("payment.status", "REFUND_DUE").is("payment.refundAmount", "15000")
	if r := a.confirm(other, "u", "PAY-2"); r.status != 409 && r.status != 410 {
		t.Errorf("a hold of a cancelled show was confirmed: %d %s", r.status, r.raw)
	}
	a.call("POST", "/api/v1/shows/none/pause", "").want(404, codeShowNotFound)
	a.call("POST", "/api/v1/shows/"+show+"/pause", `{"x":1}`).want(400, codeInvalidRequest).is("details.field", "x")
}

// TestIdempotency: the same key gives the first result, whatever happened since; another body is refused. (M-16)
func TestIdempotency(t *testing.T) {
	a := startAPI(t)
	show, other := a.newShow(`,"maxHoldsPerUser":1`), a.newShow("")
	key := []string{"Idempotency-Key", "k-1"}
	first := a.hold(show, "u", "A1 A2", key...).want(201, "")
	if first.header.Get("Idempotent-Replayed") != "" {
		t.Error("the first call says that it is a replay")
	}
	id := first.text("id")
	replay := func(headers ...string) *answer {
		t.Helper()
		r := a.hold(show, "u", "A2 A1", headers...).want(201, "").is("id", id) // seats in another order: the same command
		if r.header.Get("Idempotent-Replayed") != "true" || r.header.Get("Location") != "/api/v1/bookings/"+id {
			t.Errorf("a replay's headers are %v", r.header)
		}
		return r
	}
	replay(key...).is("status", "PENDING")
	replay("X-Idempotency-Key", "k-1")
	replay("X-Idempotency-Key", "k-1", "Idempotency-Key", "k-1")
	a.hold(show, "u", "A1 A3", key...).want(422, codeIdempotencyKeyReused)
	a.hold(show, "v", "A1 A2", key...).want(422, codeIdempotencyKeyReused)
	a.hold(other, "u", "A1 A2", key...).want(201, "") // keys belong to a show
	// A refusal is not kept.
	a.hold(show, "w", "A1", "Idempotency-Key", "k-2").want(409, codeSeatUnavailable)
	a.hold(show, "w", "A9", "Idempotency-Key", "k-2").want(201, "")
	// A replay comes before sale state, limits and seats, and shows the booking as it is now.
	a.call("POST", "/api/v1/shows/"+show+"/pause", "").want(200, "")
	a.confirm(id, "u", "PAY-1").want(200, "")
	replay(key...).is("status", "CONFIRMED")
	a.advance(23 * time.Hour)
	replay(key...)
	a.advance(2 * time.Hour)
	a.hold(show, "u", "A1 A2", key...).want(403, codeSalePaused) // forgotten after a day: a new request

	for _, headers := range [][]string{
		{"Idempotency-Key", "a", "X-Idempotency-Key", "b"},
		{"Idempotency-Key", strings.Repeat("x", 101)},
		{"Idempotency-Key", "a b"},
		{"Idempotency-Key", "ü"},
		{"X-Idempotency-Key", ""},
	} {
		a.hold(other, "u", "B1", headers...).want(400, codeInvalidRequest).is("details.field", "Idempotency-Key")
	}
	a.hold(other, "u", "B1", "Idempotency-Key", strings.Repeat("~", 100)).want(201, "")
}

// TestFindByKey: the booking of a lost reply is found by its key. (M-16)
func TestFindByKey(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	find := func(show, key string) *answer {
		return a.call("GET", "/api/v1/shows/"+show+"/bookings?idempotencyKey="+url.QueryEscape(key), "")
	}
	missing := find(show, "k+1").want(404, codeBookingNotFound)
	final, err := time.Parse(time.RFC3339, missing.text("details.finalAfter"))
	if err != nil || final.UnixMilli() < int64(a.node.Now()) || final.UnixMilli() > int64(a.node.Now().Add(fsm.CommandLifeMax)) {
		t.Errorf("finalAfter is %q: %v", missing.text("details.finalAfter"), err)
	}
	id := a.hold(show, "u", "A1", "Idempotency-Key", "k+1").want(201, "").text("id")
	find(show, "k+1").want(200, "").is("id", id)
	find(show, "k+2").want(404, codeBookingNotFound)
	find(a.newShow(""), "k+1").want(404, codeBookingNotFound)
	find(show, "").want(400, codeInvalidRequest)
	find(show, "a b").want(400, codeInvalidRequest)
	a.call("GET", "/api/v1/shows/"+show+"/bookings", "").want(400, codeInvalidRequest).is("details.field", "idempotencyKey")
}

// TestRace: of a hundred buyers of one seat one wins, the others are told in the same call. (M-50)
func TestRace(t *testing.T) {
	a := startAPI(t)
	const racers = 100
	show := a.newShow("")
	answers := make([]*answer, racers)
	var group sync.WaitGroup
	for i := range racers {
		group.Go(func() { answers[i] = a.hold(show, fmt.Sprintf("u%d", i), "A1 A2") })
	}
	group.Wait()
	won := 0
	for _, r := range answers {
		if r.status == 201 {
			won++
			continue
		}
		r.want(409, codeSeatUnavailable)
		if n := len(r.at("details.seats").([]any)); n != 2 {
			t.Errorf("a loser was told of %d seats, want both", n)
		}
	}
	if won != 1 {
		t.Errorf("%d buyers won", won)
	}
}
