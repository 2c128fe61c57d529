package fsm

import (
	"slices"

	"github.com/houseful/houseful/fsm/wire"
)

// release gives a hold back (M-23). In an ended state it changes nothing; a confirmed booking is cancelled instead.
func (m *Machine) release(c *wire.Release) *Result {
	place, refusal := m.owned(c.Booking, c.UserId)
	if refusal != nil {
		return refusal
	}
	m.expireIfDue(place)
	switch b := m.bookings.get(place); b.status {
	case StatusConfirmed:
		return m.wrongState(b)
	case StatusPending:
		status := StatusReleased
		if c.PaymentFailed {
			status = StatusFailed
		}
		m.end(place, status)
		m.stats.Releases++
	}
	return m.done(place)
}

// extend moves a live hold's deadline (M-15).
func (m *Machine) extend(c *wire.Extend) *Result {
	place, refusal := m.owned(c.Booking, c.UserId)
	if refusal != nil {
		return refusal
	}
	m.expireIfDue(place)
	switch b := m.bookings.get(place); {
	case b.status == StatusExpired:
		return &Result{Code: CodeHoldExpired, Booking: m.bookingView(b, m.now)}
	case b.status != StatusPending:
		return m.wrongState(b)
	case m.shows.get(b.show).control == controlCancelled:
		return m.refuse(CodeSaleClosed)
	case !m.prolong(place):
		return &Result{Code: CodeExtendLimit, Booking: m.bookingView(b, m.now)}
	}
	m.stats.HoldsExtended++
	return m.done(place)
}

// cancel ends a booking, or gives back some of its seats, with a refund by the policy stamped at the hold (M-25).
// In an ended state it changes nothing.
func (m *Machine) cancel(c *wire.Cancel) *Result {
	place, refusal := m.owned(c.Booking, c.UserId)
	if refusal != nil {
		return refusal
	}
	m.expireIfDue(place)
	b := m.bookings.get(place)
	var seats []SeatIndex
	if len(c.Labels)+len(c.SeatIds) > 0 {
		if seats, refusal = m.seatsOf(b, c.Labels, c.SeatIds); refusal != nil {
			return refusal
		}
	}
	if b.status == StatusPending || b.status == StatusConfirmed {
		m.giveBack(place, seats, m.refundPercent(b))
	}
	return m.done(place)
}

// seatsOf resolves the seats of a part cancel: all of them must have been in the booking.
func (m *Machine) seatsOf(b *booking, labels []string, ids []uint32) ([]SeatIndex, *Result) {
	seats, refusal := m.resolveSeats(b.definition.Layout, labels, ids)
	if refusal != nil {
		return nil, refusal
	}
	for _, seat := range seats {
		if _, ok := b.seatAt(seat); !ok {
			return nil, m.invalid("seats", "seat "+b.definition.Layout.Label(seat)+" is not in this booking")
		}
	}
	return seats, nil
}

// giveBack frees seats of a booking (nil: all that remain) and notes the refund. With the last seat the booking
// ends; it keeps its last seats and total.
func (m *Machine) giveBack(place uint32, seats []SeatIndex, percent uint32) {
	b := m.bookings.get(place)
	var going []int
	amount, left := int64(0), 0
	for i, seat := range b.seats {
		if !b.remains(i) {
			continue
		}
		if _, named := slices.BinarySearch(seats, seat); seats != nil && !named {
			left++
			continue
		}
		going = append(going, i)
		amount += b.definition.Price(seat)
	}
	if len(going) == 0 {
		return
	}
	confirmed := b.status == StatusConfirmed
	if left == 0 {
		m.end(place, StatusCancelled)
	} else {
		m.freeSome(place, going)
	}
	if confirmed {
		m.refund(m.bookings.edit(place), percentOf(amount, percent))
	}
	m.stats.Cancels++
}

// freeSome frees the seats at some positions of a booking that goes on.
func (m *Machine) freeSome(place uint32, positions []int) {
	b, s := m.change(place)
	e := b.editExtra()
	e.gone = append([]bool(nil), e.gone...)
	if len(e.gone) == 0 {
		e.gone = make([]bool, len(b.seats))
	}
	seats := m.ownSeats(s)
	for _, i := range positions {
		assert(seats.owner[b.seats[i]] == place+ownerBooking, "a booking freed a seat of another")
		e.gone[i] = true
		seats.owner[b.seats[i]] = ownerNone
		seats.mark(b.seats[i], s.version)
	}
	from := SeatHeld
	if b.status == StatusConfirmed {
		from = SeatBooked
	}
	m.count(s, from, SeatAvailable, len(positions))
}

// refund adds to what is due back of the confirming payment of a booking that is being changed.
func (m *Machine) refund(b *booking, amount int64) {
	if amount == 0 {
		return
	}
	e := b.editExtra()
	e.payments = append([]payment(nil), e.payments...)
	for i := range e.payments {
		if p := &e.payments[i]; p.Ref == e.confirmedBy {
			p.RefundAmount += amount
			p.Status = PaymentRefundDue
		}
	}
}

// refundPercent is what the policy stamped at the hold gives back now: of the rules whose time before the start has
// not passed, the earliest one's (inclusive, in milliseconds).
func (m *Machine) refundPercent(b *booking) uint32 {
	if m.shows.get(b.show).control == controlCancelled {
		return 100 // whoever comes before the step that would end the booking gets what it would give
	}
	before := Time(m.shows.get(b.show).definition.Spec.StartsAtMs) - m.now
	for _, rule := range b.definition.Spec.RefundPolicy { // by minutesBefore, descending
		if before >= Time(rule.MinutesBefore)*60_000 {
			return rule.Percent
		}
	}
	return 0
}

func (m *Machine) wrongState(b *booking) *Result {
	return &Result{Code: CodeBookingState, Booking: m.bookingView(b, m.now)}
}
