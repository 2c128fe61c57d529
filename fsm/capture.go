package fsm

import (
	"cmp"
	"encoding/binary"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/houseful/houseful/fsm/wire"
)

// SnapshotFormat is the encoding of snapshots that this program writes and reads.
const SnapshotFormat = 1

// Capture is an immutable view of a machine's state. Taking it copies page tables only; its methods may run beside
// Apply, on one goroutine. Release it, or every later write goes on copying pages.
type Capture struct {
	captures   *captures
	release    sync.Once
	shard      uint16
	rules      uint32
	now        Time
	sequence   uint64
	shows      view[show]
	bookings   view[booking]
	users      view[user]
	claims     view[claim]
	idempotent fifo[idempotent]
	answers    fifo[answer]
	ended      fifo[queued]
	departed   map[ShowID]uint64
	cancelling []uint32
	pending    int
	unpaid     int
	totals     Counts
}

// Capture takes a view of the state. Like Apply, it must be kept apart from writes.
func (m *Machine) Capture() *Capture {
	m.captures.alive.Add(1)
	m.captures.epoch++
	return &Capture{
		captures: m.captures, shard: m.shard, rules: m.rules, now: m.now, sequence: m.sequence,
		shows: m.shows.view(), bookings: m.bookings.view(), users: m.users.view(), claims: m.claims.view(),
		idempotent: m.idempotent.view(), answers: m.answers.view(), ended: m.endedByAge.view(),
		departed: maps.Clone(m.departed), cancelling: slices.Clone(m.cancelling), pending: m.pending,
		unpaid: m.endedUnpaid, totals: m.seatTotals,
	}
}

// Release ends the view.
func (c *Capture) Release() { c.release.Do(func() { c.captures.alive.Add(-1) }) }

// Now is the log time of the view.
func (c *Capture) Now() Time { return c.now }

// ordered is an item's place, with what it is sorted by.
type ordered struct {
	sequence uint64
	place    uint32
}

func orderOf[T any](v view[T], sequence func(*T) uint64) []ordered {
	order := make([]ordered, 0, v.count)
	for place, item := range v.all() {
		order = append(order, ordered{sequence(item), place})
	}
	slices.SortFunc(order, func(a, b ordered) int { return cmp.Compare(a.sequence, b.sequence) })
	return order
}

func (c *Capture) showOrder() []ordered {
	return orderOf(c.shows, func(s *show) uint64 { return s.sequence })
}

func (c *Capture) bookingOrder() []ordered {
	return orderOf(c.bookings, func(b *booking) uint64 { return b.sequence })
}

func (c *Capture) claimOrder() []ordered {
	return orderOf(c.claims, func(c *claim) uint64 { return c.sequence })
}

// waiting lists the queued bookings that are still there and still unpaid.
func (c *Capture) waiting() []queued {
	var waiting []queued
	for at := c.ended.head; at < c.ended.tail; at++ {
		q := *c.ended.at(at)
		if b := c.bookings.get(q.place); b.sequence == q.sequence && !b.paid() {
			waiting = append(waiting, q)
		}
	}
	return waiting
}

// WriteTo writes the view as a snapshot: records of the wire format, each after its length as a varint. Frames and
// checksums are the snapshot store's.
func (c *Capture) WriteTo(w io.Writer) (int64, error) {
	shows, bookings, claims := c.showOrder(), c.bookingOrder(), c.claimOrder()
	definitions, numbers := c.definitions(shows, bookings)
	waiting := c.waiting()
	records := len(definitions) + len(shows) + len(bookings) + len(claims) + c.idempotent.len() + c.answers.len() +
		len(waiting) + len(c.departed) + len(c.cancelling)
	out := &recordWriter{w: w}
	out.write(&wire.SnapshotHeader{
		Format: SnapshotFormat, Shard: uint32(c.shard), Rules: c.rules, NowMs: int64(c.now), Sequence: c.sequence,
		Records: uint64(records),
	})
	for _, definition := range definitions {
		out.write(&wire.SnapshotRecord{Record: &wire.SnapshotRecord_Definition{Definition: definition.Wire()}})
	}
	for _, o := range shows {
		out.write(&wire.SnapshotRecord{Record: &wire.SnapshotRecord_Show{Show: c.showRecord(c.shows.get(o.place), numbers)}})
	}
	for _, o := range bookings {
		record := c.bookingRecord(c.bookings.get(o.place), numbers)
		out.write(&wire.SnapshotRecord{Record: &wire.SnapshotRecord_Booking{Booking: record}})
	}
	for _, o := range claims {
		out.write(&wire.SnapshotRecord{Record: &wire.SnapshotRecord_Claim{Claim: c.claims.get(o.place).record()}})
	}
	c.writeQueues(out, waiting)
	return out.written, out.err
}

