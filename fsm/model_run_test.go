package fsm

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/houseful/houseful/fsm/wire"
)

// simulation runs a machine, a replica of it that restores at other times, and the model over one log.
type simulation struct {
	t       *rapid.T
	draw    *drawer
	live    *Machine
	replica *Machine
	model   *model
	now     Time
	counter uint64
	log     [][]byte
	granted []*Booking // as they were when granted, for the drawer
	sent    []*sentCommand
	old     *oldSnapshot
	held    []*heldCapture
}

// sentCommand is a command with its first answer.
type sentCommand struct {
	encoded  []byte
	command  *wire.Command
	notAfter Time
	first    []byte // the first answer; nil for a read, which answers anew
	applied  bool
}

type oldSnapshot struct {
	data  []byte
	after int // entries
}

type heldCapture struct {
	capture *Capture
	digest  [32]byte
}

// M-51: random commands and time against the model, with retries, snapshots, old snapshots and held captures.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &simulation{t: t, live: New(3), replica: New(3), model: newModel(3), now: start}
		s.draw = &drawer{t: t, sim: s}
		s.open()
		defer func() {
			for _, h := range s.held {
				h.capture.Release()
			}
		}()
		t.Repeat(map[string]func(*rapid.T){
			"":                s.check,
			"batch":           s.in(s.batch),
			"batch again":     s.in(s.batch), // twice: it is drawn more often
			"pulse":           s.in(s.pulse),
			"restore live":    s.in(func() { s.live = restored(t, snapshotOf(t, s.live)) }),
			"restore replica": s.in(func() { s.replica = restored(t, snapshotOf(t, s.live)) }),
			"old snapshot":    s.in(s.replayFromOld),
			"capture":         s.in(s.holdCapture),
		})
	})
}

// in lets an action draw from the rapid.T it is given.
func (s *simulation) in(action func()) func(*rapid.T) {
	return func(t *rapid.T) {
		s.t, s.draw.t = t, t
		action()
	}
}

// open puts the first show on sale.
func (s *simulation) open() {
	definition := s.draw.definition()
	id := s.draw.nextID()
	s.apply([]*sentCommand{s.send(&wire.Command{Id: id[:], Body: &wire.Command_PutShow{PutShow: &wire.PutShow{ShowId: "s1", Definition: definition}}})})
}

// send fixes a new command's life and encoding.
func (s *simulation) send(c *wire.Command) *sentCommand {
	notAfter := s.model.now + 5000
	switch rapid.IntRange(0, 30).Draw(s.t, "life") {
	case 0:
		notAfter = s.model.now - 1
	case 1:
		notAfter = s.model.now + 15_001
	case 2, 3:
		notAfter = s.model.now + 15_000
	case 4:
		notAfter = s.model.now
	}
	c.NotAfterMs = int64(notAfter)
	encoded, err := c.MarshalVT()
	if err != nil {
		s.t.Fatal(err)
	}
	sent := &sentCommand{encoded: encoded, command: c, notAfter: notAfter}
	s.sent = append(s.sent, sent)
	return sent
}

func (s *simulation) batch() {
	s.now = s.draw.step()
	s.model.advance(s.now) // so that commands are drawn against the time at which they are applied
	commands := make([]*sentCommand, rapid.IntRange(1, 5).Draw(s.t, "commands"))
	for i := range commands {
		if len(s.sent) > 0 && s.draw.oneIn(5, "sent again") {
			at := len(s.sent) - 1 - rapid.IntRange(0, min(len(s.sent)-1, 11)).Draw(s.t, "which")
			commands[i] = s.sent[at]
		} else {
			commands[i] = s.send(s.draw.command())
		}
	}
	s.apply(commands)
}

func (s *simulation) pulse() {
	s.now = max(s.now, s.model.now)
	if at, ok := s.live.NextExpiry(); ok && s.draw.oneIn(2, "when due") {
		s.now = max(s.now, at)
	}
	pulse := &wire.Command{Body: &wire.Command_ExpirePulse{ExpirePulse: &wire.ExpirePulse{}}}
	encoded, err := pulse.MarshalVT()
	if err != nil {
		s.t.Fatal(err)
	}
	s.apply([]*sentCommand{{encoded: encoded, command: pulse}})
	gone := func(ref BookingRef) bool {
		_, there := s.live.Booking(ref, s.live.now)
		return !there
	}
	if err := s.model.pulse(gone); err != nil {
		s.t.Fatal(err)
	}
}

