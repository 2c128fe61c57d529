package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The kill test: a real server on a real disk is killed at random moments under load, and started again (M-16, M-21,
// M-25, M-41). What it answered before a kill must be there after it.

const (
	killBuyers   = 12
	killShows    = 6 // of 40 seats: buyers get in each other's way
	killLeastRun = 60 * time.Millisecond
	killMostRun  = 500 * time.Millisecond
)

// buyer is somebody who holds, confirms and cancels one booking after another, and remembers every answer.
type buyer struct {
	name   string
	random *rand.Rand
	shop   *shop
	made   []*purchase
	number int
}

// purchase is what a buyer knows of one booking. A step that was sent and not answered may have happened or not.
type purchase struct {
	user, show, key string
	seats           [2]string
	body            string // of the hold
	id              string // of the booking; "" while no hold was answered
	status          string // as last answered
	asked           string // the state that an unanswered call would lead to, or ""
	payment         string
}

// shop is where buyers find the server, whose address changes with every start.
type shop struct {
	mu      sync.Mutex
	address string
	client  *http.Client
}

func (s *shop) at() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

func (s *shop) moveTo(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = address
}

// call sends a request. err means that no whole answer came: the outcome is unknown.
func (s *shop) call(method, path, body, key string) (status int, answer map[string]any, header http.Header, err error) {
	request, err := http.NewRequest(method, s.at()+"/api/v1"+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, nil, err
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return 0, nil, nil, err
	}
	return response.StatusCode, answer, response.Header, nil
}

// TestKill9 kills the server HOUSEFUL_KILLS times (30); HOUSEFUL_SEED repeats a run's choices.
func TestKill9(t *testing.T) {
	kills, seed := 30, uint64(time.Now().UnixNano())
	if text := os.Getenv("HOUSEFUL_KILLS"); text != "" {
		kills, _ = strconv.Atoi(text)
	}
	if text := os.Getenv("HOUSEFUL_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("HOUSEFUL_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dataDir := t.TempDir()
	s := &shop{client: &http.Client{Timeout: patience}}
	server := startServer(t, dataDir)
	s.moveTo(server.address)
	putKillShows(t, s)
	buyers := make([]*buyer, killBuyers)
	for i := range buyers {
		buyers[i] = &buyer{name: fmt.Sprint("buyer-", i), random: rand.New(rand.NewPCG(seed, uint64(i)+1)), shop: s}
	}
	for kill := range kills {
		stop := make(chan struct{})
		var busy sync.WaitGroup
		for _, b := range buyers {
			busy.Go(func() { b.shopUntil(stop) })
		}
		run := killLeastRun + time.Duration(random.Int64N(int64(killMostRun-killLeastRun)))
		timer := time.NewTimer(run)
		<-timer.C
		if err := server.command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = server.command.Wait()
		close(stop)
		s.client.CloseIdleConnections()
		busy.Wait()
		server = startServer(t, dataDir)
		s.moveTo(server.address)
		for _, b := range buyers {
			for _, p := range b.made {
				checkPurchase(t, s, p)
			}
			b.forgetSettled()
		}
		checkShows(t, s)
		if t.Failed() {
			t.Fatalf("after kill %d of %d", kill+1, kills)
		}
	}
	total := 0
	for _, b := range buyers {
		total += b.number
	}
	t.Logf("%d kills, %d purchases begun", kills, total)
	if total < kills*killBuyers {
		t.Errorf("only %d purchases in %d runs: the server was hardly under load", total, kills)
	}
}

func putKillShows(t *testing.T, s *shop) {
	t.Helper()
	put := func(path, body string) {
		t.Helper()
		if status, answer, _, err := s.call("PUT", path, body, ""); err != nil || status != http.StatusCreated {
			t.Fatalf("PUT %s: %d %v %v", path, status, answer, err)
		}
	}
	put("/cities/C", `{"name":"Bengaluru","state":"Karnataka","timeZone":"Asia/Kolkata"}`)
	put("/movies/M", `{"title":"Dune","language":"en","genre":"Sci-Fi","durationMinutes":155,"rating":8.1}`)
	put("/theatres/T", `{"name":"Forum","cityId":"C","address":"Road 1"}`)
	put("/screens/S", `{"theatreId":"T","name":"One","rows":[{"row":"A","tier":"GOLD","seats":"1-20"},{"row":"B","tier":"GOLD","seats":"1-20"}]}`)
	starts := time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
	for show := range killShows {
		put(fmt.Sprint("/shows/", show), fmt.Sprintf(`{"movieId":"M","screenId":"S","startsAt":%q,"currency":"INR","holdSeconds":3600,`+
			`"maxHoldsPerUser":1000000,"pricing":{"strategy":"flat","amount":100}}`, starts))
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

// purchase goes one way through hold, confirm and cancel. It reports false when an answer stayed out.
func (b *buyer) purchase() bool {
	b.number++
	row := string(rune('A' + b.random.IntN(2)))
	seat := b.random.IntN(19) + 1
	p := &purchase{
		show: fmt.Sprint(b.random.IntN(killShows)), key: fmt.Sprintf("%s-%d", b.name, b.number),
		seats: [2]string{fmt.Sprint(row, seat), fmt.Sprint(row, seat+1)}, asked: "PENDING",
	}
	// A user of its own each: somebody's own seats, asked for again, would extend the earlier hold.
	p.user, p.payment = p.key, "PAY-"+p.key
	p.body = fmt.Sprintf(`{"showId":%q,"seats":[%q,%q],"userId":%q}`, p.show, p.seats[0], p.seats[1], p.user)
	b.made = append(b.made, p)
	status, answer, _, err := b.shop.call("POST", "/bookings/hold", p.body, p.key)
	if err != nil || status >= 500 {
		return false
	}
	p.asked = ""
	if status == http.StatusConflict {
		b.made = b.made[:len(b.made)-1] // somebody else's seats: nothing to remember
		return true
	}
	p.id, _ = answer["id"].(string)
	p.status, _ = answer["status"].(string)
	if b.random.IntN(8) > 0 && !b.step(p, "confirm", "CONFIRMED", fmt.Sprintf(`{"userId":%q,"paymentRef":%q}`, p.user, p.payment)) {
		return false
	}
	// Most seats come back, so that the shows do not fill up.
	if b.random.IntN(10) > 0 {
		return b.step(p, "cancel", "CANCELLED", fmt.Sprintf(`{"userId":%q}`, p.user))
	}
	return true
}

func (b *buyer) step(p *purchase, verb, leadsTo, body string) bool {
	p.asked = leadsTo
	status, answer, _, err := b.shop.call("POST", "/bookings/"+p.id+"/"+verb, body, "")
	if err != nil || status != http.StatusOK {
		return false
	}
	p.asked = ""
	p.status, _ = answer["status"].(string)
	return true
}

// forgetSettled drops purchases that ended long ago, so that checks stay short.
func (b *buyer) forgetSettled() {
	const keep = 40
	kept := b.made[:0]
	for i, p := range b.made {
		if p.status != "CANCELLED" || len(b.made)-i <= keep {
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
	status, answer, _, err := s.call("GET", "/bookings/"+p.id+"?consistency=strong", "", "")
	if err != nil || status != http.StatusOK {
		t.Errorf("booking %s, acknowledged as %s, answers %d %v %v", p.id, p.status, status, answer, err)
		return
	}
	now, _ := answer["status"].(string)
	if now != p.status && now != p.asked {
		t.Errorf("booking %s was acknowledged as %s (asked for %q) and is %s", p.id, p.status, p.asked, now)
	}
	p.status, p.asked = now, ""
	replayed, again, header, err := s.call("POST", "/bookings/hold", p.body, p.key)
	if err != nil || replayed != http.StatusCreated || again["id"] != p.id || header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("key %s made %s, and now answers %d %v %v", p.key, p.id, replayed, again, err)
	}
	if now == "CONFIRMED" {
		status, again, _, err := s.call("POST", "/bookings/"+p.id+"/confirm", fmt.Sprintf(`{"userId":%q,"paymentRef":%q}`, p.user, p.payment), "")
		if err != nil || status != http.StatusOK || again["status"] != "CONFIRMED" {
			t.Errorf("booking %s was confirmed by %s, which now answers %d %v %v", p.id, p.payment, status, again, err)
		}
	}
}

// settleHold asks by key what became of a hold that was never answered.
func settleHold(t *testing.T, s *shop, p *purchase) {
	t.Helper()
	status, answer, _, err := s.call("GET", "/shows/"+p.show+"/bookings?idempotencyKey="+p.key, "", "")
	switch {
	case err == nil && status == http.StatusOK:
		p.id, _ = answer["id"].(string)
		p.status, p.asked = "PENDING", ""
	case err == nil && status == http.StatusNotFound:
		// The process that took the request is dead, so this "no" is final here. Trying again must work or be refused.
		status, answer, _, err := s.call("POST", "/bookings/hold", p.body, p.key)
		if err != nil || (status != http.StatusCreated && status != http.StatusConflict) {
			t.Errorf("hold %s, tried again, answers %d %v %v", p.key, status, answer, err)
		}
		if status == http.StatusCreated {
			p.id, _ = answer["id"].(string)
			p.status, p.asked = "PENDING", ""
		}
	default:
		t.Errorf("asked for key %s: %d %v %v", p.key, status, answer, err)
	}
}

// checkShows audits every show: census, owners, counters (M-33).
func checkShows(t *testing.T, s *shop) {
	t.Helper()
	for show := range killShows {
		status, audit, _, err := s.call("GET", fmt.Sprintf("/shows/%d/audit", show), "", "")
		if err != nil || status != http.StatusOK || audit["ok"] != true {
			t.Errorf("audit of show %d: %d %v %v", show, status, audit, err)
			continue
		}
		counts, _ := audit["counts"].(map[string]any)
		number := func(name string) float64 { n, _ := counts[name].(float64); return n }
		if sum := number("available") + number("held") + number("booked") + number("blocked"); sum != 40 || number("total") != 40 {
			t.Errorf("show %d: the census is %v", show, counts)
		}
		checkOwners(t, s, show)
	}
}

// checkOwners lists a show's live bookings: no seat is in two of them, and the map shows each as taken.
func checkOwners(t *testing.T, s *shop, show int) {
	t.Helper()
	_, body, _, err := s.call("GET", fmt.Sprintf("/shows/%d/seats", show), "", "")
	if err != nil {
		t.Error(err)
		return
	}
	want := map[string]string{}
	seats, _ := body["seats"].([]any)
	for _, item := range seats {
		seat, _ := item.(map[string]any)
		want[fmt.Sprint(seat["label"])] = fmt.Sprint(seat["status"])
	}
	owners := map[string]string{}
	for _, state := range []string{"PENDING", "CONFIRMED"} {
		_, list, _, err := s.call("GET", fmt.Sprintf("/bookings?showId=%d&status=%s&limit=1000", show, state), "", "")
		if err != nil {
			t.Error(err)
			return
		}
		items, _ := list["items"].([]any)
		for _, item := range items {
			booking, _ := item.(map[string]any)
			labels, _ := booking["seatLabels"].([]any)
			for _, label := range labels {
				name := fmt.Sprint(label)
				if other, taken := owners[name]; taken {
					t.Errorf("show %d: seat %s is in %s and in %v", show, name, other, booking["id"])
				}
				owners[name] = fmt.Sprint(booking["id"])
				if mapped := want[name]; (state == "PENDING") != (mapped == "HELD") || (state == "CONFIRMED") != (mapped == "BOOKED") {
					t.Errorf("show %d: seat %s of a %s booking is %s on the map", show, name, state, mapped)
				}
			}
		}
	}
	for label, mapped := range want {
		if _, owned := owners[label]; !owned && (mapped == "HELD" || mapped == "BOOKED") {
			t.Errorf("show %d: seat %s is %s, by no booking", show, label, mapped)
		}
	}
}
