package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"
)

// buyer is somebody who makes one purchase after another, and remembers every answer.
type buyer struct {
	name   string
	random *rand.Rand
	shop   *shop
	made   []*purchase
	number int
	odd    []string // answers that nothing explains
}

// purchase is what a buyer knows of one booking. A step that was sent and not answered may have happened or not.
type purchase struct {
	user, show, key string
	seats           [2]string
	body            string    // of the hold
	id              string    // of the booking; "" while no hold was answered
	status          string    // as last answered
	asked           string    // the state that an unanswered call would lead to, or ""
	expiresAt       time.Time // as last answered
	extending       bool      // an extension was not answered: the hold may live longer
	replaces        *purchase // the hold that this one was to take the place of
}

func (p *purchase) payment() string { return "PAY-" + p.key }

// learn takes over what an answer says of the booking.
func (p *purchase) learn(answer map[string]any) {
	if p.id == "" {
		p.id, _ = answer["id"].(string)
		if p.replaces != nil {
			p.replaces.status, p.replaces.asked = "RELEASED", ""
		}
	}
	p.status, _ = answer["status"].(string)
	p.asked, p.extending = "", false
	text, _ := answer["expiresAt"].(string)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		p.expiresAt = at
	}
}

// shopUntil makes purchases until told to stop, or until the server is gone.
func (b *buyer) shopUntil(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		if !b.purchase() {
			return
		}
	}
}

// purchase goes one way through hold, extend, replace, confirm and cancel. It reports false when an answer stayed out.
func (b *buyer) purchase() bool {
	p := b.choose(fmt.Sprint(b.random.IntN(killShows)), nil)
	if answered, held := b.hold(p); !held {
		return answered
	}
	if b.random.IntN(6) == 0 && !b.extend(p) {
		return false
	}
	if b.random.IntN(6) == 0 {
		successor := b.choose(p.show, p)
		answered, held := b.hold(successor)
		switch {
		case !answered:
			p.asked = "RELEASED"
			return false
		case held:
			p = successor
		}
	}
	payment := fmt.Sprintf(`{"userId":%q,"paymentRef":%q}`, p.user, p.payment())
	if b.random.IntN(8) > 0 && !b.step(p, "confirm", "CONFIRMED", payment) {
		return false
	}
	// Most seats come back, so that the shows do not fill up. A short hold may also run out.
	if b.random.IntN(10) > 0 && p.status != "PENDING" {
		return b.step(p, "cancel", "CANCELLED", fmt.Sprintf(`{"userId":%q}`, p.user))
	}
	return true
}

// choose picks two seats of a show, for a user of its own: somebody's own seats, asked for again, would extend the
// earlier hold. A successor is for the user of the hold that it replaces, and so for other seats.
func (b *buyer) choose(show string, replaces *purchase) *purchase {
	b.number++
	row, seat := string(rune('A'+b.random.IntN(2))), b.random.IntN(killRowSeats-1)+1
	p := &purchase{
		show: show, key: fmt.Sprintf("%s-%d", b.name, b.number), replaces: replaces,
		seats: [2]string{fmt.Sprint(row, seat), fmt.Sprint(row, seat+1)},
	}
	p.user = p.key
	replace := ""
	if replaces != nil {
		if p.seats == replaces.seats {
			return b.choose(show, replaces)
		}
		p.user = replaces.user
		replace = fmt.Sprintf(`,"replace":%q`, replaces.id)
	}
	p.body = fmt.Sprintf(`{"showId":%q,"seats":[%q,%q],"userId":%q%s}`, p.show, p.seats[0], p.seats[1], p.user, replace)
	return p
}

// hold asks for the seats. What was refused is not remembered.
func (b *buyer) hold(p *purchase) (answered, held bool) {
	p.asked = "PENDING"
	status, answer, _, err := b.shop.call("POST", "/bookings/hold", p.body, p.key)
	switch {
	case err != nil || status >= http.StatusInternalServerError:
		b.made = append(b.made, p)
		return false, false
	case status != http.StatusCreated:
		if status != http.StatusConflict {
			b.odd = append(b.odd, fmt.Sprintf("hold %s: %d %v", p.body, status, answer))
		}
		return true, false
	}
	b.made = append(b.made, p)
	p.learn(answer)
	return true, true
}

func (b *buyer) extend(p *purchase) bool {
	p.extending = true
	status, answer, _, err := b.shop.call("POST", "/bookings/"+p.id+"/extend", fmt.Sprintf(`{"userId":%q}`, p.user), "")
	if err != nil || status >= http.StatusInternalServerError {
		return false
	}
	p.extending = false
	if status == http.StatusOK {
		p.learn(answer)
	}
	return true
}

