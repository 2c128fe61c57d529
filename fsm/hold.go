package fsm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/houseful/houseful/fsm/wire"
)

// hold takes seats for a user, all or none (M-10, M-11). Everything is checked before anything is written, so there
// is nothing to roll back. What is due is expired on the way (M-13): that stands whatever the answer.
func (m *Machine) hold(ref BookingRef, c *wire.Hold) *Result {
	place, ok := m.showByID[ShowID(c.ShowId)]
	if !ok {
		return m.refuse(CodeShowNotFound)
	}
	if replay := m.replay(c); replay != nil {
		return replay
	}
	s := m.shows.get(place)
	if refusal := m.saleRefusal(s); refusal != nil {
		return refusal
	}
	if c.UserId == "" {
		return m.invalid("userId", "is needed")
	}
	seats, refusal := m.resolveSeats(s.definition.Layout, c.Labels, c.SeatIds)
	if refusal != nil {
		return refusal
	}
	if limit := int(s.definition.Spec.MaxSeatsPerBooking); len(seats) > limit {
		return m.invalid("seats", fmt.Sprintf("%d seats; this show sells at most %d a booking", len(seats), limit))
	}
	if _, taken := m.findBooking(ref); taken || ref.IsZero() || ref.Shard() != m.shard {
		return m.invalid("id", "the hold's id is not a new booking reference of this shard")
	}

	old, refusal := m.replaced(place, c)
	if refusal != nil {
		return refusal
	}
	if own := m.sameHold(place, UserID(c.UserId), seats); own != 0 && (old == 0 || own == old) {
		return m.extendOwn(own-1, c)
	}
	if refused := m.unavailable(place, seats, UserID(c.UserId), old); refused != nil {
		m.stats.Conflicts++
		return &Result{Code: CodeSeatUnavailable, Refused: refused}
	}
	if !m.mayHold(place, UserID(c.UserId), old) {
		return m.refuse(CodeHoldLimit)
	}
	return m.grant(ref, place, seats, old, c)
}

// replay gives the booking that the same idempotency key made, or the refusal of a key used for another body
// (M-16); nil when the key is new, or its booking has been let go of.
func (m *Machine) replay(c *wire.Hold) *Result {
	if len(c.IdempotencyKey) == 0 {
		return nil
	}
	known, place, ok := m.findKey(digest16(c.IdempotencyKey), m.now)
	switch {
	case !ok:
		return nil
	case known.fingerprint != digest16(c.Fingerprint):
		return m.refuse(CodeIdempotencyKeyReused)
	}
	return &Result{Created: true, Replayed: true, Booking: m.bookingView(m.bookings.get(place), m.now)}
}

// saleRefusal says why a show does not sell now; nil when it does.
func (m *Machine) saleRefusal(s *show) *Result {
	switch s.status(m.now) {
	case ShowNotOpen:
		return &Result{Code: CodeSaleNotOpen, At: Time(s.definition.Spec.SalesOpenAtMs)}
	case ShowPaused:
		return m.refuse(CodeSalePaused)
	case ShowClosed, ShowCancelled:
		return m.refuse(CodeSaleClosed)
	}
	return nil
}

// resolveSeats turns labels or ids into seats in canonical order: ascending, none twice.
func (m *Machine) resolveSeats(layout *Layout, labels []string, ids []uint32) ([]SeatIndex, *Result) {
	field := "seats"
	if len(ids) > 0 {
		field = "seatIds"
	}
	switch {
	case len(labels) > 0 && len(ids) > 0:
		return nil, m.invalid("seats", "give seats or seatIds, not both")
	case len(labels)+len(ids) == 0:
		return nil, m.invalid("seats", "name at least one seat")
	case len(labels)+len(ids) > SeatsPerScreenMax:
		return nil, m.invalid(field, "more seats than any screen has")
	}
	seats := make([]SeatIndex, 0, len(labels)+len(ids))
	for _, label := range labels {
		seat, ok := layout.Find(label)
		if !ok {
			return nil, m.invalid(field, fmt.Sprintf("there is no seat %q in this show", label))
		}
		seats = append(seats, seat)
	}
	for _, id := range ids {
		if id < 1 || int(id) > layout.Seats() {
			return nil, m.invalid(field, fmt.Sprintf("there is no seat %d in this show; it has 1 to %d", id, layout.Seats()))
		}
		seats = append(seats, SeatIndex(id-1))
	}
	slices.Sort(seats)
	for i := 1; i < len(seats); i++ {
		if seats[i] == seats[i-1] {
			return nil, m.invalid(field, fmt.Sprintf("seat %s is named twice", layout.Label(seats[i])))
		}
	}
	return seats, nil
}