// apply gives one entry to machine, replica and model, and compares every answer.
func (s *simulation) apply(commands []*sentCommand) {
	entry := &wire.Entry{Format: EntryFormat, TimeMs: int64(s.now)}
	for _, c := range commands {
		entry.Commands = append(entry.Commands, c.encoded)
	}
	data, err := entry.MarshalVT()
	if err != nil {
		s.t.Fatal(err)
	}
	s.log = append(s.log, data)
	before, digest := s.live.Capture(), mustAudit(s.t, s.live).Digest
	results := applyAndOverwrite(s.t, s.live, data)
	if report, err := before.Audit(context.Background()); err != nil || report.Digest != digest {
		s.t.Fatalf("applying changed a capture taken before: %v", err)
	}
	before.Release()
	other := applyAndOverwrite(s.t, s.replica, data)
	s.model.advance(s.now)
	for i, c := range commands {
		if !bytes.Equal(encodedResult(s.t, results[i]), encodedResult(s.t, other[i])) {
			s.t.Fatalf("%v: %+v, on the replica %+v", c.command, results[i], other[i])
		}
		s.judge(c, results[i])
	}
}

// judge compares an answer with the first one, or with what the model answers.
func (s *simulation) judge(c *sentCommand, got *Result) {
	encoded := encodedResult(s.t, got)
	late := s.model.now > c.notAfter
	switch {
	case c.command.Id == nil:
		return
	case c.applied && c.first != nil && (!late || got.Code != CodeCommandTooLate):
		if !bytes.Equal(encoded, c.first) {
			s.t.Fatalf("%v was answered %x, and again %x", c.command, c.first, encoded)
		}
		return
	case late:
		if got.Code != CodeCommandTooLate {
			s.t.Fatalf("%v came too late, and was answered %+v", c.command, got)
		}
		return
	case c.notAfter > s.model.now+15_000:
		if got.Code != CodeFull {
			s.t.Fatalf("%v may live too long, and was answered %+v", c.command, got)
		}
		return
	}
	want := s.model.apply([16]byte(c.command.Id), c.command)
	want.Now = s.model.now
	if err := sameResult(want, got); err != nil {
		s.t.Fatalf("%v: %v\nwant %+v\ngot  %+v", c.command, err, want, got)
	}
	switch c.applied = true; c.command.Body.(type) {
	case *wire.Command_ReadBooking, *wire.Command_FindByKey:
	default:
		c.first = encoded
	}
	if got.Code == CodeOK && got.Created && !got.Replayed && got.Booking != nil {
		s.granted = append(s.granted, got.Booking)
	}
}

// sameResult compares what the model follows of a result.
func sameResult(want, got *Result) error {
	w, g := *want, *got
	w.Booking, g.Booking, w.Show, g.Show = nil, nil, nil, nil
	w.Field, g.Field, w.Reason, g.Reason = "", "", "", ""
	if fmt.Sprintf("%+v", w) != fmt.Sprintf("%+v", g) {
		return fmt.Errorf("another result")
	}
	if (want.Booking == nil) != (got.Booking == nil) || (want.Show == nil) != (got.Show == nil) {
		return fmt.Errorf("a booking or show too many or too few")
	}
	if want.Booking != nil {
		if err := sameBooking(want.Booking, got.Booking); err != nil {
			return err
		}
	}
	if w, g := want.Show, got.Show; w != nil {
		// Holds that are due may still count as held.
		sum := g.Counts.Available + g.Counts.Held
		if w.ID != g.ID || w.Status != g.Status || w.Revision != g.Revision || w.Counts.Booked != g.Counts.Booked ||
			w.Counts.Blocked != g.Counts.Blocked || w.Counts.Available+w.Counts.Held != sum || g.Counts.Held < w.Counts.Held {
			return fmt.Errorf("another show: %+v, not %+v", g, w)
		}
	}
	return nil
}

func sameBooking(want, got *Booking) error {
	plain := func(b Booking) string {
		details := *b.Details
		b.ShowNames, b.Details, b.UpdatedAt, b.Sequence, b.Version, b.ShowVersion = nil, nil, 0, 0, 0, 0
		return fmt.Sprintf("%+v %+v", b, details)
	}
	if w, g := plain(*want), plain(*got); w != g {
		return fmt.Errorf("another booking:\nwant %s\ngot  %s", w, g)
	}
	return nil
}

