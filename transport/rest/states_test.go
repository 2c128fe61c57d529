package rest

import (
	"fmt"
	"testing"
	"time"
)

// stateMaker brings a new booking of user u, holding one seat, into a state.
type stateMaker struct {
	status string
	make   func(a *testAPI, id string)
}

var bookingStates = []stateMaker{
	{"PENDING", func(*testAPI, string) {}},
	{"EXPIRED", func(a *testAPI, _ string) { a.advance(7 * time.Minute) }},
	{"CONFIRMED", func(a *testAPI, id string) { a.confirm(id, "u", "PAY-"+id).want(200, "") }},
	{"RELEASED", func(a *testAPI, id string) { a.on(id, "release", `{"userId":"u","reason":"abandoned"}`).want(200, "") }},
	{"FAILED", func(a *testAPI, id string) {
		a.on(id, "release", `{"userId":"u","reason":"payment_failed"}`).want(200, "")
	}},
	{"CANCELLED", func(a *testAPI, id string) {
		a.confirm(id, "u", "PAY-"+id).want(200, "")
		a.on(id, "cancel", `{"userId":"u"}`).want(200, "")
	}},
}

// TestStateTable holds every cell of the API's state table: each call in each state, its answer, and the state after.
// (M-4, M-21, M-22, M-23, M-24)
func TestStateTable(t *testing.T) {
	a := startAPI(t)
	const state = codeBookingState
	cells := []struct {
		deed   string
		answer map[string]string // state → "status error after"
	}{
		{"confirm", map[string]string{
			"PENDING": "200  CONFIRMED", "EXPIRED": "410 " + codeHoldExpired + " EXPIRED", "CONFIRMED": "409 " + state + " CONFIRMED",
			"RELEASED": "409 " + state + " RELEASED", "FAILED": "409 " + state + " FAILED", "CANCELLED": "409 " + state + " CANCELLED",
		}},
		{"confirm with the confirming reference", map[string]string{"CONFIRMED": "200  CONFIRMED", "CANCELLED": "200  CANCELLED"}},
		{"release", map[string]string{
			"PENDING": "200  RELEASED", "EXPIRED": "200  EXPIRED", "CONFIRMED": "409 " + state + " CONFIRMED",
			"RELEASED": "200  RELEASED", "FAILED": "200  FAILED", "CANCELLED": "200  CANCELLED",
		}},
		{"release as failed", map[string]string{
			"PENDING": "200  FAILED", "EXPIRED": "200  EXPIRED", "CONFIRMED": "409 " + state + " CONFIRMED",
			"RELEASED": "200  RELEASED", "FAILED": "200  FAILED", "CANCELLED": "200  CANCELLED",
		}},
		{"extend", map[string]string{
			"PENDING": "200  PENDING", "EXPIRED": "410 " + codeHoldExpired + " EXPIRED", "CONFIRMED": "409 " + state + " CONFIRMED",
			"RELEASED": "409 " + state + " RELEASED", "FAILED": "409 " + state + " FAILED", "CANCELLED": "409 " + state + " CANCELLED",
		}},
		{"cancel", map[string]string{
			"PENDING": "200  CANCELLED", "EXPIRED": "200  EXPIRED", "CONFIRMED": "200  CANCELLED",
			"RELEASED": "200  RELEASED", "FAILED": "200  FAILED", "CANCELLED": "200  CANCELLED",
		}},
	}
	for _, cell := range cells {
		for _, from := range bookingStates {
			want, ok := cell.answer[from.status]
			if !ok {
				continue
			}
			t.Run(cell.deed+" when "+from.status, func(t *testing.T) {
				a.t = t
				show := a.newShow("")
				id := a.held(show, "u", "A1")
				from.make(a, id)
				a.booking(id).is("status", from.status)
				if from.status == "PENDING" {
					a.advance(time.Second) // an extension must be later than the deadline
				}
				first := a.do(cell.deed, id)
				after := a.booking(id)
				if got := fmt.Sprintf("%d %s %s", first.status, first.text("error"), after.text("status")); got != want {
					t.Errorf("got %q, want %q: %s", got, want, first.raw)
				}
				if first.text("error") == state {
					first.want(409, state).is("details.status", from.status)
				}
				a.repeat(cell.deed, id, first, after)
			})
		}
	}
	a.t = t
}

