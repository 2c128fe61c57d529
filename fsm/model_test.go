package fsm

import (
	"fmt"
	"math"
	"slices"

	"github.com/houseful/houseful/fsm/wire"
)

// model is a second implementation of the rules (M-51), written from the API's text with maps and loops and no thought
// for speed. It ends every hold at its deadline at once, where the machine does it when somebody looks: a difference
// that nobody who asks can see, except in counts of held seats.
type model struct {
	shard    uint16
	now      Time
	shows    map[ShowID]*modelShow
	bookings []*modelBooking // in order of creation
	keys     map[[16]byte]modelKey
	claims   []*modelClaim // in order of creation
	browse   map[ShowID]uint64
	departed map[ShowID]uint64
}

type modelShow struct {
	id       ShowID
	spec     *wire.ShowSpec
	layout   *Layout
	prices   []int64
	control  wire.ShowAction
	blocked  map[SeatIndex]bool
	revision uint64
}

type modelBooking struct {
	ref         BookingRef
	show        ShowID
	user        UserID
	name        string
	contact     Contact
	status      BookingStatus
	seats       []modelSeat
	holdMs      Time
	policy      []*wire.RefundRule
	currency    string
	created     Time
	expires     Time
	firstHeld   Time
	payments    []payment
	confirmedBy string
	refused     []string
	endedFrom   Time // the earliest and the latest moment at which the log may have ended it
	endedUpTo   Time // 0: the log may not have noticed the deadline yet
}

type modelSeat struct {
	seat  SeatIndex
	label string
	tier  string
	price int64
	gone  bool
}

type modelKey struct {
	fingerprint [16]byte
	booking     BookingRef
	at          Time
}

type modelClaim struct {
	ref      string
	booking  BookingRef
	at       Time
	attempts int
	final    bool
}

func newModel(shard uint16) *model {
	return &model{
		shard: shard, shows: map[ShowID]*modelShow{}, keys: map[[16]byte]modelKey{}, browse: map[ShowID]uint64{},
		departed: map[ShowID]uint64{},
	}
}

// advance moves time and ends every hold that is due.
func (m *model) advance(now Time) {
	m.now = max(m.now, now)
	for _, b := range m.bookings {
		if b.status == StatusPending && m.now >= b.expires {
			b.status, b.endedFrom = StatusExpired, b.expires
		}
	}
}

func (m *model) booking(ref []byte) *modelBooking {
	for _, b := range m.bookings {
		if slices.Equal(b.ref[:], ref) {
			return b
		}
	}
	return nil
}

// owner is the live booking that has a seat.
func (m *model) owner(show ShowID, seat SeatIndex) *modelBooking {
	for _, b := range m.bookings {
		if b.show != show || (b.status != StatusPending && b.status != StatusConfirmed) {
			continue
		}
		for _, s := range b.seats {
			if s.seat == seat && !s.gone {
				return b
			}
		}
	}
	return nil
}

func (m *model) seatStatus(s *modelShow, seat SeatIndex) SeatStatus {
	if s.blocked[seat] {
		return SeatBlocked
	}
	switch b := m.owner(s.id, seat); {
	case b == nil:
		return SeatAvailable
	case b.status == StatusConfirmed:
		return SeatBooked
	}
	return SeatHeld
}

func (m *model) counts(s *modelShow) Counts {
	c := Counts{Total: uint32(s.layout.Seats())}
	for seat := range s.layout.Seats() {
		*c.of(m.seatStatus(s, SeatIndex(seat)))++
	}
	return c
}

func (s *modelShow) leaves() Time { return Time(s.spec.EndsAtMs + 90*24*3_600_000) }

