package rest

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/transport/payment"
)

// newBodyCall makes a call with a body that no server reads.
func newBodyCall(body string) *Call {
	c := &Call{server: &Server{payments: payment.NewProviders(payment.Sandbox{})}}
	ctx := &fasthttp.RequestCtx{}
	ctx.Request.SetBodyString(body)
	c.reset(ctx)
	c.principal = openPrincipal
	return c
}

func TestBodyRefusals(t *testing.T) {
	hold := func(c *Call) error { return c.readHold(nil) }
	for _, test := range []struct{ name, body, field string }{
		{"empty", ``, "body"},
		{"white space", "  \n", "body"},
		{"not JSON", `hello`, "body"},
		{"cut", `{"showId":"1"`, "body"},
		{"trailing data", `{"showId":"1"} {}`, "body"},
		{"array", `["showId"]`, "body"},
		{"null", `null`, "body"},
		{"not UTF-8", "{\"showId\":\"\xff\"}", "body"},
		{"control character", "{\"showId\":\"a\nb\"}", "body"},
		{"bad escape", `{"showId":"\q"}`, "body"},
		{"NaN", `{"showId":NaN}`, "body"},
		{"leading zero", `{"showId":01}`, "body"},
		{"half a surrogate pair", `{"userName":"\ud800x"}`, "body"},
		{"second half alone", `{"userName":"\udc00"}`, "body"},
		{"two first halves", `{"userName":"\ud800\ud800"}`, "body"},
		{"too deep", strings.Repeat("[", 17) + strings.Repeat("]", 17), "body"},
		{"deep object", strings.Repeat(`{"a":`, 60_000), "body"},
		{"comment", `{/**/"showId":"1"}`, "body"},
		{"byte order mark", "\ufeff{}", "body"},
		{"unknown field", `{"showId":"1","seats":["A1"],"userId":"u","colour":1}`, "colour"},
		{"duplicate field", `{"showId":"1","showId":"1","seats":["A1"],"userId":"u"}`, "showId"},
		{"duplicate by escape", `{"showId":"1","show\u0049d":"1","seats":["A1"],"userId":"u"}`, "showId"},
		{"case of a field", `{"showid":"1"}`, "showid"},
		{"no show", `{"seats":["A1"],"userId":"u"}`, "showId"},
		{"null show", `{"showId":null,"seats":["A1"],"userId":"u"}`, "showId"},
		{"show of the wrong type", `{"showId":["1"],"seats":["A1"],"userId":"u"}`, "showId"},
		{"fraction as id", `{"showId":1.5,"seats":["A1"],"userId":"u"}`, "showId"},
		{"exponent as id", `{"showId":1e3,"seats":["A1"],"userId":"u"}`, "showId"},
		{"empty id", `{"showId":"","seats":["A1"],"userId":"u"}`, "showId"},
		{"long id", `{"showId":"` + strings.Repeat("x", 65) + `","seats":["A1"],"userId":"u"}`, "showId"},
		{"id with a slash", `{"showId":"a/b","seats":["A1"],"userId":"u"}`, "showId"},
		{"no user", `{"showId":"1","seats":["A1"]}`, "userId"},
		{"no seats", `{"showId":"1","userId":"u"}`, "seats"},
		{"empty seats", `{"showId":"1","seats":[],"userId":"u"}`, "seats"},
		{"seats of the wrong type", `{"showId":"1","seats":"A1","userId":"u"}`, "seats"},
		{"number as label", `{"showId":"1","seats":[1],"userId":"u"}`, "seats"},
		{"null seat", `{"showId":"1","seats":[null],"userId":"u"}`, "seats"},
		{"bad label", `{"showId":"1","seats":["A01"],"userId":"u"}`, "seats"},
		{"label without number", `{"showId":"1","seats":["A"],"userId":"u"}`, "seats"},
		{"long row", `{"showId":"1","seats":["ABCD1"],"userId":"u"}`, "seats"},
		{"a seat twice", `{"showId":"1","seats":["A1","B1","A1"],"userId":"u"}`, "seats"},
		{"an id twice", `{"showId":"1","seatIds":[2,1,2],"userId":"u"}`, "seatIds"},
		{"both", `{"showId":"1","seats":["A1"],"seatIds":[1],"userId":"u"}`, "seatIds"},
		{"seat id 0", `{"showId":"1","seatIds":[0],"userId":"u"}`, "seatIds"},
		{"negative seat id", `{"showId":"1","seatIds":[-1],"userId":"u"}`, "seatIds"},
		{"seat id as text", `{"showId":"1","seatIds":["1"],"userId":"u"}`, "seatIds"},
		{"huge seat id", `{"showId":"1","seatIds":[4294967297],"userId":"u"}`, "seatIds"},
		{"101 seats", `{"showId":"1","seatIds":[` + strings.Repeat("1,", 100) + `1],"userId":"u"}`, "seatIds"},
		{"user name of the wrong type", `{"showId":"1","seats":["A1"],"userId":"u","userName":{}}`, "userName"},
		{"long user name", `{"showId":"1","seats":["A1"],"userId":"u","userName":"` + strings.Repeat("x", 501) + `"}`, "userName"},
		{"contact of the wrong type", `{"showId":"1","seats":["A1"],"userId":"u","contact":"a@b"}`, "contact"},
		{"unknown contact", `{"showId":"1","seats":["A1"],"userId":"u","contact":{"fax":"1"}}`, "contact.fax"},
		{"contact twice", `{"showId":"1","seats":["A1"],"userId":"u","contact":{"email":"a","email":"b"}}`, "contact.email"},
		{"e-mail of the wrong type", `{"showId":"1","seats":["A1"],"userId":"u","contact":{"email":1}}`, "contact.email"},
		{"bad replace", `{"showId":"1","seats":["A1"],"userId":"u","replace":"BMS-1"}`, "replace"},
		{"empty replace", `{"showId":"1","seats":["A1"],"userId":"u","replace":""}`, "replace"},
	} {
		wantInvalid(t, test.name, hold(newBodyCall(test.body)), test.field)
	}
}

