package fsm

import (
	"bytes"
	"fmt"

	"github.com/houseful/houseful/fsm/wire"
)

// status is whether the show sells at a time.
func (s *show) status(now Time) ShowStatus {
	spec := s.definition.Spec
	switch {
	case s.control == controlCancelled:
		return ShowCancelled
	case s.control == controlClosed || now >= Time(spec.SalesCloseAtMs) || now >= s.definition.leaves():
		return ShowClosed
	case s.control == controlPaused:
		return ShowPaused
	case now < Time(spec.SalesOpenAtMs):
		return ShowNotOpen
	}
	return ShowOnSale
}

// putShow creates a show (M-2), or replaces what may be replaced. The same specification again changes nothing.
func (m *Machine) putShow(c *wire.PutShow) *Result {
	if c.ShowId == "" {
		return m.invalid("id", "a show needs an id")
	}
	definition, err := copyDefinition(c.Definition)
	if err != nil {
		return m.invalid("", err.Error())
	}
	place, exists := m.showByID[ShowID(c.ShowId)]
	if !exists && m.shows.count >= ShowsMax {
		return m.refuse(CodeFull)
	}
	if !exists {
		place = m.createShow(ShowID(c.ShowId), definition)
		return &Result{Created: true, Show: m.showView(m.shows.get(place), m.now)}
	}
	s := m.shows.get(place)
	old := s.definition
	switch {
	case bytes.Equal(appendSpec(nil, old.Spec), appendSpec(nil, definition.Spec)):
		return &Result{Show: m.showView(s, m.now)}
	case s.control == controlCancelled:
		return m.refuse(CodeSaleClosed)
	case SameSale(old.Spec, definition.Spec):
		// Prices were computed when they were last named (M-7), and a changed screen never alters a show.
		definition.Layout, definition.TierPrices = old.Layout, old.TierPrices
		m.redefine(place, definition)
	default:
		m.expireDue(PulseWorkMax)
		if counts := m.shows.get(place).counts; counts.Held+counts.Booked > 0 {
			return m.refuse(CodeShowInUse)
		}
		m.refurnish(place, definition)
	}
	return &Result{Show: m.showView(m.shows.get(place), m.now)}
}

// copyDefinition takes a definition out of the log entry, whose bytes must not be kept.
func copyDefinition(definition *wire.ShowDefinition) (*Definition, error) {
	encoded, err := definition.MarshalVT()
	if err != nil {
		return nil, err
	}
	var copied wire.ShowDefinition
	if err := copied.UnmarshalVT(encoded); err != nil {
		return nil, err
	}
	return NewDefinition(&copied)
}

// SameSale reports whether two specifications agree in what decides seats and prices.
func SameSale(a, b *wire.ShowSpec) bool {
	return a.ScreenId == b.ScreenId && a.Currency == b.Currency &&
		bytes.Equal(appendPricing(nil, a.Pricing), appendPricing(nil, b.Pricing))
}

func (m *Machine) createShow(id ShowID, definition *Definition) uint32 {
	id = ShowID(append([]byte(nil), id...))
	m.ref(definition)
	seats := uint32(definition.Layout.Seats())
	revision := m.departed[id] + 1 // above that of an earlier show of this id, which the catalogue may still have
	delete(m.departed, id)
	m.sequence++
	place := m.shows.add(show{
		id: id, definition: definition, revision: revision, layoutVersion: revision, version: 1, seatsSince: 1,
		changedAt: m.now, counts: Counts{Available: seats, Total: seats}, sequence: m.sequence,
	})
	m.showByID[id] = place
	m.seatTotals.Available += seats
	m.seatTotals.Total += seats
	m.browse[place] = struct{}{}
	m.planDeparture(place)
	return place
}

// leaves is when a show and its bookings are let go of.
func (d *Definition) leaves() Time { return Time(d.Spec.EndsAtMs).Add(RetentionAfterShow) }

// redefine gives a show a new definition over the same seats and prices.
func (m *Machine) redefine(place uint32, definition *Definition) {
	s := m.touch(place)
	m.ref(definition)
	m.unref(s.definition)
	moved := definition.leaves() != s.definition.leaves()
	s.definition = definition
	s.revision++
	m.browse[place] = struct{}{}
	if moved {
		m.planDeparture(place)
	}
}

// planDeparture notes when a show leaves. An item for another time goes stale; before there are too many of those
// they are all made anew.
func (m *Machine) planDeparture(place uint32) {
	if len(m.departures.items) > 2*m.shows.count+departuresSlack {
		m.departures.items = nil
		for at, s := range m.shows.view().all() {
			if at != place {
				m.departures.push(dueItem{at: s.definition.leaves(), place: at, order: uint32(s.sequence)})
			}
		}
	}
	s := m.shows.get(place)
	m.departures.push(dueItem{at: s.definition.leaves(), place: place, order: uint32(s.sequence)})
}

// departuresSlack is how many stale items the heap of departures may have beside as many as there are shows.
const departuresSlack = 64

