package fsm

import (
	"slices"
	"strings"
)

// insert puts a new booking into every index.
func (m *Machine) insert(b booking) uint32 {
	place := m.bookings.add(b)
	m.byRef.add(m.byRef.hashBytes(b.ref[:]), place)
	m.link(place)
	return place
}

// link puts a booking at the head of its show's and its user's list.
func (m *Machine) link(place uint32) {
	b := m.bookings.edit(place)
	s := m.shows.edit(b.show)
	if b.older = s.newest; b.older != 0 {
		m.bookings.edit(b.older - 1).newer = place + 1
	}
	s.newest = place + 1
	u := m.users.edit(b.user)
	u.count++
	if m.bookings.edit(place).userOlder = u.newest; u.newest != 0 {
		m.bookings.edit(u.newest - 1).userNewer = place + 1
	}
	u.newest = place + 1
}

// drop lets go of an ended booking: out of every index and list.
func (m *Machine) drop(place uint32) {
	b := *m.bookings.get(place)
	assert(b.status != StatusPending, "a live hold was let go of")
	if b.older != 0 {
		m.bookings.edit(b.older - 1).newer = b.newer
	}
	if b.newer != 0 {
		m.bookings.edit(b.newer - 1).older = b.older
	} else {
		m.shows.edit(b.show).newest = b.older
	}
	if b.userOlder != 0 {
		m.bookings.edit(b.userOlder - 1).userNewer = b.userNewer
	}
	u := m.users.edit(b.user)
	if b.userNewer != 0 {
		m.bookings.edit(b.userNewer - 1).userOlder = b.userOlder
	} else {
		u.newest = b.userOlder
	}
	if u.count--; u.count == 0 {
		m.userByID.remove(m.userByID.hashText(string(u.id)), b.user)
		m.users.remove(b.user)
	}
	if b.status != StatusConfirmed && !b.paid() {
		m.endedUnpaid--
	}
	m.byRef.remove(m.byRef.hashBytes(b.ref[:]), place)
	m.unref(b.definition)
	m.bookings.remove(place)
}

// internUser gives the place of a user, new or known.
func (m *Machine) internUser(id UserID) uint32 {
	place, ok := m.findUser(id)
	if !ok {
		id = UserID(strings.Clone(string(id)))
		place = m.users.add(user{id: id})
		m.userByID.add(m.userByID.hashText(string(id)), place)
	}
	return place
}

// touch notes a change of a show and gives its new version.
func (m *Machine) touch(place uint32) *show {
	s := m.shows.edit(place)
	s.version++
	s.changedAt = m.now
	return s
}

// ownSeats gives the show's seats to write, parted from any view.
func (m *Machine) ownSeats(s *show) *seatMap {
	if s.seats == nil {
		s.seats = newSeatMap(s.definition.Layout.Seats(), s.seatsSince, m.captures.epoch)
	}
	if s.seats.epoch != m.captures.epoch {
		if m.captures.shared(s.seats.epoch) {
			s.seats = s.seats.clone(m.captures.epoch)
		}
		s.seats.epoch = m.captures.epoch
	}
	return s.seats
}

// take gives a new booking its seats, which are all available.
func (m *Machine) take(place uint32, status SeatStatus) {
	b := m.bookings.edit(place)
	s := m.touch(b.show)
	seats := m.ownSeats(s)
	for _, seat := range b.seats {
		assert(seats.owner[seat] == ownerNone, "a seat was given away twice")
		seats.owner[seat] = place + ownerBooking
		seats.mark(seat, s.version)
	}
	b.showVersion = s.version
	m.count(s, SeatAvailable, status, len(b.seats))
}

// count moves seats of a show from one status to another (M-33).
func (m *Machine) count(s *show, from, to SeatStatus, seats int) {
	for _, counts := range []*Counts{&s.counts, &m.seatTotals} {
		*counts.of(from) -= uint32(seats)
		*counts.of(to) += uint32(seats)
	}
}

// of gives the counter of a status.
func (c *Counts) of(status SeatStatus) *uint32 {
	return [...]*uint32{&c.Available, &c.Held, &c.Booked, &c.Blocked}[status]
}

// change notes a change of a booking, and with it of its show.
func (m *Machine) change(place uint32) (*booking, *show) {
	b := m.bookings.edit(place)
	s := m.touch(b.show)
	b.version++
	b.updatedAt = m.now
	b.showVersion = s.version
	return b, s
}

// end ends a booking in a state and frees the seats it still has.
func (m *Machine) end(place uint32, status BookingStatus) {
	b, s := m.change(place)
	from := SeatHeld
	if b.status == StatusConfirmed {
		from = SeatBooked
	} else {
		m.unhold(b)
	}
	b.status = status
	freed := 0
	seats := m.ownSeats(s)
	for i, seat := range b.seats {
		if b.remains(i) {
			assert(seats.owner[seat] == place+ownerBooking, "a booking freed a seat of another")
			seats.owner[seat] = ownerNone
			seats.mark(seat, s.version)
			freed++
		}
	}
	m.count(s, from, SeatAvailable, freed)
	if !b.paid() {
		m.endedUnpaid++
		m.endedByAge.push(queued{at: m.now, sequence: b.sequence, place: place})
	}
}