func (c *Capture) writeQueues(out *recordWriter, waiting []queued) {
	for at := c.idempotent.head; at < c.idempotent.tail; at++ {
		i := c.idempotent.at(at)
		out.write(&wire.SnapshotRecord{Record: &wire.SnapshotRecord_Idempotency{Idempotency: &wire.IdempotencyRecord{
			Key: i.key[:], Fingerprint: i.fingerprint[:], Booking: i.booking[:], AtMs: int64(i.at),
		}}})
	}
	for at := c.answers.head; at < c.answers.tail; at++ {
		a := c.answers.at(at)
		out.write(&wire.SnapshotRecord{Record: &wire.SnapshotRecord_Answer{Answer: &wire.AnswerRecord{
			Id: a.id[:], NotAfterMs: int64(a.notAfter), Result: a.result.Wire(),
		}}})
	}
	for _, q := range waiting {
		ended := &wire.EndedRecord{Booking: q.sequence, AtMs: int64(q.at)}
		out.write(&wire.SnapshotRecord{Record: &wire.SnapshotRecord_Ended{Ended: ended}})
	}
	for _, id := range slices.Sorted(maps.Keys(c.departed)) {
		departed := &wire.DepartedRecord{ShowId: string(id), Revision: c.departed[id]}
		out.write(&wire.SnapshotRecord{Record: &wire.SnapshotRecord_Departed{Departed: departed}})
	}
	for _, place := range c.cancelling {
		cancelling := &wire.CancellingRecord{Show: c.shows.get(place).sequence}
		out.write(&wire.SnapshotRecord{Record: &wire.SnapshotRecord_Cancelling{Cancelling: cancelling}})
	}
}

// definitions lists every definition in use, in order of first use, with its number.
func (c *Capture) definitions(shows, bookings []ordered) ([]*Definition, map[*Definition]uint32) {
	var list []*Definition
	numbers := map[*Definition]uint32{}
	add := func(d *Definition) {
		if _, known := numbers[d]; !known {
			numbers[d] = uint32(len(list))
			list = append(list, d)
		}
	}
	for _, o := range shows {
		add(c.shows.get(o.place).definition)
	}
	for _, o := range bookings {
		add(c.bookings.get(o.place).definition)
	}
	return list, numbers
}

func (c *Capture) showRecord(s *show, numbers map[*Definition]uint32) *wire.ShowRecord {
	r := &wire.ShowRecord{
		Id: string(s.id), Sequence: s.sequence, Definition: numbers[s.definition], Control: uint32(s.control),
		Revision: s.revision, LayoutVersion: s.layoutVersion, BrowseSent: s.browseSent, Version: s.version,
		ChangedAtMs: int64(s.changedAt), SeatsSince: s.seatsSince,
	}
	if s.cancelNext != 0 {
		r.CancelNext = c.bookings.get(s.cancelNext - 1).sequence
	}
	if s.seats == nil {
		return r
	}
	r.SeatsBase = s.seats.base
	r.SeatsChanged = make([]byte, 0, 3*len(s.seats.changed))
	for seat, changed := range s.seats.changed {
		r.SeatsChanged = append(r.SeatsChanged, changed[:]...)
		if s.seats.owner[seat] == ownerBlocked {
			r.Blocked = append(r.Blocked, uint32(seat))
		}
	}
	return r
}

func (c *Capture) bookingRecord(b *booking, numbers map[*Definition]uint32) *wire.BookingRecord {
	r := &wire.BookingRecord{
		Ref: b.ref[:], Sequence: b.sequence, Show: c.shows.get(b.show).sequence, Definition: numbers[b.definition],
		User: string(c.users.get(b.user).id), Status: uint32(b.status), Version: b.version, ShowVersion: b.showVersion,
		CreatedAtMs: int64(b.createdAt), UpdatedAtMs: int64(b.updatedAt), ExpiresMs: b.expires, FirstHeldMs: b.firstHeld,
		Seats: make([]uint32, len(b.seats)),
	}
	for i, seat := range b.seats {
		r.Seats[i] = uint32(seat)
	}
	if e := b.extra; e != nil {
		r.UserName, r.Contact, r.ConfirmedBy, r.Refused, r.Gone = e.userName, e.contact.wire(), e.confirmedBy, e.refused, e.gone
		for i := range e.payments {
			r.Payments = append(r.Payments, paymentToWire(&e.payments[i].Payment, e.payments[i].answer))
		}
	}
	return r
}

func (c *claim) record() *wire.ClaimRecord {
	return &wire.ClaimRecord{
		PaymentRef: c.ref, Booking: c.booking[:], TakenAtMs: int64(c.takenAt), Sequence: c.sequence,
		Attempts: c.attempts, Final: c.final,
	}
}

// message is a generated record.
type message interface {
	SizeVT() int
	MarshalToSizedBufferVT([]byte) (int, error)
}

// recordWriter writes records until the first error, which it keeps.
type recordWriter struct {
	w       io.Writer
	buffer  []byte
	written int64
	err     error
}

func (w *recordWriter) write(record message) {
	if w.err != nil {
		return
	}
	size := record.SizeVT()
	w.buffer = binary.AppendUvarint(w.buffer[:0], uint64(size))
	start := len(w.buffer)
	w.buffer = slices.Grow(w.buffer, size)[:start+size]
	if _, w.err = record.MarshalToSizedBufferVT(w.buffer[start:]); w.err != nil {
		return
	}
	n, err := w.w.Write(w.buffer)
	w.written += int64(n)
	w.err = err
}
