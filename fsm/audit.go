package fsm

import (
	"context"
	"crypto/sha256"
	"fmt"
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
	c           *Capture
	problems    []string
	definitions map[*Definition][sha256.Size]byte // digests, made when first needed
}

func newAuditor(c *Capture) *auditor {
	return &auditor{c: c, definitions: map[*Definition][sha256.Size]byte{}}
}

func (a *auditor) problem(format string, args ...any) {
	if len(a.problems) < problemsMax {
		a.problems = append(a.problems, fmt.Sprintf(format, args...))
	}
}

// Audit recomputes every counter and list of the view from its seats and bookings, and a digest of all of it. The
// error is the context's.
func (c *Capture) Audit(ctx context.Context) (*AuditReport, error) {
	a := newAuditor(c)
	counts, err := a.recount(ctx)
	if err != nil {
		return nil, err
	}
	report := &AuditReport{
		OK: len(a.problems) == 0, Problems: a.problems, Now: c.now, Shows: c.shows.count, Bookings: c.bookings.count,
		Counts: counts,
	}
	digest := sha256.New()
	if err := a.digest(ctx, digest); err != nil {
		return nil, err
	}
	digest.Sum(report.Digest[:0])
	return report, nil
}

// recount checks every show and booking, and the counters over all of them.
func (a *auditor) recount(ctx context.Context) (total Counts, err error) {
	c, n := a.c, 0
	for at, s := range c.shows.all() {
		if n++; n%auditPace == 0 && ctx.Err() != nil {
			return total, ctx.Err()
		}
		total.add(a.show(at, s))
	}
	pending, unpaid := 0, 0
	for at, b := range c.bookings.all() {
		if n++; n%auditPace == 0 && ctx.Err() != nil {
			return total, ctx.Err()
		}
		a.booking(at, b)
		if b.status == StatusPending {
			pending++
		} else if b.status != StatusConfirmed && !b.paid() {
			unpaid++
		}
	}
	if total != c.totals {
		a.problem("the shard counts %+v seats, its shows add up to %+v", c.totals, total)
	}
	if waiting := len(c.waiting()); pending != c.pending || unpaid != c.unpaid || unpaid != waiting {
		a.problem("%d live holds and %d unpaid ended bookings (%d queued), counted as %d and %d",
			pending, unpaid, waiting, c.pending, c.unpaid)
	}
	return total, nil
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
	for at, s := range c.shows.all() {
		if s.id == id {
			found, place = s, at
		}
	}
	if found == nil {
		return nil, ctx.Err()
	}
	a := newAuditor(c)
	audit := &ShowAudit{Version: found.version, AsOf: found.changedAt, Counts: a.show(place, found)}
	digest := sha256.New()
	digest.Write(a.showDigest(found))
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
			line = a.appendBooking(line[:0], b) // the others leave after a while without a change of version
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
	if !a.c.bookings.holds(at) {
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
	confirmed := b.extra != nil && b.extra.confirmedBy != ""
	if (b.status == StatusConfirmed) != confirmed && b.status != StatusCancelled {
		a.problem("booking %s is %s, but its confirming payment says otherwise", b.ref, b.status)
	}
	if confirmed && b.payment(b.extra.confirmedBy) == nil {
		a.problem("booking %s was confirmed by a payment that it does not have", b.ref)
	}
	if b.status != StatusPending && b.status != StatusConfirmed {
		return
	}
	s := a.c.shows.get(b.show)
	if b.definition.Layout != s.definition.Layout {
		a.problem("booking %s is %s, but of another layout than show %s has now", b.ref, b.status, s.id)
		return
	}
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