func TestConfirmBodyRefusals(t *testing.T) {
	confirm := func(c *Call) error { _, _, err := c.readConfirm(); return err }
	for _, test := range []struct{ name, body, field string }{
		{"no reference", `{"userId":"u"}`, "paymentRef"},
		{"empty reference", `{"userId":"u","paymentRef":""}`, "paymentRef"},
		{"reference with a blank", `{"userId":"u","paymentRef":"a b"}`, "paymentRef"},
		{"reference of the wrong type", `{"userId":"u","paymentRef":true}`, "paymentRef"},
		{"long reference", `{"userId":"u","paymentRef":"` + strings.Repeat("x", 256) + `"}`, "paymentRef"},
		{"both", `{"userId":"u","paymentRef":"P","paymentMethod":"sandbox"}`, "paymentRef"},
		{"amount with method", `{"userId":"u","amount":1,"paymentMethod":"sandbox"}`, "amount"},
		{"unknown method", `{"userId":"u","paymentMethod":"cowries"}`, "paymentMethod"},
		{"amount as float", `{"userId":"u","paymentRef":"P","amount":1.0}`, "amount"},
		{"negative amount", `{"userId":"u","paymentRef":"P","amount":-1}`, "amount"},
		{"huge amount", `{"userId":"u","paymentRef":"P","amount":99999999999999999999}`, "amount"},
		{"amount as text", `{"userId":"u","paymentRef":"P","amount":"1"}`, "amount"},
		{"lower-case currency", `{"userId":"u","paymentRef":"P","currency":"inr"}`, "currency"},
	} {
		wantInvalid(t, test.name, confirm(newBodyCall(test.body)), test.field)
	}
}