// countHold counts a new pending booking for its user (M-12). Most users hold in one show at a time: that count stands with
// the user, and only further shows cost an entry in a map.
func (m *Machine) countHold(show, who uint32) {
	m.pending++
	if u := m.users.edit(who); u.held == 0 || u.heldShow == show {
		u.heldShow = show
		u.held++
		return
	}
	m.holders[holder{show, who}]++
}

// unhold takes a pending booking out of its user's count of live holds.
func (m *Machine) unhold(b *booking) {
	m.pending--
	if u := m.users.edit(b.user); u.held > 0 && u.heldShow == b.show {
		u.held--
		return
	}
	key := holder{b.show, b.user}
	left := m.holders[key]
	assert(left > 0, "a hold ended that was not counted")
	if left == 1 {
		delete(m.holders, key)
	} else {
		m.holders[key] = left - 1
	}
}

// holds counts a user's pending bookings in a show.
func (m *Machine) holds(show, who uint32) uint32 {
	held := m.holders[holder{show, who}]
	if u := m.users.get(who); u.heldShow == show {
		held += u.held
	}
	return held
}

// expireIfDue ends a hold whose deadline has passed (M-13), and reports whether it did.
func (m *Machine) expireIfDue(place uint32) bool {
	if !m.bookings.get(place).due(m.now) {
		return false
	}
	m.end(place, StatusExpired)
	m.stats.Expiries++
	return true
}

// expireDue ends up to limit holds that are due, the longest overdue first, and gives how many it ended. The order
// is that of the holds' deadlines, never that of stale items: a replica that restored a snapshot has none.
func (m *Machine) expireDue(limit int) int {
	for ended := 0; ended < limit; ended++ {
		m.dropStale()
		if len(m.expiry.items) == 0 || m.expiry.items[0].at > m.now {
			return ended
		}
		place := m.expiry.items[0].place
		m.expiry.pop()
		ok := m.expireIfDue(place)
		assert(ok, "a hold in the expiry heap was not due at its deadline")
	}
	return limit
}

// expireOwn ends holds of a user in a show that are due, looking at up to limit of the user's bookings, newest first.
func (m *Machine) expireOwn(show, who uint32, limit int) {
	for next := m.users.get(who).newest; next != 0 && limit > 0; limit-- {
		place := next - 1
		b := m.bookings.get(place)
		if next = b.userOlder; b.show == show {
			m.expireIfDue(place)
		}
	}
}

// pendingOf reports whether an item of the expiry heap still stands for the live hold it was made for.
func (m *Machine) pendingOf(item dueItem) bool {
	if !m.bookings.holds(item.place) {
		return false
	}
	b := m.bookings.get(item.place)
	return b.status == StatusPending && uint32(b.sequence) == item.order
}

// dropStale clears the head of the expiry heap of holds that have ended, and moves one that was extended to its
// deadline, so that the head is real work. Every live hold has one item.
func (m *Machine) dropStale() {
	if len(m.expiry.items) > 2*m.pending+expirySlack {
		m.expiry.keep(m.pendingOf) // holds given back at once must not fill the heap until their deadlines
	}
	for len(m.expiry.items) > 0 {
		item := m.expiry.items[0]
		if !m.pendingOf(item) {
			m.expiry.pop()
		} else if expires := m.bookings.get(item.place).expiresAt(); expires != item.at {
			m.expiry.postpone(expires)
		} else {
			return
		}
	}
}

// expirySlack is how many stale items the expiry heap may have beside as many as there are live holds.
const expirySlack = 1 << 14

// prolong moves a live hold's deadline to a whole hold from now, up to the end of its longest life, and reports
// whether that was any later.
func (m *Machine) prolong(place uint32) bool {
	b := m.bookings.get(place)
	hold := Time(b.definition.Spec.HoldSeconds) * 1000
	expires := min(m.now+hold, b.firstHeldAt()+HoldLifeFactor*hold)
	if expires <= b.expiresAt() {
		return false
	}
	b, _ = m.change(place)
	b.expires = uint32(expires - b.createdAt) // its item in the expiry heap moves when its turn comes
	return true
}

// total is the price of the seats that remain; of an ended booking, of its last ones.
func (b *booking) total() int64 {
	total := int64(0)
	for i, seat := range b.seats {
		if b.remains(i) {
			total += b.definition.Price(seat)
		}
	}
	return total
}

// seatAt gives the position of a seat in a booking.
func (b *booking) seatAt(seat SeatIndex) (int, bool) { return slices.BinarySearch(b.seats, seat) }
