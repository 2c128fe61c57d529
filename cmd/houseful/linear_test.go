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

	"github.com/anishathalye/porcupine"
)

// Histories of calls over HTTP, checked for linearizability seat by seat (M-52). A call about several seats is one
// event on each of them: a refused hold saw each seat either taken, as it was told, or free.

// seatEvent is what a call did to, or saw of, one seat.
type seatEvent struct {
	seat    string
	kind    eventKind
	booking string
}

type eventKind int

const (
	eventHeld      eventKind = iota // the booking took the seat
	eventConfirmed                  // the booking, which held it, bought it
	eventFreed                      // the booking, which had it, gave it back
	eventSawFree
	eventSawHeld
	eventSawBooked
	eventHas  // the booking was seen to hold or have bought it
	eventLost // the booking was seen to have it no more
)

// seatState is a seat in the model: whose it is, and whether bought.
type seatState struct {
	booking string
	bought  bool
}

func seatModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			bySeat := map[string][]porcupine.Operation{}
			for _, op := range history {
				event, _ := op.Input.(seatEvent)
				bySeat[event.seat] = append(bySeat[event.seat], op)
			}
			var parts [][]porcupine.Operation
			for _, part := range bySeat {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() any { return seatState{} },
		Step: func(state, input, _ any) (bool, any) {
			s, _ := state.(seatState)
			event, _ := input.(seatEvent)
			return stepSeat(s, event)
		},
		DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
	}
}

func stepSeat(s seatState, event seatEvent) (bool, seatState) {
	mine := s.booking == event.booking
	switch event.kind {
	case eventHeld:
		return s.booking == "", seatState{booking: event.booking}
	case eventConfirmed:
		return mine && !s.bought, seatState{booking: event.booking, bought: true}
	case eventFreed:
		return mine, seatState{}
	case eventSawFree:
		return s.booking == "", s
	case eventSawHeld:
		return s.booking != "" && !s.bought, s
	case eventSawBooked:
		return s.bought, s
	case eventHas:
		return mine, s
	case eventLost:
		return !mine, s
	}
	return false, s
}

// witness records the calls of one client.
type witness struct {
	h       *hall
	id      int
	random  *rand.Rand
	history []porcupine.Operation
	clock   time.Time
}

func (w *witness) record(call int64, events ...seatEvent) {
	now := time.Since(w.clock).Nanoseconds()
	for _, event := range events {
		w.history = append(w.history, porcupine.Operation{ClientId: w.id, Input: event, Call: call, Output: nil, Return: now})
	}
}

func (w *witness) begin() int64 { return time.Since(w.clock).Nanoseconds() }

// visit holds one or two of the contested seats, and goes some way with them.
func (w *witness) visit(seats []string) error {
	call := w.begin()
	body := fmt.Sprintf(`{"showId":"1","userId":"w%d","seats":[%q]}`, w.id, seats[0])
	if len(seats) == 2 {
		body = fmt.Sprintf(`{"showId":"1","userId":"w%d","seats":[%q,%q]}`, w.id, seats[0], seats[1])
	}
	status, answer, _, err := w.h.call("POST", "/bookings/hold", body, "")
	if err != nil {
		return err
	}
	switch status {
	case http.StatusConflict:
		return w.refused(call, seats, answer)
	case http.StatusCreated:
	default:
		return fmt.Errorf("hold: %d %v", status, answer)
	}
	id, _ := answer["id"].(string)
	w.record(call, each(seats, eventHeld, id)...)
	return w.goOn(id, seats)
}

func each(seats []string, kind eventKind, booking string) []seatEvent {
	events := make([]seatEvent, len(seats))
	for i, seat := range seats {
		events[i] = seatEvent{seat, kind, booking}
	}
	return events
}

func (w *witness) refused(call int64, seats []string, answer map[string]any) error {
	details, _ := answer["details"].(map[string]any)
	list, _ := details["seats"].([]any)
	saw := map[string]eventKind{}
	for _, seat := range seats {
		saw[seat] = eventSawFree
	}
	for _, item := range list {
		refused, _ := item.(map[string]any)
		label := fmt.Sprint(refused["label"])
		switch refused["reason"] {
		case "HELD", "HELD_BY_YOU":
			saw[label] = eventSawHeld
		case "BOOKED":
			saw[label] = eventSawBooked
		default:
			return fmt.Errorf("refused for %v", refused)
		}
	}
	for _, seat := range seats {
		w.record(call, seatEvent{seat: seat, kind: saw[seat]})
	}
	return nil
}

