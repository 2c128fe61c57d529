package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The kill test: a real server on a real disk is killed at random moments under load, and started again (M-12, M-16,
// M-21, M-25, M-41). What it answered before a kill must be there after it.

const (
	killBuyers     = 12
	killRowSeats   = 20
	killLongShows  = 5 // of two rows of 20 seats: buyers get in each other's way
	killShortShows = 3 // whose holds last a second or two, so that they run out before, between and after kills
	killShows      = killLongShows + killShortShows
	killLeastRun   = 60 * time.Millisecond
	killMostRun    = 700 * time.Millisecond
	// killSnapshotKiB makes every shard take snapshots, and cut its log, all the time.
	killSnapshotKiB = 8
	// killClockSlack is how far the clock of a server may seem to be off from the test's: it counts milliseconds.
	killClockSlack = 50 * time.Millisecond
	// killExpiryMost is how long seats of a hold that ran out may stay held: the map is at most a second behind.
	killExpiryMost = 4 * time.Second
)

// killRun is one run of the kill test.
type killRun struct {
	*testing.T
	shop    *shop
	dataDir string
	server  *child
	buyers  []*buyer
	random  *rand.Rand
	// Groups that a start brought up from a snapshot, and those whose log did not reach back to its beginning.
	restored, truncated int
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
	r := &killRun{T: t, dataDir: t.TempDir(), random: rand.New(rand.NewPCG(seed, 0))}
	r.shop = &shop{client: &http.Client{Timeout: patience}}
	for i := range killBuyers {
		r.buyers = append(r.buyers, &buyer{name: fmt.Sprint("buyer-", i), random: rand.New(rand.NewPCG(seed, uint64(i)+1)), shop: r.shop})
	}
	r.start()
	r.putShows()
	for kill := range kills {
		r.killUnderLoad()
		r.start()
		r.check()
		if t.Failed() {
			t.Fatalf("after kill %d of %d", kill+1, kills)
		}
	}
	r.checkAllRunOut()
	total := 0
	for _, b := range r.buyers {
		total += b.number
	}
	t.Logf("%d kills, %d purchases begun; groups started from a snapshot %d times, with a log that had been cut %d times",
		kills, total, r.restored, r.truncated)
	if total < kills*killBuyers {
		t.Errorf("only %d purchases in %d runs: the server was hardly under load", total, kills)
	}
	if kills >= 10 && (r.restored < kills || r.truncated < kills/2) {
		t.Errorf("groups started from a snapshot %d times, with a cut log %d times: too few to prove anything", r.restored, r.truncated)
	}
}

// start starts the server and counts what its groups came up from.
func (r *killRun) start() {
	r.Helper()
	r.server = startServer(r.T, r.dataDir, "--snapshot-kib", strconv.Itoa(killSnapshotKiB))
	r.shop.moveTo(r.server.address)
	for _, opened := range r.server.logged("group opened") {
		snapshot, _ := opened["snapshot"].(float64)
		first, _ := opened["firstIndex"].(float64)
		if snapshot > 0 {
			r.restored++
		}
		if first > 1 {
			r.truncated++
		}
	}
}

// killUnderLoad lets buyers buy for a while, and kills the server meanwhile.
func (r *killRun) killUnderLoad() {
	r.Helper()
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for _, b := range r.buyers {
		busy.Go(func() { b.shopUntil(stop) })
	}
	<-time.After(killLeastRun + time.Duration(r.random.Int64N(int64(killMostRun-killLeastRun))))
	if err := r.server.command.Process.Kill(); err != nil {
		r.Fatal(err)
	}
	_ = r.server.command.Wait() // killed, as asked
	close(stop)
	r.shop.client.CloseIdleConnections()
	busy.Wait()
}

func (r *killRun) putShows() {
	r.Helper()
	put := func(path, body string) {
		r.Helper()
		if status, answer, _, err := r.shop.call("PUT", path, body, ""); err != nil || status != http.StatusCreated {
			r.Fatalf("PUT %s: %d %v %v", path, status, answer, err)
		}
	}
	put("/cities/C", `{"name":"Bengaluru","state":"Karnataka","timeZone":"Asia/Kolkata"}`)
	put("/movies/M", `{"title":"Dune","language":"en","genre":"Sci-Fi","durationMinutes":155,"rating":8.1}`)
	put("/theatres/T", `{"name":"Forum","cityId":"C","address":"Road 1"}`)
	put("/screens/S", `{"theatreId":"T","name":"One","rows":[{"row":"A","tier":"GOLD","seats":"1-20"},{"row":"B","tier":"GOLD","seats":"1-20"}]}`)
	starts := time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
	for show := range killShows {
		holdSeconds := 3600
		if show >= killLongShows {
			holdSeconds = 1 + show%2
		}
		put(fmt.Sprint("/shows/", show), fmt.Sprintf(`{"movieId":"M","screenId":"S","startsAt":%q,"currency":"INR","holdSeconds":%d,`+
			`"maxHoldsPerUser":1000000,"pricing":{"strategy":"flat","amount":100}}`, starts, holdSeconds))
	}
}

// check holds the server that was just started against everything that buyers were told, and audits it (M-33).
func (r *killRun) check() {
	r.Helper()
	for _, b := range r.buyers {
		for _, p := range b.made {
			checkPurchase(r.T, r.shop, p)
		}
		b.forgetSettled()
		if len(b.odd) > 0 {
			r.Errorf("%s was answered: %v", b.name, b.odd)
		}
	}
	status, audit, _, err := r.shop.call("GET", "/audit", "", "")
	if err != nil || status != http.StatusOK || audit["ok"] != true {
		r.Errorf("audit: %d %v %v", status, audit, err)
	}
	for show := range killShows {
		if counts := r.census(show); counts["available"]+counts["held"]+counts["booked"]+counts["blocked"] != 2*killRowSeats {
			r.Errorf("show %d: the census is %v", show, counts)
		}
		r.checkOwners(show)
	}
}

// census audits a show and gives its counts.
func (r *killRun) census(show int) map[string]int {
	r.Helper()
	status, audit, _, err := r.shop.call("GET", fmt.Sprintf("/shows/%d/audit", show), "", "")
	if err != nil || status != http.StatusOK || audit["ok"] != true {
		r.Errorf("audit of show %d: %d %v %v", show, status, audit, err)
	}
	listed, _ := audit["counts"].(map[string]any)
	counts := map[string]int{}
	for name, count := range listed {
		number, _ := count.(float64)
		counts[name] = int(number)
	}
	return counts
}

// checkAllRunOut waits until no short hold is left. Nobody buys any more, so their seats must all be free then.
func (r *killRun) checkAllRunOut() {
	r.Helper()
	const longest = 3 * 2 * time.Second // three times the time of a hold, with extensions
	deadline := time.Now().Add(longest + killExpiryMost)
	for show := killLongShows; show < killShows; show++ {
		for r.census(show)["held"] > 0 {
			if time.Now().After(deadline) {
				r.Errorf("show %d: seats are still held: %v", show, r.census(show))
				break
			}
			<-time.After(pollEvery)
		}
	}
	expired := 0
	for _, b := range r.buyers {
		for _, p := range b.made {
			if checkPurchase(r.T, r.shop, p); p.status == "EXPIRED" {
				expired++
			}
		}
	}
	if r.Logf("%d of the holds that buyers still know ran out", expired); expired == 0 {
		r.Error("no hold ran out")
	}
}

// checkOwners compares a show's live bookings with its map: no seat is in two of them, each is on the map as taken, and
// every taken seat has an owner. The last may take a moment where a hold just ran out.
func (r *killRun) checkOwners(show int) {
	r.Helper()
	deadline := time.Now().Add(killExpiryMost)
	for {
		unowned := r.unowned(show)
		if len(unowned) == 0 {
			return
		}
		if show < killLongShows || time.Now().After(deadline) {
			r.Errorf("show %d: taken, by no booking: %v", show, unowned)
			return
		}
		<-time.After(pollEvery)
	}
}

// unowned lists the seats that the map shows as taken and no live booking has.
func (r *killRun) unowned(show int) (unowned []string) {
	r.Helper()
	_, body, _, err := r.shop.call("GET", fmt.Sprintf("/shows/%d/seats", show), "", "")
	if err != nil {
		r.Error(err)
		return nil
	}
	mapped := map[string]string{}
	seats, _ := body["seats"].([]any)
	for _, item := range seats {
		seat, _ := item.(map[string]any)
		mapped[fmt.Sprint(seat["label"])] = fmt.Sprint(seat["status"])
	}
	owners := map[string]string{}
	for status, onMap := range map[string]string{"PENDING": "HELD", "CONFIRMED": "BOOKED"} {
		_, list, _, err := r.shop.call("GET", fmt.Sprintf("/bookings?showId=%d&status=%s&limit=1000", show, status), "", "")
		if err != nil {
			r.Error(err)
			return nil
		}
		items, _ := list["items"].([]any)
		for _, item := range items {
			booking, _ := item.(map[string]any)
			labels, _ := booking["seatLabels"].([]any)
			for _, label := range labels {
				name, id := fmt.Sprint(label), fmt.Sprint(booking["id"])
				if other, taken := owners[name]; taken {
					r.Errorf("show %d: seat %s is in %s and in %s", show, name, other, id)
				}
				owners[name] = id
				if mapped[name] != onMap {
					r.Errorf("show %d: seat %s of a %s booking is %s on the map", show, name, status, mapped[name])
				}
			}
		}
	}
	for label, status := range mapped {
		if _, owned := owners[label]; !owned && (status == "HELD" || status == "BOOKED") {
			unowned = append(unowned, label+" "+status)
		}
	}
	return unowned
}
