package fsm

import (
	"math"
	"slices"

	"github.com/houseful/houseful/fsm/wire"
)

// The reads of a machine. Whoever calls one keeps it apart from Apply; everything returned is a copy or immutable.
// now is the reader's clock: what is due by then is shown as ended, though the log has not said so yet.

// Show gives a show.
func (m *Machine) Show(id ShowID, now Time) (Show, bool) {
	place, ok := m.showByID[id]
	if !ok {
		return Show{}, false
	}
	return *m.showView(m.shows.get(place), max(now, m.now)), true
}

// ShowVersion gives a show's version.
func (m *Machine) ShowVersion(id ShowID) (uint64, bool) {
	place, ok := m.showByID[id]
	if !ok {
		return 0, false
	}
	return m.shows.get(place).version, true
}

func (m *Machine) showView(s *show, now Time) *Show {
	return &Show{
		ID: s.id, Definition: s.definition, Status: s.status(now), Revision: s.revision, LayoutVersion: s.layoutVersion,
		Version: s.version, AsOf: s.changedAt, Counts: s.counts,
	}
}

// SeatStatuses appends one status a seat to dst, in layout order, as the log has them.
func (m *Machine) SeatStatuses(id ShowID, now Time, dst []SeatStatus) ([]SeatStatus, Show, bool) {
	place, ok := m.showByID[id]
	if !ok {
		return dst, Show{}, false
	}
	s := m.shows.get(place)
	n := s.definition.Layout.Seats()
	dst = slices.Grow(dst, n)
	for seat := range n {
		dst = append(dst, m.seatStatus(s, SeatIndex(seat)))
	}
	return dst, *m.showView(s, max(now, m.now)), true
}

func (m *Machine) seatStatus(s *show, seat SeatIndex) SeatStatus {
	if s.seats == nil {
		return SeatAvailable
	}
	switch owner := s.seats.owner[seat]; owner {
	case ownerNone:
		return SeatAvailable
	case ownerBlocked:
		return SeatBlocked
	default:
		if m.bookings.get(owner-ownerBooking).status == StatusConfirmed {
			return SeatBooked
		}
		return SeatHeld
	}
}

// SeatChange is a seat with the status it has now.
type SeatChange struct {
	Seat   SeatIndex
	Status SeatStatus
}

// SeatChanges appends the seats that changed after version since, in layout order. complete is false when since is
// too old, or not a past version of this show; then dst is unchanged, and only the whole map tells.
func (m *Machine) SeatChanges(id ShowID, now Time, since uint64, dst []SeatChange) (changes []SeatChange, view Show, complete, ok bool) {
	place, ok := m.showByID[id]
	if !ok {
		return dst, Show{}, false, false
	}
	s := m.shows.get(place)
	view = *m.showView(s, max(now, m.now))
	if since < s.seatsSince || since > s.version || (s.seats != nil && since < s.seats.base) {
		return dst, view, false, true
	}
	if s.seats == nil || since == s.version {
		return dst, view, true, true
	}
	for seat := range s.seats.owner {
		if s.seats.changedAt(SeatIndex(seat)) > since {
			dst = append(dst, SeatChange{SeatIndex(seat), m.seatStatus(s, SeatIndex(seat))})
		}
	}
	return dst, view, true, true
}

// Booking gives a booking.
func (m *Machine) Booking(ref BookingRef, now Time) (*Booking, bool) {
	place, ok := m.findBooking(ref)
	if !ok {
		return nil, false
	}
	return m.bookingView(m.bookings.get(place), max(now, m.now)), true
}

// ByIdempotencyKey gives the booking that a client's key made.
func (m *Machine) ByIdempotencyKey(_ ShowID, key [16]byte, now Time) (*Booking, bool) {
	_, place, ok := m.findKey(key, max(now, m.now))
	if !ok {
		return nil, false
	}
	return m.bookingView(m.bookings.get(place), max(now, m.now)), true
}

func (m *Machine) readBooking(c *wire.ReadBooking) *Result {
	b, ok := m.Booking(refFromBytes(c.Booking), m.now)
	if !ok {
		return m.refuse(CodeBookingNotFound)
	}
	return &Result{Booking: b}
}