func (s *modelShow) status(now Time) ShowStatus {
	switch {
	case s.control == wire.ShowAction_SHOW_ACTION_CANCEL:
		return ShowCancelled
	case s.control == wire.ShowAction_SHOW_ACTION_CLOSE || int64(now) >= s.spec.SalesCloseAtMs || now >= s.leaves():
		return ShowClosed
	case s.control == wire.ShowAction_SHOW_ACTION_PAUSE:
		return ShowPaused
	case int64(now) < s.spec.SalesOpenAtMs:
		return ShowNotOpen
	}
	return ShowOnSale
}

// total is the price of the seats that remain.
func (b *modelBooking) total() (total int64) {
	for _, s := range b.seats {
		if !s.gone {
			total += s.price
		}
	}
	return total
}

// view gives the booking as the API shows it, without what the model does not follow: versions and sequence.
func (b *modelBooking) view(now Time) *Booking {
	v := &Booking{
		ShowNames: &ShowNames{},
		Details:   &Details{UserName: b.name, Contact: b.contact, ConfirmedBy: b.confirmedBy, Refused: slices.Clone(b.refused)},
		Ref:       b.ref, Show: b.show, User: b.user, Currency: b.currency, Status: b.status, TotalAmount: b.total(),
		CreatedAt: b.created, ExpiresAt: b.expires, FirstHeldAt: b.firstHeld, AsOf: now,
	}
	letGo := map[BookingStatus]BookedSeatStatus{
		StatusPending: BookedSeatHeld, StatusConfirmed: BookedSeatBooked, StatusReleased: BookedSeatReleased,
		StatusFailed: BookedSeatFailed, StatusExpired: BookedSeatExpired, StatusCancelled: BookedSeatCancelled,
	}
	for _, s := range b.seats {
		seat := BookedSeat{Seat: s.seat, Label: s.label, Tier: s.tier, Price: s.price, Remains: !s.gone, Status: letGo[b.status]}
		if s.gone {
			seat.Status = BookedSeatCancelled
		}
		v.Seats = append(v.Seats, seat)
	}
	for _, p := range b.payments {
		v.Payments = append(v.Payments, p.Payment)
		own, told := p.Currency == b.currency, b.confirmedBy == "" || p.Ref == b.confirmedBy
		if own {
			v.Payment.RefundAmount = int64(min(uint64(v.Payment.RefundAmount)+uint64(p.RefundAmount), math.MaxInt64))
		}
		if told {
			v.Payment.Status = p.Status
		}
		if told && own {
			v.Payment.Amount = p.Amount
		}
	}
	return v
}

// pulse lets go of what nobody needs. The log may have noticed an expiry late: about those bookings the machine is
// asked, through gone.
func (m *model) pulse(gone func(BookingRef) bool) error {
	const day = Time(24 * 3_600_000)
	kept := m.bookings[:0]
	for _, b := range m.bookings {
		if b.status == StatusExpired && b.endedUpTo == 0 {
			b.endedUpTo = m.now
		}
		unpaid := b.status != StatusPending && b.status != StatusConfirmed && len(b.payments) == 0
		must, may := unpaid && m.now >= b.endedUpTo+day, unpaid && m.now >= b.endedFrom+day
		show := m.shows[b.show]
		left := m.now >= show.leaves()
		switch went := gone(b.ref); {
		case went && !may && !left:
			return fmt.Errorf("booking %s (%s) was let go of too early", b.ref, b.status)
		case !went && (must || left):
			return fmt.Errorf("booking %s (%s) was kept too long", b.ref, b.status)
		case !went:
			kept = append(kept, b)
		}
	}
	m.bookings = kept
	for id, s := range m.shows {
		if m.now >= s.leaves() {
			delete(m.shows, id)
			delete(m.browse, id)
			m.departed[id] = s.revision + 1
		}
	}
	m.forgetClaims(len(m.claims))
	return nil
}

func (m *model) forgetClaims(limit int) {
	m.claims = slices.DeleteFunc(m.claims, func(c *modelClaim) bool {
		limit--
		return limit >= 0 && m.now >= c.at+Time(500*24*3_600_000)
	})
}
