package rest

import (
	"fmt"
	"testing"
	"time"
)

// TestCurrency: shows are sold and paid in currencies that exist.
func TestCurrency(t *testing.T) {
	for code, want := range map[string]bool{
		"INR": true, "EUR": true, "JPY": true, "KWD": true, "MRU": true, "VES": true, "SLE": true, "XCG": true,
		"ZZZ": false, "ABC": false, "XXX": false, "XTS": false, "inr": false, "Inr": false, "IN": false, "INRS": false, "": false, "IN ": false,
	} {
		if isCurrency(code) != want {
			t.Errorf("%q: got %v", code, !want)
		}
	}
	a := startAPI(t)
	show := func(currency string) *answer {
		return a.call("PUT", "/api/v1/shows/c", fmt.Sprintf(`{"movieId":"MV-1","screenId":"SCR-1","startsAt":%q,"currency":%q,"pricing":{"strategy":"flat","amount":1}}`,
			rfc3339(a.node.Now().Add(72*time.Hour)), currency))
	}
	for _, unknown := range []string{"ZZZ", "XXX", "inr", ""} {
		show(unknown).want(400, codeInvalidRequest).is("details.field", "currency")
	}
	show("INR").want(201, "")
	id := a.held("c", "u", "A1")
	a.on(id, "confirm", `{"userId":"u","paymentRef":"P-1","currency":"ZZZ"}`).want(400, codeInvalidRequest).is("details.field", "currency")
	a.on(id, "confirm", `{"userId":"u","paymentRef":"P-1","currency":"INR"}`).want(200, "")
}
