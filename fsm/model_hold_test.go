package fsm

import (
	"slices"

	"github.com/houseful/houseful/fsm/wire"
)

// apply carries out a command that comes for the first time and in time.
func (m *model) apply(id [16]byte, c *wire.Command) *Result {
	switch body := c.Body.(type) {
	case *wire.Command_Hold:
		return m.hold(id, body.Hold)
	case *wire.Command_Confirm:
		return m.confirm(body.Confirm)
	case *wire.Command_Release:
		return m.release(body.Release)
	case *wire.Command_Extend:
		return m.extend(body.Extend)
	case *wire.Command_Cancel:
		return m.cancel(body.Cancel)
	case *wire.Command_Claim:
		return m.claim(body.Claim)
	case *wire.Command_RefuseReference:
		return m.refuseReference(body.RefuseReference)
	case *wire.Command_PutShow:
		return m.putShow(body.PutShow)
	case *wire.Command_BrowseSent:
		return m.browseSent(body.BrowseSent)
	case *wire.Command_Block:
		return m.block(body.Block)
	case *wire.Command_ControlShow:
		return m.controlShow(body.ControlShow)
	case *wire.Command_ReadBooking:
		if b := m.booking(body.ReadBooking.Booking); b != nil {
			return &Result{Booking: b.view(m.now)}
		}
		return &Result{Code: CodeBookingNotFound}
	case *wire.Command_FindByKey:
		return m.findByKey(body.FindByKey)
	}
	return &Result{} // a pulse, or rules raised to what they are
}

func (m *model) findByKey(c *wire.FindByKey) *Result {
	if m.shows[ShowID(c.ShowId)] == nil {
		return &Result{Code: CodeShowNotFound}
	}
	if b, _ := m.key(c.IdempotencyKey); b != nil {
		return &Result{Booking: b.view(m.now)}
	}
	return &Result{Code: CodeBookingNotFound, At: m.now + 15_001}
}

// key gives the booking that a key made within 24 h, unless it has gone.
func (m *model) key(key []byte) (*modelBooking, modelKey) {
	known, ok := m.keys[digest16(key)]
	if !ok || m.now >= known.at+24*3_600_000 {
		return nil, modelKey{}
	}
	return m.booking(known.booking[:]), known
}

func (m *model) hold(id [16]byte, c *wire.Hold) *Result {
	s := m.shows[ShowID(c.ShowId)]
	if s == nil {
		return &Result{Code: CodeShowNotFound}
	}
	if len(c.IdempotencyKey) > 0 {
		if b, known := m.key(c.IdempotencyKey); b != nil {
			if known.fingerprint != digest16(c.Fingerprint) {
				return &Result{Code: CodeIdempotencyKeyReused}
			}
			return &Result{Created: true, Replayed: true, Booking: b.view(m.now)}
		}
	}
	switch s.status(m.now) {
	case ShowNotOpen:
		return &Result{Code: CodeSaleNotOpen, At: Time(s.spec.SalesOpenAtMs)}
	case ShowPaused:
		return &Result{Code: CodeSalePaused}
	case ShowClosed, ShowCancelled:
		return &Result{Code: CodeSaleClosed}
	}
	seats := resolveLabels(s.layout, c.Labels, c.SeatIds)
	if seats == nil || len(seats) > int(s.spec.MaxSeatsPerBooking) {
		return &Result{Code: CodeInvalid}
	}
	var old *modelBooking
	if len(c.Replace) > 0 {
		switch old = m.booking(c.Replace); {
		case old == nil:
			return &Result{Code: CodeBookingNotFound}
		case old.user != UserID(c.UserId):
			return &Result{Code: CodeBookingState}
		case old.show != s.id || old.status != StatusPending:
			return &Result{Code: CodeBookingState, Booking: old.view(m.now)}
		}
	}
	if own := m.owner(s.id, seats[0]); own != nil && own.status == StatusPending && own.user == UserID(c.UserId) && slices.Equal(own.remaining(), seats) &&
		(old == nil || old == own) {
		own.expires = max(own.expires, min(m.now+own.holdMs, own.firstHeld+3*own.holdMs))
		m.remember(c, own.ref)
		return &Result{Booking: own.view(m.now)}
	}
	if refused := m.refused(s, seats, UserID(c.UserId), old); refused != nil {
		return &Result{Code: CodeSeatUnavailable, Refused: refused}
	}
	live := 0
	for _, b := range m.bookings {
		if b.show == s.id && b.user == UserID(c.UserId) && b.status == StatusPending && b != old {
			live++
		}
	}
	if live >= int(s.spec.MaxHoldsPerUser) {
		return &Result{Code: CodeHoldLimit}
	}
	return m.grant(id, s, seats, old, c)
}

