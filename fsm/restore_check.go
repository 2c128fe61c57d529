package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/houseful/houseful/fsm/wire"
)

// lastRead is the latest record of each kind, to check the order of the next.
type lastRead struct {
	show, booking, claim            uint64 // sequences
	claimedAt, idempotencyAt, ended int64
}

// ascends reports whether a sequence number comes after the last of its kind, and not after the shard's newest.
func ascends(last *uint64, sequence, newest uint64) bool {
	ok := sequence > *last && sequence <= newest
	*last = sequence
	return ok
}

// timely reports whether a time of a queue comes not before the last, and not after log time.
func (l *loader) timely(last *int64, ms int64) bool {
	ok := ms >= *last && Time(ms) <= l.m.now
	*last = ms
	return ok
}

func (l *loader) checkShow(r *wire.ShowRecord) error {
	switch {
	case !ascends(&l.last.show, r.Sequence, l.m.sequence):
		return fmt.Errorf("show %q is out of order", r.Id)
	case r.Revision == 0 || r.BrowseSent > r.Revision || r.LayoutVersion > r.Revision:
		return fmt.Errorf("show %q of revision %d has layout %d, sent %d", r.Id, r.Revision, r.LayoutVersion, r.BrowseSent)
	case r.Version == 0 || r.SeatsSince > r.Version || r.SeatsBase > r.Version || Time(r.ChangedAtMs) > l.m.now:
		return fmt.Errorf("show %q of version %d has seats of later ones", r.Id, r.Version)
	}
	return nil
}

func (l *loader) checkBooking(r *wire.BookingRecord, s *show) error {
	const lifeMax = HoldLifeFactor * HoldSecondsMax * 1000
	created, updated := Time(r.CreatedAtMs), Time(r.UpdatedAtMs)
	switch {
	case !ascends(&l.last.booking, r.Sequence, l.m.sequence):
		return errors.New("it is out of order")
	case r.User == "" || r.Version == 0 || r.ShowVersion > s.version:
		return errors.New("it has no user, or a version that cannot be")
	case created < 0 || created > updated || updated > l.m.now:
		return errors.New("its times are out of order")
	case r.FirstHeldMs < 0 || r.FirstHeldMs > lifeMax || r.ExpiresMs > lifeMax:
		return fmt.Errorf("its hold lives for %d + %d ms, more than %d", r.FirstHeldMs, r.ExpiresMs, lifeMax)
	case len(r.Payments) > PaymentsPerBookingMax || len(r.Refused) > PaymentsPerBookingMax:
		return fmt.Errorf("it has more than %d payments or refused references", PaymentsPerBookingMax)
	}
	return nil
}

func (l *loader) idempotency(r *wire.IdempotencyRecord) error {
	if len(r.Key) != 16 || len(r.Fingerprint) != 16 || len(r.Booking) != 16 || !l.timely(&l.last.idempotencyAt, r.AtMs) {
		return errors.New("an idempotency key is cut short or out of order")
	}
	key := digest16(r.Key)
	l.m.idempotentBy[key] = l.m.idempotent.push(idempotent{
		key: key, fingerprint: digest16(r.Fingerprint), booking: refFromBytes(r.Booking), at: Time(r.AtMs),
	})
	return nil
}

func (l *loader) ended(r *wire.EndedRecord) error {
	place, ok := l.bookings[r.Booking]
	if !ok || !l.timely(&l.last.ended, r.AtMs) {
		return fmt.Errorf("the ended booking %d is not there, or out of order", r.Booking)
	}
	b := l.m.bookings.get(place)
	for int(place) >= len(l.queued) {
		l.queued = append(l.queued, make([]bool, max(pageItems, len(l.queued)))...)
	}
	if l.queued[place] || b.status == StatusPending || b.status == StatusConfirmed || b.paid() {
		return fmt.Errorf("booking %s waits twice to be let go of, or is %s or paid for", b.ref, b.status)
	}
	l.queued[place] = true
	l.m.endedByAge.push(queued{at: Time(r.AtMs), sequence: r.Booking, place: place})
	return nil
}

// finish resolves what records named before it was there, and lets the audit judge the whole.
func (l *loader) finish() error {
	for place, sequence := range l.cancelNext {
		booking, ok := l.bookings[sequence]
		if !ok || l.m.bookings.get(booking).show != place || !slices.Contains(l.m.cancelling, place) {
			return fmt.Errorf("%w: booking %d, the next to be cancelled, is not there, or its show is not being cancelled",
				ErrSnapshot, sequence)
		}
		l.m.shows.edit(place).cancelNext = booking + 1
	}
	c := l.m.Capture()
	defer c.Release()
	a := newAuditor(c)
	if _, err := a.recount(context.Background()); err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if len(a.problems) > 0 {
		return fmt.Errorf("%w: %s (problem 1 of %d)", ErrSnapshot, a.problems[0], len(a.problems))
	}
	return nil
}