// step confirms or cancels. A hold that ran out before is a normal answer.
func (b *buyer) step(p *purchase, verb, leadsTo, body string) bool {
	p.asked = leadsTo
	status, answer, _, err := b.shop.call("POST", "/bookings/"+p.id+"/"+verb, body, "")
	switch {
	case err == nil && status == http.StatusOK:
		p.learn(answer)
		return true
	case err == nil && status == http.StatusGone:
		p.status, p.asked = "EXPIRED", ""
		return true
	case err == nil && status < http.StatusInternalServerError:
		b.odd = append(b.odd, fmt.Sprintf("%s %s, which is %s: %d %v", verb, p.id, p.status, status, answer))
	}
	return false
}

// forgetSettled drops purchases that ended long ago, so that checks stay short.
func (b *buyer) forgetSettled() {
	const keep = 40
	live := []string{"PENDING", "CONFIRMED"}
	kept := b.made[:0]
	for i, p := range b.made {
		if slices.Contains(live, p.status) || len(b.made)-i <= keep {
			kept = append(kept, p)
		}
	}
	b.made = kept
}

// checkPurchase compares what a buyer was told with what the server says after its restart, and settles what was
// unknown.
func checkPurchase(t *testing.T, s *shop, p *purchase) {
	t.Helper()
	if p.id == "" {
		settleHold(t, s, p)
		if p.id == "" {
			return
		}
	}
	before := time.Now()
	status, answer, _, err := s.call("GET", "/bookings/"+p.id+"?consistency=strong", "", "")
	if err != nil || status != http.StatusOK {
		t.Errorf("booking %s, acknowledged as %s, answers %d %v %v", p.id, p.status, status, answer, err)
		return
	}
	told := *p
	p.learn(answer)
	if problem := told.compare(p, before, time.Now()); problem != "" {
		t.Errorf("booking %s, acknowledged as %s until %v (asked for %q, extending %t): %s: %v",
			p.id, told.status, told.expiresAt, told.asked, told.extending, problem, answer)
	}
	replayed, again, header, err := s.call("POST", "/bookings/hold", p.body, p.key)
	if err != nil || replayed != http.StatusCreated || again["id"] != p.id || header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("key %s made %s, and now answers %d %v %v", p.key, p.id, replayed, again, err)
	}
	if p.status == "CONFIRMED" {
		payment := fmt.Sprintf(`{"userId":%q,"paymentRef":%q}`, p.user, p.payment())
		status, again, _, err := s.call("POST", "/bookings/"+p.id+"/confirm", payment, "")
		if err != nil || status != http.StatusOK || again["status"] != "CONFIRMED" {
			t.Errorf("booking %s was confirmed by %s, which now answers %d %v %v", p.id, p.payment(), status, again, err)
		}
	}
}

// compare holds what a buyer was told against what a read says that was sent after one moment and answered before the
// other. A hold ends exactly when it was promised to: neither does it outlive its time, whatever the server missed while
// it was down, nor is it cut short.
func (told *purchase) compare(now *purchase, sent, answered time.Time) string {
	switch {
	case now.status == "PENDING" && now.expiresAt.Before(sent.Add(-killClockSlack)):
		return "it outlived its time"
	case now.status == "PENDING" && told.status == "PENDING" && !told.extending && !now.expiresAt.Equal(told.expiresAt):
		return "its time changed"
	case now.status == "EXPIRED" && told.status == "PENDING" && answered.Add(killClockSlack).Before(told.expiresAt):
		return "it expired before its time"
	case now.status == "EXPIRED" && told.status == "PENDING":
		return ""
	case now.status != told.status && now.status != told.asked:
		return "it is " + now.status
	}
	return ""
}

// settleHold asks by key what became of a hold that was never answered.
func settleHold(t *testing.T, s *shop, p *purchase) {
	t.Helper()
	status, answer, _, err := s.call("GET", "/shows/"+p.show+"/bookings?idempotencyKey="+p.key, "", "")
	switch {
	case err == nil && status == http.StatusOK:
		p.learn(answer)
	case err == nil && status == http.StatusNotFound:
		if p.replaces != nil && p.replaces.status == "RELEASED" {
			t.Errorf("hold %s was to replace %s, which is released for nothing", p.key, p.replaces.id)
		}
		// The process that took the request is dead, so this "no" is final here. Trying again must work or be refused.
		status, answer, _, err := s.call("POST", "/bookings/hold", p.body, p.key)
		if err != nil || (status != http.StatusCreated && status != http.StatusConflict) {
			t.Errorf("hold %s, tried again, answers %d %v %v", p.key, status, answer, err)
		}
		if status == http.StatusCreated {
			p.learn(answer)
		}
	default:
		t.Errorf("asked for key %s: %d %v %v", p.key, status, answer, err)
	}
}