// replaced finds the hold that is to be swapped for the new one, as its place + 1; 0 when none is named. It must be
// the user's own live hold in the same show.
func (m *Machine) replaced(show uint32, c *wire.Hold) (uint32, *Result) {
	if len(c.Replace) == 0 {
		return 0, nil
	}
	place, ok := m.findBooking(refFromBytes(c.Replace))
	if !ok {
		return 0, m.refuse(CodeBookingNotFound)
	}
	b := m.bookings.get(place)
	switch {
	case m.users.get(b.user).id != UserID(c.UserId):
		return 0, m.refuse(CodeBookingState) // without the booking: it is none of the caller's business
	case b.show != show || !b.live(m.now):
		m.expireIfDue(place)
		return 0, &Result{Code: CodeBookingState, Booking: m.bookingView(m.bookings.get(place), m.now)}
	}
	return place + 1, nil
}

// sameHold finds the user's live hold of exactly these seats, as its place + 1.
func (m *Machine) sameHold(show uint32, who UserID, seats []SeatIndex) uint32 {
	s := m.shows.get(show)
	if s.seats == nil || s.seats.owner[seats[0]] < ownerBooking {
		return 0
	}
	place := s.seats.owner[seats[0]] - ownerBooking
	b := m.bookings.get(place)
	if !b.live(m.now) || m.users.get(b.user).id != who {
		return 0
	}
	held := 0
	for i, seat := range b.seats {
		if !b.remains(i) {
			continue
		}
		if held == len(seats) || seats[held] != seat {
			return 0
		}
		held++
	}
	if held != len(seats) {
		return 0
	}
	return place + 1
}

// extendOwn answers a hold for exactly the seats that the user holds already: it lives longer, up to its cap (M-15).
func (m *Machine) extendOwn(place uint32, c *wire.Hold) *Result {
	m.prolong(place)
	m.stats.HoldsExtended++
	b := m.bookings.get(place)
	m.remember(c, b.ref)
	return &Result{Booking: m.bookingView(b, m.now)}
}

// unavailable lists the seats that cannot be had, after expiring whatever is due among their holders. Seats of the
// hold to be replaced (old, place + 1) can be had.
func (m *Machine) unavailable(show uint32, seats []SeatIndex, who UserID, old uint32) []RefusedSeat {
	var refused []RefusedSeat
	for _, seat := range seats {
		if r, ok := m.refusal(show, seat, who, old); ok {
			refused = append(refused, r)
		}
	}
	return refused
}

func (m *Machine) refusal(show uint32, seat SeatIndex, who UserID, old uint32) (RefusedSeat, bool) {
	s := m.shows.get(show)
	if s.seats == nil {
		return RefusedSeat{}, false
	}
	owner := s.seats.owner[seat]
	if owner == ownerNone {
		return RefusedSeat{}, false
	}
	refused := RefusedSeat{Seat: seat, Label: s.definition.Layout.Label(seat)}
	if owner == ownerBlocked {
		refused.Status = SeatBlocked
		return refused, true
	}
	place := owner - ownerBooking
	if m.expireIfDue(place) || old == place+1 {
		return RefusedSeat{}, false
	}
	b := m.bookings.get(place)
	if b.status == StatusConfirmed {
		refused.Status = SeatBooked
		return refused, true
	}
	refused.Status, refused.FreeAt = SeatHeld, b.expiresAt()
	if m.users.get(b.user).id == who {
		refused.Mine = b.ref
	}
	return refused, true
}

// mayHold checks the bound on a user's live holds in a show (M-12). Holds that are due do not count.
func (m *Machine) mayHold(show uint32, who UserID, old uint32) bool {
	place, known := m.findUser(who)
	if !known {
		return true
	}
	limit := m.shows.get(show).definition.Spec.MaxHoldsPerUser
	if old != 0 {
		limit++ // the old hold leaves in the same step
	}
	if m.holds(show, place) < limit {
		return true
	}
	m.expireOwn(show, place, PulseWorkMax)
	m.expireDue(PulseWorkMax)
	return m.holds(show, place) < limit
}

