package fsm

import "time"

// pulse does what needs no client (M-13): it ends holds that are due and goes on with long work, a bounded piece at
// a time. There is always a next pulse while NextExpiry says so.
func (m *Machine) pulse() {
	work := m.expireDue(PulseWorkMax)
	work += m.cancelStep(PulseWorkMax - work)
	work += m.forgetEnded(PulseWorkMax - work)
	work += m.departShows(PulseWorkMax - work)
	m.forgetClaims(PulseWorkMax - work)
	m.forget(16 * PulseWorkMax)
}

// answersPause is how long past their time answers wait for the next one, so that a burst of them is let go of in a
// few pulses.
const answersPause = time.Second

// NextExpiry says when a pulse has work; ok is false when there is none to come.
func (m *Machine) NextExpiry() (at Time, ok bool) {
	earliest := func(t Time) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if len(m.expiry.items) > 0 {
		earliest(m.expiry.items[0].at)
	}
	if len(m.cancelling) > 0 || m.endedUnpaid > EndedBookingsMax {
		earliest(m.now)
	}
	if m.endedByAge.len() > 0 {
		earliest(m.endedByAge.at(m.endedByAge.head).at.Add(EndedBookingLife))
	}
	if len(m.departures.items) > 0 {
		earliest(m.departures.items[0].at)
	}
	if m.claimsByAge.len() > 0 {
		earliest(m.claimsByAge.at(m.claimsByAge.head).at.Add(ClaimLife))
	}
	if m.answers.len() > 0 {
		earliest(m.answers.at(m.answers.head).notAfter.Add(answersPause))
	}
	if m.idempotent.len() > 0 {
		earliest(m.idempotent.at(m.idempotent.head).at.Add(IdempotencyLife))
	}
	return at, ok
}

// cancelStep ends up to limit bookings of shows that are being cancelled, with the whole money back, and gives how
// many it looked at.
func (m *Machine) cancelStep(limit int) int {
	looked := 0
	for looked < limit && len(m.cancelling) > 0 {
		place := m.cancelling[0]
		next := m.shows.get(place).cancelNext
		if next == 0 {
			m.cancelling = append([]uint32(nil), m.cancelling[1:]...)
			continue
		}
		looked++
		b := m.bookings.get(next - 1)
		m.shows.edit(place).cancelNext = b.older
		switch {
		case b.due(m.now):
			m.expireIfDue(next - 1)
		case b.status == StatusPending || b.status == StatusConfirmed:
			m.giveBack(next-1, nil, 100)
		}
	}
	return looked
}

// forgetEnded lets go of up to limit ended bookings that nobody paid for, past their life or above the limit, and
// gives how many. Only what is dropped counts: stale items differ between a replica that restored and one that did not.
func (m *Machine) forgetEnded(limit int) int {
	dropped := 0
	for dropped < limit && m.endedByAge.len() > 0 {
		oldest := *m.endedByAge.at(m.endedByAge.head)
		if m.now < oldest.at.Add(EndedBookingLife) && m.endedUnpaid <= EndedBookingsMax {
			break
		}
		m.endedByAge.pop()
		if m.waits(oldest) {
			m.unplanCancel(oldest.place)
			m.drop(oldest.place)
			dropped++
		}
	}
	return dropped
}

// waits reports whether a queued booking is still there, and still unpaid.
func (m *Machine) waits(q queued) bool {
	return m.bookings.holds(q.place) && m.bookings.get(q.place).sequence == q.sequence && !m.bookings.get(q.place).paid()
}

// unplanCancel moves a cancelling show's next step past a booking that leaves.
func (m *Machine) unplanCancel(place uint32) {
	b := m.bookings.get(place)
	if m.shows.get(b.show).cancelNext == place+1 {
		m.shows.edit(b.show).cancelNext = b.older
	}
}

// departShows lets go of shows whose retention is over, bookings first, and gives how many bookings it dropped.
func (m *Machine) departShows(limit int) int {
	dropped := 0
	for dropped < limit && len(m.departures.items) > 0 {
		item := m.departures.items[0]
		if !m.departing(item) {
			m.departures.pop()
			continue
		}
		if item.at > m.now {
			break
		}
		s := m.shows.get(item.place)
		for s.newest != 0 && dropped < limit {
			place := s.newest - 1
			m.unplanCancel(place)
			switch m.bookings.get(place).status { // the show may stay for another step: its seats must not point to nothing
			case StatusPending:
				m.end(place, StatusExpired) // its deadline was months ago
			case StatusConfirmed:
				m.end(place, StatusCancelled)
			}
			m.drop(place)
			dropped++
			s = m.shows.get(item.place)
		}
		if s.newest == 0 {
			m.departures.pop()
			m.dropShow(item.place)
			dropped++
		}
	}
	return dropped
}

// departing reports whether an item is a show's current time to leave.
func (m *Machine) departing(item dueItem) bool {
	return m.shows.holds(item.place) && uint32(m.shows.get(item.place).sequence) == item.order &&
		m.shows.get(item.place).definition.leaves() == item.at
}

func (m *Machine) dropShow(place uint32) {
	s := *m.shows.get(place)
	m.uncount(s.counts)
	m.unref(s.definition)
	delete(m.showByID, s.id)
	delete(m.browse, place)
	m.departed[s.id] = s.revision + 1
	for i, cancelling := range m.cancelling {
		if cancelling == place {
			m.cancelling = append(append([]uint32(nil), m.cancelling[:i]...), m.cancelling[i+1:]...)
			break
		}
	}
	m.shows.remove(place)
}
