package fsm

import (
	"context"
	"crypto/sha256"
	"hash"
	"maps"
	"slices"
)

// digest hashes the whole state in the canonical encoding: replicas at one log index have the same, whatever places
// their items are at. The error is the context's.
func (a *auditor) digest(ctx context.Context, digest hash.Hash) error {
	c := a.c
	line := appendUint(appendUint(appendInt(nil, int64(c.now)), uint64(c.rules)), c.sequence)
	digest.Write(line)
	for n, o := range c.showOrder() {
		if n%auditPace == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		s := c.shows.get(o.place)
		line = appendUint(append(line[:0], a.showDigest(s)...), s.browseSent)
		next := uint64(0)
		if s.cancelNext != 0 {
			next = c.bookings.get(s.cancelNext - 1).sequence
		}
		digest.Write(appendUint(line, next))
	}
	for n, o := range c.bookingOrder() {
		if n%auditPace == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line = a.appendBooking(line[:0], c.bookings.get(o.place))
		digest.Write(line)
	}
	c.digestQueues(digest)
	return nil
}

// showDigest is a digest of what a show's version stands for: its definition, control and seats. Owners are named by
// sequence, since places differ between replicas.
func (a *auditor) showDigest(s *show) []byte {
	line := a.appendDefinition(appendText(nil, string(s.id)), s.definition)
	for _, v := range []uint64{
		s.sequence, uint64(s.control), s.revision, s.layoutVersion, s.version, uint64(s.changedAt), s.seatsSince,
	} {
		line = appendUint(line, v)
	}
	if s.seats != nil {
		line = appendUint(line, s.seats.base)
		for seat, owner := range s.seats.owner {
			id := uint64(owner)
			if owner >= ownerBooking && a.c.bookings.holds(owner-ownerBooking) {
				id = ownerBooking + a.c.bookings.get(owner-ownerBooking).sequence
			}
			line = append(appendUint(line, id), s.seats.changed[seat][:]...)
		}
	}
	sum := sha256.Sum256(line)
	return sum[:]
}

// appendDefinition appends the digest of a definition.
func (a *auditor) appendDefinition(dst []byte, d *Definition) []byte {
	sum, known := a.definitions[d]
	if !known {
		sum = sha256.Sum256(appendDefinition(nil, d))
		a.definitions[d] = sum
	}
	return append(dst, sum[:]...)
}

func (a *auditor) appendBooking(dst []byte, b *booking) []byte {
	dst = append(dst, b.ref[:]...)
	dst = a.appendDefinition(appendText(dst, string(a.c.users.get(b.user).id)), b.definition)
	for _, v := range []uint64{
		b.sequence, a.c.shows.get(b.show).sequence, uint64(b.status), uint64(b.version), b.showVersion,
		uint64(b.createdAt), uint64(b.updatedAt), uint64(b.expires), uint64(b.firstHeld), uint64(len(b.seats)),
	} {
		dst = appendUint(dst, v)
	}
	for i, seat := range b.seats {
		dst = appendBool(appendUint(dst, uint64(seat)), b.remains(i))
	}
	e := b.extra
	if e == nil {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	for _, text := range []string{e.userName, e.contact.Email, e.contact.Phone, e.contact.Locale, e.confirmedBy} {
		dst = appendText(dst, text)
	}
	dst = appendUint(dst, uint64(len(e.payments)))
	for i := range e.payments {
		dst = append(appendPayment(dst, &e.payments[i].Payment), byte(e.payments[i].answer))
	}
	dst = appendUint(dst, uint64(len(e.refused)))
	for _, ref := range e.refused {
		dst = appendText(dst, ref)
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
		digest.Write(appendBool(line, claim.final))
	}
	for at := c.idempotent.head; at < c.idempotent.tail; at++ {
		i := c.idempotent.at(at)
		line = append(append(append(line[:0], i.key[:]...), i.fingerprint[:]...), i.booking[:]...)
		digest.Write(appendInt(line, int64(i.at)))
	}
	for at := c.answers.head; at < c.answers.tail; at++ {
		answer := c.answers.at(at)
		line = appendInt(append(line[:0], answer.id[:]...), int64(answer.notAfter))
		digest.Write(appendResult(line, answer.result))
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

// appendResult appends what tells results of one command apart.
func appendResult(dst []byte, r *Result) []byte {
	dst = appendBool(appendBool(append(dst, byte(r.Code)), r.Created), r.Replayed)
	dst = appendInt(appendInt(appendInt(dst, int64(r.Now)), int64(r.At)), r.Refund)
	dst = appendText(appendText(appendText(dst, r.RefundCurrency), r.Field), r.Reason)
	dst = appendBool(append(dst, r.Claimant[:]...), r.ClaimFinal)
	if b := r.Booking; b != nil {
		dst = appendUint(append(append(dst, 'b'), b.Ref[:]...), uint64(b.Version))
		dst = appendInt(appendInt(append(dst, byte(b.Status)), int64(b.AsOf)), b.TotalAmount)
	}
	if s := r.Show; s != nil {
		dst = appendUint(appendUint(appendText(append(dst, 's'), string(s.ID)), s.Revision), s.Version)
		dst = append(dst, byte(s.Status))
		for _, n := range []uint32{s.Counts.Available, s.Counts.Held, s.Counts.Booked, s.Counts.Blocked, s.Counts.Total} {
			dst = appendUint(dst, uint64(n))
		}
	}
	dst = appendUint(dst, uint64(len(r.Refused)))
	for _, refused := range r.Refused {
		dst = append(appendUint(dst, uint64(refused.Seat)), byte(refused.Status))
		dst = append(appendInt(dst, int64(refused.FreeAt)), refused.Mine[:]...)
	}
	return dst
}