func (m *model) grant(id [16]byte, s *modelShow, seats []SeatIndex, old *modelBooking, c *wire.Hold) *Result {
	b := &modelBooking{
		ref: id, show: s.id, user: UserID(c.UserId), name: c.UserName, contact: contactFromWire(c.Contact), status: StatusPending,
		holdMs: Time(s.spec.HoldSeconds * 1000), policy: s.spec.RefundPolicy, currency: s.spec.Currency, created: m.now,
		firstHeld: m.now,
	}
	b.expires = m.now + b.holdMs
	if old != nil {
		b.firstHeld = old.firstHeld
		if b.expires = min(b.expires, b.firstHeld+3*b.holdMs); b.expires <= m.now {
			return &Result{Code: CodeExtendLimit}
		}
		m.end(old, StatusReleased)
	}
	for _, seat := range seats {
		tier := s.layout.Tier(seat)
		b.seats = append(b.seats, modelSeat{
			seat: seat, label: s.layout.Label(seat), tier: s.layout.Wire().Tiers[tier].Name, price: s.prices[tier],
		})
	}
	m.bookings = append(m.bookings, b)
	m.remember(c, b.ref)
	return &Result{Created: true, Booking: b.view(m.now)}
}

func (m *model) end(b *modelBooking, status BookingStatus) {
	b.status, b.endedFrom, b.endedUpTo = status, m.now, m.now
}

func (m *model) remember(c *wire.Hold, ref BookingRef) {
	if len(c.IdempotencyKey) > 0 {
		m.keys[digest16(c.IdempotencyKey)] = modelKey{digest16(c.Fingerprint), ref, m.now}
	}
}

func (b *modelBooking) remaining() (seats []SeatIndex) {
	for _, s := range b.seats {
		if !s.gone {
			seats = append(seats, s.seat)
		}
	}
	return seats
}

// resolveLabels gives the seats in order; nil when there is none, one is unknown or one comes twice.
func resolveLabels(layout *Layout, labels []string, ids []uint32) (seats []SeatIndex) {
	if len(labels) > 0 && len(ids) > 0 {
		return nil
	}
	for _, label := range labels {
		seat, ok := layout.Find(label)
		if !ok || slices.Contains(seats, seat) {
			return nil
		}
		seats = append(seats, seat)
	}
	for _, id := range ids {
		if id < 1 || int(id) > layout.Seats() || slices.Contains(seats, SeatIndex(id-1)) {
			return nil
		}
		seats = append(seats, SeatIndex(id-1))
	}
	slices.Sort(seats)
	return seats
}

func (m *model) refused(s *modelShow, seats []SeatIndex, who UserID, old *modelBooking) (refused []RefusedSeat) {
	for _, seat := range seats {
		r := RefusedSeat{Seat: seat, Label: s.layout.Label(seat), Status: m.seatStatus(s, seat)}
		b := m.owner(s.id, seat)
		if r.Status == SeatAvailable || (b != nil && b == old) {
			continue
		}
		if r.Status == SeatHeld {
			if r.FreeAt = b.expires; b.user == who {
				r.Mine = b.ref
			}
		}
		refused = append(refused, r)
	}
	return refused
}
