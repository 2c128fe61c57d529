package rest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/houseful/houseful/fsm"
)

// TestLateMoney: money that cannot confirm its booking is recorded as due back, once. (M-22)
func TestLateMoney(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	id := a.held(show, "u", "A1 A2")
	a.advance(7 * time.Minute)
	late := a.on(id, "confirm", `{"userId":"u","paymentRef":"LATE-1","amount":30000,"currency":"INR"}`).want(410, codeHoldExpired).
		is("details.refund", "30000").is("details.currency", "INR")
	a.booking(id).is("status", "EXPIRED").is("payment.status", "REFUND_DUE").is("payment.refundAmount", "30000").is("payments.0.status", "REFUND_DUE")
	again := a.on(id, "confirm", `{"userId":"u","paymentRef":"LATE-1","amount":30000,"currency":"INR"}`).want(410, codeHoldExpired)
	again.is("details.refund", late.text("details.refund"))
	if n := len(a.booking(id).at("payments").([]any)); n != 1 {
		t.Errorf("the late payment is recorded %d times", n)
	}
	a.on(id, "confirm", `{"userId":"u","paymentRef":"LATE-2","amount":500,"currency":"EUR"}`).want(410, codeHoldExpired).
		is("details.refund", "500").is("details.currency", "EUR") // what came, not the booking's
	// A second payment of a confirmed booking is due back too.
	paid := a.held(show, "u", "B1")
	a.confirm(paid, "u", "PAY-1").want(200, "")
	a.confirm(paid, "u", "PAY-2").want(409, codeBookingState).is("details.status", "CONFIRMED").is("details.refund", "15000")
	a.booking(paid).is("payment.status", "CAPTURED").is("payments.1.ref", "PAY-2").is("payments.1.status", "REFUND_DUE")
}

func TestAmountMismatch(t *testing.T) {
	a := startAPI(t)
	id := a.held(a.newShow(""), "u", "A1")
	a.on(id, "confirm", `{"userId":"u","paymentRef":"P-1","amount":14999}`).want(409, codeAmountMismatch).is("details.totalAmount", "15000").is("details.refund", "14999")
	a.on(id, "confirm", `{"userId":"u","paymentRef":"P-2","amount":15000,"currency":"EUR"}`).want(409, codeAmountMismatch).
		is("details.currency", "INR").is("details.refund", "15000").is("details.refundCurrency", "EUR")
	a.on(id, "confirm", `{"userId":"u","paymentRef":"P-1","amount":14999}`).want(409, codeAmountMismatch)
	a.booking(id).is("status", "PENDING").is("payments.0.status", "REFUND_DUE").is("payments.1.currency", "EUR") // the hold lives on
	// However much it is, money that came is recorded; only what is no amount is refused.
	a.on(id, "confirm", `{"userId":"u","paymentRef":"P-4","amount":9223372036854775807}`).want(409, codeAmountMismatch)
	a.booking(id).is("payments.2.amount", "9223372036854775807").is("payments.2.status", "REFUND_DUE")
	for _, amount := range []string{"-1", "1.5", `"15000"`, "9223372036854775808", "1e3"} {
		a.on(id, "confirm", `{"userId":"u","paymentRef":"P-5","amount":`+amount+`}`).want(400, codeInvalidRequest).is("details.field", "amount")
	}
	a.on(id, "confirm", `{"userId":"u","paymentRef":"P-3","amount":15000,"currency":"INR"}`).want(200, "").is("status", "CONFIRMED")
}

// TestPaymentRefUnique: a reference pays for one booking in the whole cluster, whatever the shard. (M-21)
func TestPaymentRefUnique(t *testing.T) {
	a := startAPI(t)
	var ids []string
	for range 6 { // over both shards
		ids = append(ids, a.held(a.newShow(""), "u", "A1"))
	}
	a.confirm(ids[0], "u", "PAY-1").want(200, "")
	for _, id := range ids[1:] {
		a.confirm(id, "u", "PAY-1").want(409, codePaymentRefReused)
		a.booking(id).is("status", "PENDING").is("payment.status", "NONE")
	}
	// Racing for one reference: one booking gets it.
	answers := make([]*answer, len(ids))
	var group sync.WaitGroup
	for i, id := range ids[1:] {
		group.Go(func() { answers[i] = a.confirm(id, "u", "PAY-2") })
	}
	group.Wait()
	won := 0
	for _, r := range answers[:len(ids)-1] {
		if r.status == 200 {
			won++
		} else {
			r.want(409, codePaymentRefReused)
		}
	}
	if won != 1 {
		t.Errorf("%d bookings were paid with one reference", won)
	}
}