// refurnish gives a show new seats or prices. Nothing is held or booked; a blocked seat stays blocked where the new
// layout has its label.
func (m *Machine) refurnish(place uint32, definition *Definition) {
	s := m.shows.edit(place)
	oldLayout, old := s.definition.Layout, s.seats
	m.ref(definition) // before the old one is let go of: it may share the layout
	m.redefine(place, definition)
	m.unref(definition)
	s = m.shows.edit(place)
	s.layoutVersion = s.revision
	if oldLayout == s.definition.Layout {
		return
	}
	m.uncount(s.counts)
	seats := uint32(s.definition.Layout.Seats())
	s.counts = Counts{Available: seats, Total: seats}
	m.seatTotals.Available += seats
	m.seatTotals.Total += seats
	s.seats, s.seatsSince = nil, s.version
	if old == nil {
		return
	}
	for seat, owner := range old.owner {
		if owner != ownerBlocked {
			continue
		}
		if kept, ok := s.definition.Layout.Find(oldLayout.Label(SeatIndex(seat))); ok {
			m.setBlocked(s, kept, true)
		}
	}
}

func (m *Machine) uncount(c Counts) {
	m.seatTotals.Available -= c.Available
	m.seatTotals.Held -= c.Held
	m.seatTotals.Booked -= c.Booked
	m.seatTotals.Blocked -= c.Blocked
	m.seatTotals.Total -= c.Total
}

// ref counts a use of a definition, and makes its layout the one that all equal layouts share.
func (m *Machine) ref(d *Definition) {
	d.refs++
	if d.refs > 1 {
		return
	}
	if shared, ok := m.layouts[d.Layout.key]; ok {
		d.Layout = shared
	} else {
		m.layouts[d.Layout.key] = d.Layout
	}
	d.Layout.refs++
}

func (m *Machine) unref(d *Definition) {
	if d.refs--; d.refs > 0 {
		return
	}
	if d.Layout.refs--; d.Layout.refs == 0 {
		delete(m.layouts, d.Layout.key)
	}
}

// browseSent notes which revision of a show's browse entry the catalogue has.
func (m *Machine) browseSent(c *wire.BrowseSent) *Result {
	if revision, ok := m.departed[ShowID(c.ShowId)]; ok && c.Revision >= revision {
		delete(m.departed, ShowID(c.ShowId))
	}
	place, ok := m.showByID[ShowID(c.ShowId)]
	if !ok || c.Revision <= m.shows.get(place).browseSent || c.Revision > m.shows.get(place).revision {
		return &Result{}
	}
	s := m.shows.edit(place)
	if s.browseSent = c.Revision; s.browseSent == s.revision {
		delete(m.browse, place)
	}
	return &Result{}
}

// block takes seats out of the sale, or puts them back; all or none. What is as wanted already is left alone.
func (m *Machine) block(c *wire.Block) *Result {
	place, ok := m.showByID[ShowID(c.ShowId)]
	if !ok {
		return m.refuse(CodeShowNotFound)
	}
	seats, refusal := m.resolveSeats(m.shows.get(place).definition.Layout, c.Labels, c.SeatIds)
	if refusal != nil {
		return refusal
	}
	var refused []RefusedSeat
	for _, seat := range seats {
		if r, taken := m.refusal(place, seat, "", 0); taken && r.Status != SeatBlocked {
			refused = append(refused, r)
		}
	}
	if refused != nil {
		return &Result{Code: CodeSeatUnavailable, Refused: refused}
	}
	var changing []SeatIndex
	s := m.shows.get(place)
	for _, seat := range seats {
		if blocked := s.seats != nil && s.seats.owner[seat] == ownerBlocked; blocked == c.Unblock {
			changing = append(changing, seat)
		}
	}
	if len(changing) > 0 {
		s = m.touch(place)
		for _, seat := range changing {
			m.setBlocked(s, seat, !c.Unblock)
		}
	}
	return &Result{Show: m.showView(m.shows.get(place), m.now)}
}

// setBlocked blocks an available seat or frees a blocked one, in a show that is being changed.
func (m *Machine) setBlocked(s *show, seat SeatIndex, blocked bool) {
	seats := m.ownSeats(s)
	from, to, owner := SeatAvailable, SeatBlocked, uint32(ownerBlocked)
	if !blocked {
		from, to, owner = SeatBlocked, SeatAvailable, ownerNone
	}
	seats.owner[seat] = owner
	seats.mark(seat, s.version)
	m.count(s, from, to, 1)
}

// controlShow pauses, resumes, closes or cancels a show's sale. Repeats change nothing; a cancelled show stays so.
func (m *Machine) controlShow(c *wire.ControlShow) *Result {
	place, ok := m.showByID[ShowID(c.ShowId)]
	if !ok {
		return m.refuse(CodeShowNotFound)
	}
	var want control
	switch c.Action {
	case wire.ShowAction_SHOW_ACTION_PAUSE:
		want = controlPaused
	case wire.ShowAction_SHOW_ACTION_RESUME:
		want = controlSelling
	case wire.ShowAction_SHOW_ACTION_CLOSE:
		want = controlClosed
	case wire.ShowAction_SHOW_ACTION_CANCEL:
		want = controlCancelled
	default:
		return m.invalid("action", fmt.Sprintf("unknown action %d", c.Action))
	}
	s := m.shows.get(place)
	switch {
	case s.control == want:
	case s.control == controlCancelled:
		return m.refuse(CodeSaleClosed)
	default:
		s = m.touch(place)
		s.control = want
		if want == controlCancelled {
			s.cancelNext = s.newest
			m.cancelling = append(m.cancelling, place)
			m.cancelStep(CancelWorkMax)
		}
	}
	return &Result{Show: m.showView(m.shows.get(place), m.now)}
}
