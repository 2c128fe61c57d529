package fsm

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"maps"
	"slices"
)

// problemsMax bounds how many problems a report lists.
const problemsMax = 100

// auditPace is how many items an audit looks at between two looks at its context.
const auditPace = 4096

// AuditReport is what an audit of a whole shard found.
type AuditReport struct {
	OK       bool
	Problems []string // at most 100, worded for an operator
	Digest   [32]byte // of the whole state; replicas at one log index have the same
	Now      Time     // log time of the state
	Shows    int
	Bookings int
	Counts   Counts // of all shows
}

// ShowAudit is what an audit of one show found.
type ShowAudit struct {
	OK       bool
	Problems []string
	Digest   [32]byte // of the show, its seats, and its live or paid bookings; replicas at one version have the same
	Version  uint64
	AsOf     Time
	Counts   Counts
}

// auditor recounts a view.
type auditor struct {
	c        *Capture
	problems []string
}

func (a *auditor) problem(format string, args ...any) {
	if len(a.problems) < problemsMax {
		a.problems = append(a.problems, fmt.Sprintf(format, args...))
	}
}

// Audit recomputes every counter and list of the view from its seats and bookings, and a digest of all of it. The
// error is the context's.
func (c *Capture) Audit(ctx context.Context) (*AuditReport, error) {
	a := &auditor{c: c}
	report := &AuditReport{Now: c.now, Shows: c.shows.count, Bookings: c.bookings.count}
	digest := sha256.New()
	line := appendUint(appendUint(appendInt(nil, int64(c.now)), uint64(c.rules)), c.sequence)
	digest.Write(line)
	pending, unpaid := 0, 0
	for n, o := range c.showOrder() {
		if n%auditPace == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s := c.shows.get(o.place)
		counts := a.show(o.place, s)
		report.Counts.add(counts)
		line = appendUint(append(line[:0], c.showDigest(s)...), s.browseSent)
		if s.cancelNext != 0 {
			line = appendUint(line, c.bookings.get(s.cancelNext-1).sequence)
		}
		digest.Write(line)
	}
	for n, o := range c.bookingOrder() {
		if n%auditPace == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		b := c.bookings.get(o.place)
		a.booking(o.place, b)
		if b.status == StatusPending {
			pending++
		} else if b.status != StatusConfirmed && !b.paid() {
			unpaid++
		}
		line = c.appendBooking(line[:0], b)
		digest.Write(line)
	}
	if report.Counts != c.totals {
		a.problem("the shard counts %+v seats, its shows add up to %+v", c.totals, report.Counts)
	}
	if pending != c.pending || unpaid != c.unpaid || unpaid != len(c.waiting()) {
		a.problem("%d live holds and %d unpaid ended bookings (%d queued), counted as %d and %d",
			pending, unpaid, len(c.waiting()), c.pending, c.unpaid)
	}
	c.digestQueues(digest)
	report.Problems, report.OK = a.problems, len(a.problems) == 0
	digest.Sum(report.Digest[:0])
	return report, nil
}

func (c *Counts) add(d Counts) {
	c.Available += d.Available
	c.Held += d.Held
	c.Booked += d.Booked
	c.Blocked += d.Blocked
	c.Total += d.Total
}

// AuditShow is Audit for one show; nil when it is not there.
func (c *Capture) AuditShow(ctx context.Context, id ShowID) (*ShowAudit, error) {
	var found *show
	place := uint32(0)
	c.shows.each(func(at uint32, s *show) {
		if s.id == id {
			found, place = s, at
		}
	})
	if found == nil {
		return nil, ctx.Err()
	}
	a := &auditor{c: c}
	audit := &ShowAudit{Version: found.version, AsOf: found.changedAt, Counts: a.show(place, found)}
	digest := sha256.New()
	digest.Write(c.showDigest(found))
	var line []byte
	for next, n := found.newest, 0; next != 0; n++ {
		if n%auditPace == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		b := c.bookings.get(next - 1)
		if b.show != place {
			a.problem("booking %s is in the list of show %s but of another show", b.ref, id)
			break
		}
		a.booking(next-1, b)
		if next = b.older; b.status == StatusPending || b.status == StatusConfirmed || b.paid() {
			line = c.appendBooking(line[:0], b) // the others leave after a while without a change of version
			digest.Write(line)
		}
	}
	audit.Problems, audit.OK = a.problems, len(a.problems) == 0
	digest.Sum(audit.Digest[:0])
	return audit, nil
}