// TestSandbox: payments through a provider. (M-23, M-26)
func TestSandbox(t *testing.T) {
	a := startAPI(t)
	show := a.newShow("")
	const pay, decline = `{"userId":"u","paymentMethod":"sandbox"}`, `{"userId":"u","paymentMethod":"sandbox-declined"}`
	id := a.held(show, "u", "A1")
	a.on(id, "confirm", `{"userId":"u","paymentMethod":"cowries"}`).want(400, codeInvalidRequest).is("details.field", "paymentMethod").
		is("message", `paymentMethod: "cowries" is not a method this server has a provider for; it has sandbox, sandbox-declined`)
	paid := a.on(id, "confirm", pay).want(200, "").is("status", "CONFIRMED").is("payments.0.method", "sandbox").is("payment.amount", "15000")
	again := a.on(id, "confirm", pay).want(200, "").is("version", paid.text("version"))
	if again.header.Get("Idempotent-Replayed") != "true" {
		t.Error("the repeat does not say that it is one")
	}
	declined := a.held(show, "u", "A2")
	a.on(declined, "confirm", decline).want(402, codePaymentDeclined)
	a.booking(declined).is("status", "FAILED").is("payment.status", "NONE")
	a.on(declined, "confirm", pay).want(409, codeBookingState).is("details.status", "FAILED")
	a.held(show, "v", "A2") // its seats are free at once
	late := a.held(show, "u", "A3")
	a.advance(7 * time.Minute)
	a.on(late, "confirm", pay).want(410, codeHoldExpired).is("details.refund", "") // nothing was taken
	a.on(late, "confirm", decline).want(410, codeHoldExpired)
	external := a.held(show, "u", "A4")
	a.confirm(external, "u", "PAY-1").want(200, "")
	a.on(external, "confirm", pay).want(409, codeBookingState)
}

// TestExtend: an extension is capped by the hold's longest life. (M-15)
func TestExtend(t *testing.T) {
	a := startAPI(t)
	r := a.hold(a.newShow(`,"holdSeconds":60`), "u", "A1").want(201, "")
	id, created := r.text("id"), r.text("createdAt")
	deadline := r.text("expiresAt")
	for range 2 {
		a.advance(50 * time.Second)
		next := a.on(id, "extend", `{"userId":"u"}`).want(200, "").text("expiresAt")
		if next <= deadline {
			t.Fatalf("extended from %s to %s", deadline, next)
		}
		deadline = next
	}
	a.advance(50 * time.Second)
	next := a.on(id, "extend", `{"userId":"u"}`).want(200, "").text("expiresAt")
	start, _ := time.Parse(time.RFC3339, created)
	if end, _ := time.Parse(time.RFC3339, next); end.Sub(start) != 3*time.Minute {
		t.Errorf("the hold lives from %s to %s, want three times a minute", created, next)
	}
	a.on(id, "extend", `{"userId":"u"}`).want(409, codeExtendLimit)
	a.booking(id).is("status", "PENDING").is("expiresAt", next)
}

// TestRefunds: the policy's boundaries, to the millisecond where the clock allows. (M-25)
func TestRefunds(t *testing.T) {
	a := startAPI(t)
	for _, test := range []struct {
		before time.Duration // from the cancel to the start, at most; a few milliseconds less in fact
		refund string        // of 15000 + 20001
	}{
		{121 * time.Minute, "35001"}, {119*time.Minute + 59*time.Second, "17500"}, {21 * time.Minute, "17500"}, {19*time.Minute + 59*time.Second, "0"}, {-time.Minute, "0"},
	} {
		a.shows++
		show := fmt.Sprintf("show-%d", a.shows)
		starts := a.node.Now().Add(4 * time.Hour)
		a.putShow(show, starts, "")
		id := a.held(show, "u", "A1 C1")
		a.confirm(id, "u", "PAY-"+id).want(200, "")
		if wait := starts.Std().Sub(a.node.Now().Std()) - test.before; wait > 0 {
			a.advance(wait.Truncate(time.Second))
		}
		status := "REFUND_DUE"
		if test.refund == "0" {
			status = "CAPTURED"
		}
		a.on(id, "cancel", `{"userId":"u"}`).want(200, "").is("status", "CANCELLED").is("payment.refundAmount", test.refund).is("payment.status", status)
		a.on(id, "cancel", `{"userId":"u"}`).want(200, "").is("payment.refundAmount", test.refund) // once
		a.call("GET", "/api/v1/shows/"+show+"/audit", "").want(200, "").is("counts.available", "40").is("ok", "true")
	}
}

