package main

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// hall is a show with many seats on a real server, for tests in which every round takes seats of its own.
type hall struct {
	*shop
	t    testing.TB
	show string
}

// openHall starts a server with a show of 40 rows (A to AN) of 50 seats.
func openHall(t *testing.T) *hall {
	t.Helper()
	server := startServer(t, t.TempDir())
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	t.Cleanup(transport.CloseIdleConnections)
	h := &hall{t: t, show: "1", shop: &shop{client: &http.Client{Timeout: patience, Transport: transport}}}
	h.moveTo(server.address)
	h.put("/cities/C", `{"name":"Bengaluru","state":"Karnataka","timeZone":"Asia/Kolkata"}`)
	h.put("/movies/M", `{"title":"Dune","language":"en","genre":"Sci-Fi","durationMinutes":155,"rating":8.1}`)
	h.put("/theatres/T", `{"name":"Forum","cityId":"C","address":"Road 1"}`)
	rows := ""
	for row := range 40 {
		rows += fmt.Sprintf(`,{"row":%q,"tier":"GOLD","seats":"1-50"}`, rowLabel(row))
	}
	h.put("/screens/S", `{"theatreId":"T","name":"One","rows":[`+rows[1:]+`]}`)
	h.put("/shows/1", fmt.Sprintf(`{"movieId":"M","screenId":"S","startsAt":%q,"currency":"INR","holdSeconds":3600,`+
		`"maxHoldsPerUser":1000000,"pricing":{"strategy":"flat","amount":100}}`, time.Now().Add(48*time.Hour).UTC().Format(time.RFC3339)))
	return h
}

func rowLabel(row int) string {
	if row < 26 {
		return string(rune('A' + row))
	}
	return "A" + string(rune('A'+row-26))
}

func (h *hall) put(path, body string) {
	h.t.Helper()
	if status, answer, _, err := h.call("PUT", path, body, ""); err != nil || status != http.StatusCreated {
		h.t.Fatalf("PUT %s: %d %v %v", path, status, answer, err)
	}
}

// outcome is what a racer got.
type outcome struct {
	status int
	body   map[string]any
}

// race lets every racer ask for its seats at once, and gives what each got.
func (h *hall) race(wants [][]string) []outcome {
	h.t.Helper()
	got := make([]outcome, len(wants))
	start := make(chan struct{})
	var racers sync.WaitGroup
	for i, seats := range wants {
		racers.Go(func() {
			body := fmt.Sprintf(`{"showId":%q,"userId":"racer-%d","seats":[`, h.show, i)
			for j, seat := range seats {
				if j > 0 {
					body += ","
				}
				body += fmt.Sprintf("%q", seat)
			}
			<-start
			status, answer, _, err := h.call("POST", "/bookings/hold", body+"]}", "")
			if err != nil {
				h.t.Error(err)
			}
			got[i] = outcome{status, answer}
		})
	}
	close(start)
	racers.Wait()
	return got
}

// winners counts who got seats; everybody else must have been told which seats are held.
func (h *hall) winners(got []outcome) int {
	h.t.Helper()
	won := 0
	for i, o := range got {
		switch o.status {
		case http.StatusCreated:
			won++
		case http.StatusConflict:
			details, _ := o.body["details"].(map[string]any)
			seats, _ := details["seats"].([]any)
			if o.body["error"] != "SEAT_UNAVAILABLE" || len(seats) == 0 {
				h.t.Errorf("racer %d was refused without being told the seats: %v", i, o.body)
			}
		default:
			h.t.Errorf("racer %d got %d %v", i, o.status, o.body)
		}
	}
	return won
}

// M-50: of 100 on one seat one wins; of 20 on the same two seats one; 5 on seats of their own all do; and opposite
// orders neither lock each other nor both win.
func TestRacers(t *testing.T) {
	h := openHall(t)
	const rounds = 200
	seat := func(round, n int) string { return fmt.Sprint(rowLabel(n), round%50+1) }
	began := time.Now()
	for round := range rounds {
		lane := 10 * (round / 50) // rows of this round's own
		one := seat(round, lane)
		hundred := make([][]string, 100)
		for i := range hundred {
			hundred[i] = []string{one}
		}
		if won := h.winners(h.race(hundred)); won != 1 {
			t.Fatalf("round %d: %d of 100 won seat %s", round, won, one)
		}
		twenty := make([][]string, 20)
		for i := range twenty {
			twenty[i] = []string{seat(round, lane+1), seat(round, lane+2)}
		}
		if won := h.winners(h.race(twenty)); won != 1 {
			t.Fatalf("round %d: %d of 20 won the same two seats", round, won)
		}
		five := make([][]string, 5)
		for i := range five {
			five[i] = []string{seat(round, lane+3+i)}
		}
		if won := h.winners(h.race(five)); won != 5 {
			t.Fatalf("round %d: %d of 5 won seats of their own", round, won)
		}
		a, b := seat(round, lane+8), seat(round, lane+9)
		if won := h.winners(h.race([][]string{{a, b}, {b, a}, {a, b}, {b, a}})); won != 1 {
			t.Fatalf("round %d: %d of 4 won the same two seats in opposite orders", round, won)
		}
	}
	t.Logf("%d rounds of 129 racers in %v", rounds, time.Since(began).Round(time.Millisecond))
	status, audit, _, err := h.call("GET", "/shows/1/audit", "", "")
	if err != nil || status != http.StatusOK || audit["ok"] != true {
		t.Fatalf("audit: %d %v %v", status, audit, err)
	}
	counts, _ := audit["counts"].(map[string]any)
	if held := counts["held"]; held != float64(rounds*(1+2+5+2)) {
		t.Errorf("%v seats are held, not %d", held, rounds*10)
	}
}