// show recounts a show's seats: each owner is a booking that has the seat, and the census adds up (M-33).
func (a *auditor) show(place uint32, s *show) Counts {
	seats := s.definition.Layout.Seats()
	counts := Counts{Total: uint32(seats)}
	if s.seats == nil {
		counts.Available = uint32(seats)
	} else if len(s.seats.owner) != seats {
		a.problem("show %s has %d seats in its map, %d in its layout", s.id, len(s.seats.owner), seats)
		return counts
	} else {
		for seat, owner := range s.seats.owner {
			*counts.of(a.seat(place, s, SeatIndex(seat), owner))++
		}
	}
	if counts != s.counts {
		a.problem("show %s counts %+v, its seats are %+v", s.id, s.counts, counts)
	}
	if counts.Available+counts.Held+counts.Booked+counts.Blocked != counts.Total {
		a.problem("show %s: %+v does not add up", s.id, counts)
	}
	return counts
}

func (a *auditor) seat(place uint32, s *show, seat SeatIndex, owner uint32) SeatStatus {
	switch owner {
	case ownerNone:
		return SeatAvailable
	case ownerBlocked:
		return SeatBlocked
	}
	label := s.definition.Layout.Label(seat)
	at := owner - ownerBooking
	if int(at/pageItems) >= len(a.c.bookings.pages) {
		a.problem("show %s: seat %s has an owner that does not exist", s.id, label)
		return SeatAvailable
	}
	b := a.c.bookings.get(at)
	position, has := b.seatAt(seat)
	if b.show != place || !has || !b.remains(position) {
		a.problem("show %s: seat %s is owned by booking %s, which does not have it", s.id, label, b.ref)
	}
	switch b.status {
	case StatusPending:
		return SeatHeld
	case StatusConfirmed:
		return SeatBooked
	}
	a.problem("show %s: seat %s is owned by booking %s, which is %s", s.id, label, b.ref, b.status)
	return SeatAvailable
}

// booking checks that a live booking owns every seat that remains to it: no seat has two owners.
func (a *auditor) booking(place uint32, b *booking) {
	if (b.status == StatusConfirmed) != (b.extra != nil && b.extra.confirmedBy != "") && b.status != StatusCancelled {
		a.problem("booking %s is %s, but its confirming payment says otherwise", b.ref, b.status)
	}
	if b.status != StatusPending && b.status != StatusConfirmed {
		return
	}
	s := a.c.shows.get(b.show)
	remaining := 0
	for i, seat := range b.seats {
		if !b.remains(i) {
			continue
		}
		remaining++
		if s.seats == nil || int(seat) >= len(s.seats.owner) || s.seats.owner[seat] != place+ownerBooking {
			a.problem("booking %s is %s, but seat %s of show %s is not its own", b.ref, b.status, b.definition.Layout.Label(seat), s.id)
		}
	}
	if remaining == 0 {
		a.problem("booking %s is %s without a seat", b.ref, b.status)
	}
}

