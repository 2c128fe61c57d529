package rest

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/fsm"
)

// The fuzz targets below hold each booking body's reader to this: it never panics, whatever it refuses is a 400 or a
// 415 in the API's form, and whatever it accepts is JSON to the standard library too and within every bound, so that
// nothing malformed can reach the log. (M-3, M-12)

var bodySeeds = []string{
	``, `{}`, `null`, `[]`, `{"`, "\xff", "{\"\x00\":1}", `{"a":{"b":[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]}}`,
	`{"showId":"1","seats":["A1","A2"],"userId":"1"}`, `{"showId":1,"seatIds":[1,2],"userId":1,"userName":"\ud83c\udfac"}`,
	`{"showId":"1","seats":["A1"],"userId":"u","contact":{"email":"a@b.c","phone":"+91","locale":"en-IN"},"replace":"BMS-000G0000000000000000000000"}`,
	`{"showId":"1","seats":["A1","A1"],"userId":"u"}`, `{"showId":"1","show\u0049d":"2"}`, `{"userId":"\ud800"}`,
	`{"userId":"u","paymentRef":"PAY-1","amount":80000,"currency":"INR"}`, `{"userId":"u","paymentMethod":"sandbox"}`,
	`{"userId":"u","reason":"abandoned"}`, `{"userId":"u","reason":"payment_failed"}`, `{"userId":"u","seats":["A1"]}`, `{"userId":"u","seatIds":[1e2]}`,
	`{"seats":["A1"],"reason":"house"}`, `{"seconds":420}`, `{"seconds":-1}`, `{"seconds":1e400}`,
}

func addSeeds(f *testing.F) {
	for _, seed := range bodySeeds {
		f.Add([]byte(seed))
	}
}

// checkRead holds a reader's answer against the rules above; accepted says that it took the body.
func checkRead(t *testing.T, body []byte, err error) (accepted bool) {
	t.Helper()
	if err != nil {
		refusal, ok := err.(*apiError)
		if !ok || (refusal.status != fasthttp.StatusBadRequest && refusal.status != fasthttp.StatusForbidden) {
			t.Fatalf("%q gave %v", body, err)
		}
		if !json.Valid(append(append([]byte("{"), refusal.details...), '}')) {
			t.Fatalf("%q: details are not JSON: %s", body, refusal.details)
		}
		return false
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil || fields == nil {
		t.Fatalf("%q was accepted: %v", body, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Fatalf("%q was accepted with something behind it", body)
	}
	return true
}

func checkIDs(t *testing.T, body []byte, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if !validID(id) {
			t.Fatalf("%q gave the id %q", body, id)
		}
	}
}

func checkSeats(t *testing.T, body []byte, labels []string, ids []uint32, needed bool) {
	t.Helper()
	if len(labels) > 0 && len(ids) > 0 || needed && len(labels)+len(ids) == 0 {
		t.Fatalf("%q gave the seats %q and %v", body, labels, ids)
	}
	if !slices.IsSorted(labels) || len(slices.Compact(slices.Clone(labels))) != len(labels) || slices.ContainsFunc(labels, func(l string) bool { return !validSeatLabel(l) }) {
		t.Fatalf("%q gave the seats %q", body, labels)
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) || slices.Contains(ids, 0) {
		t.Fatalf("%q gave the seats %v", body, ids)
	}
}

func FuzzHoldBody(f *testing.F) {
	addSeeds(f)
	c := newBodyCall("")
	f.Fuzz(func(t *testing.T, body []byte) {
		c.Request.SetBody(body)
		if !checkRead(t, body, c.readHold([]byte("key"))) {
			return
		}
		h := &c.hold.command
		checkIDs(t, body, h.ShowId, h.UserId)
		checkSeats(t, body, h.Labels, h.SeatIds, true)
		if len(h.Labels)+len(h.SeatIds) > fsm.SeatsPerBookingMax || len(h.UserName) > TextCharsMax {
			t.Fatalf("%q went beyond a limit", body)
		}
		encoded, err := h.MarshalVT()
		if err != nil || len(h.IdempotencyKey) != 16 || len(h.Fingerprint) != 16 || (h.Replace != nil && len(h.Replace) != 16) {
			t.Fatalf("%q gave a command that is not one: %v", body, err)
		}
		if len(encoded) > 4*len(body)+128 {
			t.Fatalf("%d bytes became a command of %d", len(body), len(encoded))
		}
	})
}

func FuzzConfirmBody(f *testing.F) {
	addSeeds(f)
	c := newBodyCall("")
	f.Fuzz(func(t *testing.T, body []byte) {
		c.Request.SetBody(body)
		command, method, err := c.readConfirm()
		if !checkRead(t, body, err) {
			return
		}
		checkIDs(t, body, command.UserId)
		if (method == "") == (command.PaymentRef == "") || len(command.PaymentRef) > PaymentRefCharsMax || strings.ContainsAny(command.PaymentRef, " \x00\x7f") {
			t.Fatalf("%q gave method %q and reference %q", body, method, command.PaymentRef)
		}
		if command.Amount != nil && *command.Amount < 0 || command.Currency != "" && len(command.Currency) != 3 {
			t.Fatalf("%q gave %d %s", body, *command.Amount, command.Currency)
		}
	})
}

func FuzzEndingBodies(f *testing.F) {
	addSeeds(f)
	c := newBodyCall("")
	f.Fuzz(func(t *testing.T, body []byte) {
		c.Request.SetBody(body)
		if release, err := c.readRelease(); checkRead(t, body, err) {
			checkIDs(t, body, release.UserId)
		}
		if extend, err := c.readExtend(); checkRead(t, body, err) {
			checkIDs(t, body, extend.UserId)
		}
		if cancel, err := c.readCancel(); checkRead(t, body, err) {
			checkIDs(t, body, cancel.UserId)
			checkSeats(t, body, cancel.Labels, cancel.SeatIds, false)
		}
	})
}

func FuzzStaffBodies(f *testing.F) {
	addSeeds(f)
	c := newBodyCall("")
	f.Fuzz(func(t *testing.T, body []byte) {
		c.Request.SetBody(body)
		if block, err := c.readBlock("1", false); checkRead(t, body, err) {
			checkSeats(t, body, block.Labels, block.SeatIds, true)
		}
		if seconds, err := c.readClock(); checkRead(t, body, err) && (seconds < 0 || seconds > testClockSecondsMax) {
			t.Fatalf("%q gave %d seconds", body, seconds)
		}
		if err := c.noBody(); len(bytes.TrimSpace(body)) > 0 {
			checkRead(t, body, err)
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(string(appendCursor(nil, fsm.BookingPosition{CreatedAt: 1, Shard: 2, Sequence: 3})))
	f.Fuzz(func(t *testing.T, text string) {
		position, ok := parseCursor(text)
		if ok && position.CreatedAt <= 0 {
			t.Fatalf("%q gave %v", text, position)
		}
		if ok && string(appendCursor(nil, position)) != text {
			t.Fatalf("%q gave %v, whose cursor is another", text, position)
		}
	})
}