// BookingFilter selects bookings of a user or of a show, or of both; one of them is needed.
type BookingFilter struct {
	User   UserID
	Show   ShowID
	Status BookingStatus   // StatusNone: any
	Before BookingPosition // zero: from the newest
	Limit  int             // at most ListMax
}

// BookingPosition is a place in the order of bookings.
type BookingPosition struct {
	CreatedAt Time
	Shard     uint16
	Sequence  uint64
}

// Precedes reports whether a booking at p is listed before one at q: newest first.
func (p BookingPosition) Precedes(q BookingPosition) bool {
	if p.CreatedAt != q.CreatedAt {
		return p.CreatedAt > q.CreatedAt
	}
	if p.Shard != q.Shard {
		return p.Shard > q.Shard
	}
	return p.Sequence > q.Sequence
}

// Position gives a booking's place in the order of bookings.
func (b *Booking) Position() BookingPosition {
	return BookingPosition{CreatedAt: b.CreatedAt, Shard: b.Ref.Shard(), Sequence: b.Sequence}
}

// Bookings lists bookings after filter.Before, newest first.
func (m *Machine) Bookings(filter BookingFilter, now Time) []*Booking {
	now = max(now, m.now)
	limit := min(filter.Limit, ListMax)
	var found []*Booking
	for next := m.listHead(filter); next != 0 && len(found) < limit; {
		b := m.bookings.get(next - 1)
		if next = b.older; filter.User != "" {
			next = b.userOlder
		}
		at := BookingPosition{CreatedAt: b.createdAt, Shard: m.shard, Sequence: b.sequence}
		if filter.Before != (BookingPosition{}) && !filter.Before.Precedes(at) {
			continue
		}
		if filter.User != "" && filter.Show != "" && m.shows.get(b.show).id != filter.Show {
			continue
		}
		if filter.Status != StatusNone && b.statusAt(now) != filter.Status {
			continue
		}
		found = append(found, m.bookingView(b, now))
	}
	return found
}

// listHead gives the newest booking of the filter's user, or else of its show, as its place + 1.
func (m *Machine) listHead(filter BookingFilter) uint32 {
	if filter.User != "" {
		if place, ok := m.findUser(filter.User); ok {
			return m.users.get(place).newest
		}
		return 0
	}
	if place, ok := m.showByID[filter.Show]; ok {
		return m.shows.get(place).newest
	}
	return 0
}

// statusAt is the booking's state at a time: a hold past its deadline is expired before the log says so.
func (b *booking) statusAt(now Time) BookingStatus {
	if b.due(now) {
		return StatusExpired
	}
	return b.status
}

// fewSeats is how many seats most bookings have.
const fewSeats = 2

// bookingResult is a result with its booking and few seats, which are needed together.
type bookingResult struct {
	result  Result
	booking Booking
	seats   [fewSeats]BookedSeat
}

// resultsAtOnce is how many results are allocated together. They are let go of together too: answers live for seconds,
// in order, so neighbours die at about the same time.
const resultsAtOnce = 32

func (m *Machine) newResult() *bookingResult {
	if len(m.results) == 0 {
		m.results = make([]bookingResult, resultsAtOnce)
	}
	r := &m.results[0]
	m.results = m.results[1:]
	return r
}

// done is success with a booking as it is now.
func (m *Machine) done(place uint32) *Result {
	r := m.newResult()
	r.booking.Seats = r.seats[:0:fewSeats]
	m.view(&r.booking, m.bookings.get(place), m.now)
	r.result.Booking = &r.booking
	return &r.result
}

// bookingView copies a booking as it is at a time.
func (m *Machine) bookingView(b *booking, now Time) *Booking {
	v := &Booking{}
	m.view(v, b, now)
	return v
}