// do makes a call of the state table.
func (a *testAPI) do(deed, id string) *answer {
	a.t.Helper()
	switch deed {
	case "confirm":
		return a.confirm(id, "u", "NEW-"+id)
	case "confirm with the confirming reference":
		return a.confirm(id, "u", "PAY-"+id)
	case "release":
		return a.on(id, "release", `{"userId":"u","reason":"abandoned"}`)
	case "release as failed":
		return a.on(id, "release", `{"userId":"u","reason":"payment_failed"}`)
	}
	return a.on(id, deed, `{"userId":"u"}`)
}

// repeat makes the call again: it must answer the same and change nothing more (an extension may move the deadline).
func (a *testAPI) repeat(deed, id string, first, after *answer) {
	a.t.Helper()
	second := a.do(deed, id)
	if deed == "extend" {
		if first.status == 200 && second.status == 409 {
			second.want(409, codeExtendLimit)
		}
		return
	}
	ended := after.text("status") == "CONFIRMED" || first.status != 200 || second.status == 200
	if second.text("error") != first.text("error") || !ended {
		a.t.Errorf("the repeat answered %d %s, the first call %d %s", second.status, second.raw, first.status, first.raw)
	}
	again := a.booking(id)
	for _, field := range []string{"status", "version", "payment.refundAmount", "totalAmount"} {
		again.is(field, after.text(field))
	}
	if (deed == "confirm" && first.status == 200) || deed == "confirm with the confirming reference" {
		if second.header.Get("Idempotent-Replayed") != "true" {
			a.t.Error("a repeat of the confirming reference does not say that it is one")
		}
	}
}

// TestNotYourBooking: a wrong user is refused in every state, and nothing is recorded.
func TestNotYourBooking(t *testing.T) {
	a := startAPI(t)
	for _, from := range bookingStates {
		id := a.held(a.newShow(""), "u", "A1")
		from.make(a, id)
		if from.status == "EXPIRED" { // a read says so at once, the log up to a second later: a change, but not of a call
			eventually(t, "the expiry is in the log", func() bool { return a.booking(id).text("version") == "2" })
		}
		before := a.booking(id)
		a.confirm(id, "other", "X-"+id).want(403, codeNotYourBooking)
		a.on(id, "confirm", `{"userId":"other","paymentMethod":"sandbox"}`).want(403, codeNotYourBooking)
		a.on(id, "release", `{"userId":"other","reason":"abandoned"}`).want(403, codeNotYourBooking)
		a.on(id, "extend", `{"userId":"other"}`).want(403, codeNotYourBooking)
		a.on(id, "cancel", `{"userId":"other"}`).want(403, codeNotYourBooking)
		a.booking(id).is("version", before.text("version")).is("status", from.status)
		mine := a.held(a.newShow(""), "u", "A2")
		a.confirm(mine, "u", "X-"+id).want(200, "") // the reference was not burnt
	}
}

func TestNoSuchBooking(t *testing.T) {
	a := startAPI(t)
	const strange = "BMS-00000000000000000000000000"
	for _, id := range []string{strange, "BMS-ZZZZ0000000000000000000000", "7", "BMS-", "..", "%2e%2e"} {
		a.call("GET", "/api/v1/bookings/"+id, "").want(404, "")
		a.confirm(id, "u", "PAY-1").want(404, "")
	}
	a.call("GET", "/api/v1/bookings/"+strange, "").want(404, codeBookingNotFound)
	for _, consistency := range []string{"local", "leader", "strong"} {
		a.call("GET", "/api/v1/bookings/"+strange+"?consistency="+consistency, "").want(404, codeBookingNotFound)
	}
	for deed, body := range map[string]string{
		"confirm": `{"userId":"u","paymentRef":"PAY-2"}`, "release": `{"userId":"u","reason":"abandoned"}`, "extend": `{"userId":"u"}`, "cancel": `{"userId":"u"}`,
	} {
		a.on(strange, deed, body).want(404, codeBookingNotFound)
	}
	a.on(strange, "confirm", `{"userId":"u","paymentMethod":"sandbox"}`).want(404, codeBookingNotFound)
	id := a.held(a.newShow(""), "u", "A1")
	a.confirm(id, "u", "PAY-2").want(200, "") // no refusal above burnt it
}