func wantInvalid(t *testing.T, name string, err error, field string) {
	t.Helper()
	refusal, ok := err.(*apiError)
	if !ok || refusal.status != fasthttp.StatusBadRequest || refusal.code != codeInvalidRequest {
		t.Errorf("%s: got %v, want a 400", name, err)
		return
	}
	if want := string(appendString([]byte(`"field":`), field)); string(refusal.details) != want {
		t.Errorf("%s: details are %s, want %s (%s)", name, refusal.details, want, refusal.message)
	}
}

func TestReadHold(t *testing.T) {
	replace := fsm.NewBookingRef(3, [14]byte{1, 2, 3})
	c := newBodyCall(`{"userId":7,"seats":["B10","A1","B2"],"showId":-12,"userName":"Ann\u00e9 \ud83c\udfac","contact":{"email":"a@b.c","phone":null},"replace":"` +
		replace.String() + `"}`)
	if err := c.readHold([]byte("key")); err != nil {
		t.Fatal(err)
	}
	h := &c.hold.command
	if h.ShowId != "-12" || h.UserId != "7" || h.UserName != "Anné 🎬" || h.Contact.Email != "a@b.c" || h.Contact.Phone != "" {
		t.Errorf("read %v", h)
	}
	if strings.Join(h.Labels, " ") != "A1 B10 B2" || len(h.SeatIds) != 0 || string(h.Replace) != string(replace[:]) {
		t.Errorf("read %v", h)
	}
	key, fingerprint := c.hold.key, c.hold.fingerprint
	// The same command, written otherwise: the same digests.
	other := newBodyCall(` {"replace":"` + replace.String() + `","contact":{"email":"a@b.c"},"userName":"Anné 🎬","showId":"-12","seats":["A1","B2","B10"],"userId":"7"}`)
	if err := other.readHold([]byte("key")); err != nil {
		t.Fatal(err)
	}
	if other.hold.key != key || other.hold.fingerprint != fingerprint {
		t.Error("the order of fields and seats changes the fingerprint")
	}
	// Whatever differs in the command differs in the fingerprint.
	for _, body := range []string{
		`{"userId":7,"seats":["B10","A1"],"showId":-12}`, `{"userId":7,"seats":["B10","A1"],"showId":-12,"userName":"x"}`,
		`{"userId":7,"seats":["B10","A2"],"showId":-12}`, `{"userId":7,"seats":["B10"],"showId":-12}`, `{"userId":8,"seats":["B10"],"showId":-12}`,
		`{"userId":7,"seatIds":[1],"showId":-12}`, `{"userId":7,"seatIds":[1],"showId":-12,"contact":{"phone":"x"}}`,
		`{"userId":7,"seatIds":[1],"showId":-12,"contact":{"locale":"x"}}`,
	} {
		if err := other.retry(body).readHold([]byte("key")); err != nil {
			t.Fatal(err)
		}
		if other.hold.fingerprint == fingerprint {
			t.Errorf("%s has the fingerprint of another command", body)
		}
		fingerprint = other.hold.fingerprint
	}
	if err := other.retry(`{"userId":7,"seatIds":[3,1],"showId":1}`).readHold(nil); err != nil {
		t.Fatal(err)
	}
	if h := &other.hold.command; h.IdempotencyKey != nil || h.Replace != nil || h.Contact != nil || h.UserName != "" || len(h.Labels) != 0 || h.SeatIds[0] != 1 {
		t.Errorf("a reused call kept something: %v", h)
	}
}

// retry gives a used call its next body.
func (c *Call) retry(body string) *Call {
	c.Request.SetBodyString(body)
	return c
}

func TestMediaTypes(t *testing.T) {
	for value, want := range map[string]bool{
		"application/json": true, "Application/JSON; charset=UTF-8": true, `application/json;charset="utf-8"`: true, "application/json; v=1": true,
		"text/plain": false, "application/jsonp": false, "application/json; charset=latin1": false, "": false,
	} {
		if got := jsonMediaType(value); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
}