// TestPartCancel: some seats go, the booking stays confirmed until its last; refunds add up. (M-25)
func TestPartCancel(t *testing.T) {
	a := startAPI(t)
	show := a.newShow(`,"refundPolicy":[{"minutesBefore":60,"percent":33}]`)
	id := a.held(show, "u", "A1 C1 C2")
	a.confirm(id, "u", "PAY-1").want(200, "")
	a.on(id, "cancel", `{"userId":"u","seats":["B1"]}`).want(400, codeInvalidRequest)
	a.on(id, "cancel", `{"userId":"u","seats":[]}`).want(400, codeInvalidRequest)
	a.on(id, "cancel", `{"userId":"u","seats":["C1","C1"]}`).want(400, codeInvalidRequest)
	a.on(id, "cancel", `{"userId":"u","seats":["C1"]}`).want(200, "").is("status", "CONFIRMED").is("payment.refundAmount", "6600").is("totalAmount", "35001").
		is("seatLabels.0", "A1").is("seatLabels.1", "C2").is("seats.1.status", "CANCELLED").is("seats.2.status", "BOOKED")
	a.on(id, "cancel", `{"userId":"u","seats":["C1"]}`).want(200, "").is("payment.refundAmount", "6600") // again changes nothing
	a.held(show, "v", "C1")
	a.on(id, "cancel", `{"userId":"u","seatIds":[1,22]}`).want(200, "").is("status", "CANCELLED").is("payment.refundAmount", "18150") // 6600 + floor(35001 × 33 %)
	a.booking(id).is("totalAmount", "35001").is("seatLabels.1", "C2")                                                                 // an ended booking keeps its last
}

// TestList: a user's and a show's bookings, newest first, page by page. (M-32)
func TestList(t *testing.T) {
	a := startAPI(t)
	show, other := a.newShow(`,"maxHoldsPerUser":100`), a.newShow(`,"maxHoldsPerUser":100`)
	var ids []string
	for i := range 12 {
		in := show
		if i%2 == 1 {
			in = other
		}
		ids = append([]string{a.held(in, "u", fmt.Sprintf("A%d", i/2+1))}, ids...)
		a.advance(time.Second)
	}
	a.held(show, "v", "D1")
	list := func(query string) *answer { return a.call("GET", "/api/v1/bookings?"+query, "") }
	collect := func(query string) (found []string) {
		t.Helper()
		for cursor := ""; ; {
			r := list(query+cursor).want(200, "")
			for _, item := range r.at("items").([]any) {
				found = append(found, item.(map[string]any)["id"].(string))
			}
			next := r.text("nextCursor")
			if next == "" {
				return found
			}
			cursor = "&cursor=" + next
		}
	}
	for _, limit := range []int{1, 4, 5, 12, 13, 1000} {
		if got := collect(fmt.Sprintf("userId=u&limit=%d", limit)); strings.Join(got, " ") != strings.Join(ids, " ") {
			t.Errorf("limit %d: got %v, want %v", limit, got, ids)
		}
	}
	if n := len(collect("showId=" + show)); n != 7 {
		t.Errorf("the show has %d bookings, want 7", n)
	}
	if n := len(collect("userId=u&showId=" + other + "&limit=2")); n != 6 {
		t.Errorf("the user has %d bookings of the show, want 6", n)
	}
	a.on(ids[0], "release", `{"userId":"u","reason":"abandoned"}`).want(200, "")
	if got := collect("userId=u&status=RELEASED"); len(got) != 1 || got[0] != ids[0] {
		t.Errorf("released: %v", got)
	}
	if r := list("userId=nobody").want(200, ""); string(r.raw) != `{"items":[]}` {
		t.Errorf("an empty list is %s", r.raw)
	}
	for query, field := range map[string]string{
		"": "userId", "status=PENDING": "userId", "userId=u&status=OPEN": "status", "userId=u&limit=0": "limit", "userId=u&limit=1001": "limit",
		"userId=u&limit=x": "limit", "userId=u&cursor=x": "cursor", "userId=u&cursor=": "cursor", "userId=a%2Fb": "userId", "showId=": "showId", "userId=%ff": "userId",
	} {
		list(query).want(400, codeInvalidRequest).is("details.field", field)
	}
	end := string(appendCursor(nil, fsm.BookingPosition{CreatedAt: 1, Sequence: 1}))
	list("userId=u&cursor="+end).want(200, "")
}