// check compares the whole state with the model, and the machine with its replica.
func (s *simulation) check(t *rapid.T) {
	report := mustAudit(t, s.live)
	if other := mustAudit(t, s.replica); other.Digest != report.Digest {
		t.Fatalf("after %d entries the replica has another digest", len(s.log))
	}
	m := s.model
	if s.live.bookings.count != len(m.bookings) || s.live.shows.count != len(m.shows) || s.live.claims.count != len(m.claims) {
		t.Fatalf("%d bookings, %d shows, %d claims; the model has %d, %d, %d", s.live.bookings.count, s.live.shows.count,
			s.live.claims.count, len(m.bookings), len(m.shows), len(m.claims))
	}
	for _, b := range m.bookings {
		got, ok := s.live.Booking(b.ref, m.now)
		if !ok {
			t.Fatalf("booking %s is not there", b.ref)
		}
		if err := sameBooking(b.view(m.now), got); err != nil {
			t.Fatal(err)
		}
	}
	for id, show := range m.shows {
		s.checkShow(t, id, show)
	}
	pending := maps.Clone(m.browse)
	for id, revision := range m.departed {
		pending[id] = revision
	}
	items := s.live.BrowsePending(100)
	for _, item := range items {
		if pending[item.Show] != item.Revision || (item.Definition == nil) != (m.shows[item.Show] == nil) {
			t.Fatalf("browse %+v, the model has %v", item, pending)
		}
	}
	if len(items) != len(pending) {
		t.Fatalf("%d shows wait for the catalogue, in the model %v", len(items), pending)
	}
	for _, c := range m.claims {
		place, ok := s.live.claimByRef[c.ref]
		if got := s.live.claims.get(place); !ok || got.booking != c.booking || got.final != c.final || int(got.attempts) != c.attempts {
			t.Fatalf("claim %+v, the model has %+v", got, c)
		}
	}
}

// checkShow compares every seat: one that the model has free may be held only by a hold that is due.
func (s *simulation) checkShow(t *rapid.T, id ShowID, show *modelShow) {
	statuses, view, ok := s.live.SeatStatuses(id, s.model.now, nil)
	if !ok || len(statuses) != show.layout.Seats() {
		t.Fatalf("show %s has %d seats, the model has %d", id, len(statuses), show.layout.Seats())
	}
	counts := Counts{Total: uint32(len(statuses))}
	for seat, got := range statuses {
		*counts.of(got)++
		want := s.model.seatStatus(show, SeatIndex(seat))
		if got == want {
			continue
		}
		owner := s.live.shows.get(s.live.showByID[id]).seats.owner[seat]
		if want != SeatAvailable || got != SeatHeld || !s.live.bookings.get(owner-ownerBooking).due(s.model.now) {
			t.Fatalf("show %s: seat %d is %s, the model says %s", id, seat, got, want)
		}
	}
	if counts != view.Counts {
		t.Fatalf("show %s counts %+v, its seats are %+v", id, view.Counts, counts)
	}
	if listed := s.live.Bookings(BookingFilter{Show: id, Limit: ListMax}, s.model.now); !slices.IsSortedFunc(listed, func(a, b *Booking) int {
		return int(int64(b.Sequence) - int64(a.Sequence))
	}) {
		t.Fatalf("the bookings of show %s are out of order", id)
	}
}

// replayFromOld restores the snapshot taken when it was last called and replays the log since.
func (s *simulation) replayFromOld() {
	if s.old != nil {
		m := restored(s.t, s.old.data)
		for _, data := range s.log[s.old.after:] {
			applyAndOverwrite(s.t, m, data)
		}
		if mustAudit(s.t, m).Digest != mustAudit(s.t, s.live).Digest {
			s.t.Fatalf("a snapshot and the %d entries since give another digest", len(s.log)-s.old.after)
		}
	}
	s.old = &oldSnapshot{data: snapshotOf(s.t, s.live), after: len(s.log)}
}

// holdCapture writes the oldest capture that is held, if there are three, and takes a new one.
func (s *simulation) holdCapture() {
	if len(s.held) == 3 {
		h := s.held[0]
		s.held = s.held[1:]
		report, err := h.capture.Audit(context.Background())
		if err != nil || !report.OK || report.Digest != h.digest {
			s.t.Fatalf("a capture changed after it was taken: %v %v", err, report)
		}
		var out bytes.Buffer
		if _, err := h.capture.WriteTo(&out); err != nil {
			s.t.Fatal(err)
		}
		h.capture.Release()
		if mustAudit(s.t, restored(s.t, out.Bytes())).Digest != h.digest {
			s.t.Fatal("a capture was written as another state than that at its time")
		}
	}
	s.held = append(s.held, &heldCapture{capture: s.live.Capture(), digest: mustAudit(s.t, s.live).Digest})
}