// view fills v, whose seats may have room already. Slices that are replaced and never changed are shared.
func (m *Machine) view(v *Booking, b *booking, now Time) {
	s := m.shows.get(b.show)
	seats := v.Seats
	*v = Booking{
		ShowNames: &s.definition.ShowNames, Details: m.noDetails, Ref: b.ref, Show: s.id, User: m.users.get(b.user).id,
		Currency: b.definition.Spec.Currency, Status: b.statusAt(now), TotalAmount: b.total(), CreatedAt: b.createdAt,
		UpdatedAt: b.updatedAt, ExpiresAt: b.expiresAt(), FirstHeldAt: b.firstHeldAt(), AsOf: now, Sequence: b.sequence,
		Version: b.version, ShowVersion: b.showVersion,
	}
	if b.extra != nil {
		v.Details = b.extra.details(v.Currency)
	}
	v.Seats = slices.Grow(seats, len(b.seats))[:len(b.seats)]
	layout, letGo := b.definition.Layout, bookedSeatStatus(v.Status)
	for i, seat := range b.seats {
		tier := layout.Tier(seat)
		v.Seats[i] = BookedSeat{
			Seat: seat, Label: layout.Label(seat), Tier: layout.wire.Tiers[tier].Name, Price: b.definition.TierPrices[tier],
			Remains: b.remains(i), Status: letGo,
		}
		if !v.Seats[i].Remains {
			v.Seats[i].Status = BookedSeatCancelled
		}
	}
}

// bookedSeatStatus is what a booking's state means for the seats it has.
func bookedSeatStatus(status BookingStatus) BookedSeatStatus {
	switch status {
	case StatusConfirmed:
		return BookedSeatBooked
	case StatusReleased:
		return BookedSeatReleased
	case StatusFailed:
		return BookedSeatFailed
	case StatusExpired:
		return BookedSeatExpired
	case StatusCancelled:
		return BookedSeatCancelled
	}
	return BookedSeatHeld
}

// details copies what few bookings have; currency is the booking's.
func (e *extra) details(currency string) *Details {
	d := &Details{UserName: e.userName, Contact: e.contact, ConfirmedBy: e.confirmedBy, Refused: e.refused}
	if len(e.payments) > 0 {
		d.Payments = make([]Payment, len(e.payments))
	}
	for i := range e.payments {
		d.Payments[i] = e.payments[i].Payment
	}
	d.Payment = summarise(d.Payments, currency, d.ConfirmedBy)
	return d
}

// summarise tells of the confirming payment, with every refund that is due; without one, of the latest. Only money in
// the booking's currency has an amount here: minor units of two currencies add up to nothing.
func summarise(payments []Payment, currency, confirmedBy string) PaymentSummary {
	var sum PaymentSummary
	for i := range payments {
		p := &payments[i]
		told := confirmedBy == "" || p.Ref == confirmedBy
		if told {
			sum.Status = p.Status
		}
		if p.Currency != currency {
			continue
		}
		if told {
			sum.Amount = p.Amount
		}
		sum.RefundAmount = addAmounts(sum.RefundAmount, p.RefundAmount)
	}
	return sum
}

// addAmounts is a + b, at most the greatest int64; both are not negative. Money due back may be any amount.
func addAmounts(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// BrowseItem is a show whose browse entry the catalogue may not have yet.
type BrowseItem struct {
	Show       ShowID
	Revision   uint64
	Definition *Definition // nil: the show has left, and so must its entry
}

// BrowsePending lists up to limit shows whose latest revision BrowseSent has not acknowledged, by id.
func (m *Machine) BrowsePending(limit int) []BrowseItem {
	items := make([]BrowseItem, 0, min(limit, len(m.browse)+len(m.departed)))
	for place := range m.browse {
		if len(items) < limit {
			s := m.shows.get(place)
			items = append(items, BrowseItem{s.id, s.revision, s.definition})
		}
	}
	for id, revision := range m.departed {
		if len(items) < limit {
			items = append(items, BrowseItem{Show: id, Revision: revision})
		}
	}
	slices.SortFunc(items, func(a, b BrowseItem) int {
		if a.Show < b.Show {
			return -1
		}
		return 1
	})
	return items
}

// Stats are a machine's gauges and counters, for metrics. Counters count since the machine was made or restored on
// this replica; they are not part of the state.
type Stats struct {
	Shows, Bookings, Pending, Claims, IdempotencyKeys, Answers int

	Seats Counts

	Holds, HoldsExtended, Conflicts, Confirms, Releases, Expiries, Cancels, LatePayments uint64
}

// Stats gives the gauges and counters.
func (m *Machine) Stats() Stats {
	s := m.stats
	s.Shows, s.Bookings, s.Claims = m.shows.count, m.bookings.count, m.claims.count
	s.IdempotencyKeys, s.Answers, s.Seats = m.idempotent.len(), m.answers.len(), m.seatTotals
	s.Pending = m.pending
	return s
}