// showDigest is a digest of what a show's version stands for: its definition, control and seats. Owners are named by
// sequence, since places differ between replicas.
func (c *Capture) showDigest(s *show) []byte {
	line := appendDefinition(appendText(nil, string(s.id)), s.definition)
	for _, v := range []uint64{
		s.sequence, uint64(s.control), s.revision, s.layoutVersion, s.version, uint64(s.changedAt), s.seatsSince,
	} {
		line = appendUint(line, v)
	}
	if s.seats != nil {
		line = appendUint(line, s.seats.base)
		for seat, owner := range s.seats.owner {
			id := uint64(owner)
			if owner >= ownerBooking {
				id = ownerBooking + c.bookings.get(owner-ownerBooking).sequence
			}
			line = append(appendUint(line, id), s.seats.changed[seat][:]...)
		}
	}
	sum := sha256.Sum256(line)
	return sum[:]
}

func (c *Capture) appendBooking(dst []byte, b *booking) []byte {
	dst = append(dst, b.ref[:]...)
	dst = appendText(dst, string(c.users.get(b.user).id))
	for _, v := range []uint64{
		b.sequence, c.shows.get(b.show).sequence, uint64(b.status), uint64(b.version), b.showVersion, uint64(b.createdAt),
		uint64(b.updatedAt), uint64(b.expires), uint64(b.firstHeld), uint64(len(b.seats)),
	} {
		dst = appendUint(dst, v)
	}
	for i, seat := range b.seats {
		dst = appendInt(appendUint(dst, uint64(seat)), b.definition.Price(seat))
		if !b.remains(i) {
			dst = append(dst, '-')
		}
	}
	for _, rule := range b.definition.Spec.RefundPolicy {
		dst = appendUint(appendInt(dst, rule.MinutesBefore), uint64(rule.Percent))
	}
	if e := b.extra; e != nil {
		for _, text := range []string{e.userName, e.contact.Email, e.contact.Phone, e.contact.Locale, e.confirmedBy} {
			dst = appendText(dst, text)
		}
		for i := range e.payments {
			dst = appendPayment(dst, &e.payments[i].Payment)
			dst = append(dst, byte(e.payments[i].answer))
		}
		for _, ref := range e.refused {
			dst = appendText(dst, ref)
		}
	}
	return dst
}

func appendPayment(dst []byte, p *Payment) []byte {
	dst = appendText(appendText(appendText(dst, p.Ref), p.Method), p.Currency)
	for _, v := range []int64{p.Amount, int64(p.Status), p.RefundAmount, int64(p.At)} {
		dst = appendInt(dst, v)
	}
	return dst
}

// digestQueues adds claims, keys, answers and queues, each in its own order.
func (c *Capture) digestQueues(digest hash.Hash) {
	var line []byte
	for _, o := range c.claimOrder() {
		claim := c.claims.get(o.place)
		line = append(appendText(line[:0], claim.ref), claim.booking[:]...)
		line = appendUint(appendInt(appendUint(line, claim.sequence), int64(claim.takenAt)), uint64(claim.attempts))
		if claim.final {
			line = append(line, '!')
		}
		digest.Write(line)
	}
	for at := c.idempotent.head; at < c.idempotent.tail; at++ {
		i := c.idempotent.at(at)
		line = append(append(append(line[:0], i.key[:]...), i.fingerprint[:]...), i.booking[:]...)
		digest.Write(appendInt(line, int64(i.at)))
	}
	for at := c.answers.head; at < c.answers.tail; at++ {
		answer := c.answers.at(at)
		line = appendInt(append(line[:0], answer.id[:]...), int64(answer.notAfter))
		line = append(line, byte(answer.result.Code))
		if b := answer.result.Booking; b != nil {
			line = appendUint(append(line, b.Ref[:]...), uint64(b.Version))
		}
		digest.Write(line)
	}
	for _, q := range c.waiting() {
		digest.Write(appendInt(appendUint(line[:0], q.sequence), int64(q.at)))
	}
	for _, id := range slices.Sorted(maps.Keys(c.departed)) {
		digest.Write(appendUint(appendText(line[:0], string(id)), c.departed[id]))
	}
	for _, place := range c.cancelling {
		digest.Write(appendUint(line[:0], c.shows.get(place).sequence))
	}
}