// goOn reads, confirms, releases or cancels a booking.
func (w *witness) goOn(id string, seats []string) error {
	post := func(verb, body string, kind eventKind) error {
		call := w.begin()
		status, answer, _, err := w.h.call("POST", "/bookings/"+id+"/"+verb, body, "")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("%s %s: %d %v %w", verb, id, status, answer, err)
		}
		w.record(call, each(seats, kind, id)...)
		return nil
	}
	read := func(kind eventKind) error {
		call := w.begin()
		level := []string{"leader", "strong"}[w.random.IntN(2)]
		status, answer, _, err := w.h.call("GET", "/bookings/"+id+"?consistency="+level, "", "")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("read %s: %d %v %w", id, status, answer, err)
		}
		w.record(call, each(seats, kind, id)...)
		return nil
	}
	user := fmt.Sprintf(`{"userId":"w%d"}`, w.id)
	if w.random.IntN(3) == 0 {
		if err := read(eventHas); err != nil {
			return err
		}
	}
	if w.random.IntN(2) == 0 {
		if err := post("release", fmt.Sprintf(`{"userId":"w%d","reason":"abandoned"}`, w.id), eventFreed); err != nil {
			return err
		}
		return read(eventLost)
	}
	if err := post("confirm", fmt.Sprintf(`{"userId":"w%d","paymentRef":"P-%s"}`, w.id, id), eventConfirmed); err != nil {
		return err
	}
	if err := post("cancel", user, eventFreed); err != nil {
		return err
	}
	return read(eventLost)
}

// M-52: twenty clients contend for eight seats; the whole history is linearizable.
func TestLinearizable(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("HOUSEFUL_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("HOUSEFUL_SEED=%d", seed)
	h := openHall(t)
	clock := time.Now()
	witnesses := make([]*witness, 20)
	var busy sync.WaitGroup
	for i := range witnesses {
		w := &witness{h: h, id: i, random: rand.New(rand.NewPCG(seed, uint64(i))), clock: clock}
		witnesses[i] = w
		busy.Go(func() {
			for range 60 {
				first := w.random.IntN(8) + 1
				seats := []string{fmt.Sprint("A", first)}
				if second := w.random.IntN(8) + 1; second != first {
					seats = append(seats, fmt.Sprint("A", second))
				}
				if err := w.visit(seats); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	busy.Wait()
	var history []porcupine.Operation
	held := 0
	for _, w := range witnesses {
		history = append(history, w.history...)
	}
	for _, op := range history {
		if event, _ := op.Input.(seatEvent); event.kind == eventHeld {
			held++
		}
	}
	if held < 100 {
		t.Fatalf("only %d holds were granted: too little to judge", held)
	}
	if result := porcupine.CheckOperationsTimeout(seatModel(), history, time.Minute); result != porcupine.Ok {
		t.Fatalf("%d events on 8 seats: %v", len(history), result)
	}
	t.Logf("%d events on 8 seats, %d holds granted: linearizable", len(history), held)
}

// The checker itself refuses what must not be: two winners of one seat, and a seat seen free while it was held.
func TestLinearModelRefuses(t *testing.T) {
	op := func(client int, event seatEvent, from, to int64) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: event, Call: from, Return: to}
	}
	for name, history := range map[string][]porcupine.Operation{
		"two winners": {op(0, seatEvent{"A1", eventHeld, "x"}, 0, 10), op(1, seatEvent{"A1", eventHeld, "y"}, 5, 15)},
		"seen free":   {op(0, seatEvent{"A1", eventHeld, "x"}, 0, 10), op(1, seatEvent{"A1", eventSawFree, ""}, 11, 15)},
		"lost":        {op(0, seatEvent{"A1", eventHeld, "x"}, 0, 10), op(0, seatEvent{"A1", eventLost, "x"}, 11, 15)},
	} {
		if porcupine.CheckOperations(seatModel(), history) {
			t.Errorf("%s: passed", name)
		}
	}
}