// grant writes the hold, unless the one it replaces has lived its longest. Nothing is refused after that.
func (m *Machine) grant(ref BookingRef, place uint32, seats []SeatIndex, old uint32, c *wire.Hold) *Result {
	s := m.shows.get(place)
	hold := Time(s.definition.Spec.HoldSeconds) * 1000
	firstHeld, expires := m.now, m.now+hold
	if old != 0 {
		firstHeld = m.bookings.get(old - 1).firstHeldAt()
		expires = min(expires, firstHeld+HoldLifeFactor*hold)
		if expires <= m.now {
			return m.refuse(CodeExtendLimit)
		}
		m.end(old-1, StatusReleased)
		m.stats.Releases++
	}
	m.sequence++
	who := m.internUser(UserID(c.UserId))
	b := booking{
		ref: ref, definition: s.definition, seats: seats, createdAt: m.now, updatedAt: m.now, sequence: m.sequence,
		firstHeld: int32(m.now - firstHeld), expires: uint32(expires - m.now), show: place, user: who, version: 1,
		status: StatusPending,
	}
	m.ref(b.definition)
	if contact := contactFromWire(c.Contact); c.UserName != "" || contact != (Contact{}) {
		b.extra = &extra{userName: strings.Clone(c.UserName), contact: contact.clone()}
	}
	at := m.insert(b)
	m.take(at, SeatHeld)
	m.countHold(place, who)
	m.expiry.push(dueItem{at: expires, place: at, order: uint32(b.sequence)})
	m.remember(c, ref)
	m.stats.Holds++
	r := m.done(at)
	r.Created = true
	return r
}

// remember keeps what an idempotency key made. Only successes are kept.
func (m *Machine) remember(c *wire.Hold, ref BookingRef) {
	if len(c.IdempotencyKey) == 0 {
		return
	}
	key := digest16(c.IdempotencyKey)
	if m.idempotent.len() >= IdempotencyKeysMax {
		m.forgetKey()
	}
	m.idempotentBy[key] = m.idempotent.push(idempotent{
		key: key, fingerprint: digest16(c.Fingerprint), booking: ref, at: m.now,
	})
}

// forgetKey drops the oldest idempotency key, unless a newer use of the same key has taken its place in the index.
func (m *Machine) forgetKey() {
	oldest := m.idempotent.head
	if key := m.idempotent.at(oldest).key; m.idempotentBy[key] == oldest {
		delete(m.idempotentBy, key)
	}
	m.idempotent.pop()
}

// over reports whether a key is past its life.
func (i *idempotent) over(now Time) bool { return now >= i.at.Add(IdempotencyLife) }

// findKey gives what is known of a key, and the place of the booking it made.
func (m *Machine) findKey(key [16]byte, now Time) (known *idempotent, place uint32, ok bool) {
	position, ok := m.idempotentBy[key]
	if !ok {
		return nil, 0, false
	}
	known = m.idempotent.at(position)
	place, ok = m.findBooking(known.booking)
	return known, place, ok && !known.over(now)
}

// findByKey answers which booking a key made, and from when on a "none" is final: no command that was under way when
// this was asked can be applied after that.
func (m *Machine) findByKey(c *wire.FindByKey) *Result {
	if _, ok := m.showByID[ShowID(c.ShowId)]; !ok {
		return m.refuse(CodeShowNotFound)
	}
	if b, ok := m.ByIdempotencyKey(ShowID(c.ShowId), digest16(c.IdempotencyKey), m.now); ok {
		return &Result{Booking: b}
	}
	return &Result{Code: CodeBookingNotFound, At: m.now.Add(CommandLifeMax) + 1}
}

func (m *Machine) invalid(field, reason string) *Result {
	return &Result{Code: CodeInvalid, Field: field, Reason: reason, Now: m.now}
}

// digest16 takes a 16-byte digest out of a command; shorter ones are padded with zeros.
func digest16(b []byte) (digest [16]byte) {
	copy(digest[:], b)
	return digest
}
