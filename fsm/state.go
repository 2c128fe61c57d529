package fsm

// show is a show's state. Seats cost nothing until one is touched (M-2).
type show struct {
	id            ShowID
	definition    *Definition
	control       control
	sequence      uint64 // order of creation in the shard
	revision      uint64 // of the definition, from 1
	layoutVersion uint64 // the revision that last changed layout or prices
	browseSent    uint64 // the revision the catalogue has
	version       uint64 // of every change
	changedAt     Time   // log time of that version
	counts        Counts
	seats         *seatMap // nil: all available
	seatsSince    uint64   // the version the seat map began at; deltas from before it are incomplete
	newest        uint32   // the newest booking, as its place + 1
	cancelNext    uint32   // while cancelling: the next booking to end, as its place + 1
}

// control is what staff last did with a show's sale.
type control uint8

const (
	controlSelling control = iota
	controlPaused
	controlClosed
	controlCancelled
)

// seatMap holds the seats of a touched show: 7 bytes a seat.
type seatMap struct {
	epoch   uint64     // last copied in
	owner   []uint32   // ownerNone, ownerBlocked, or a booking's place + ownerBooking
	changed [][3]uint8 // version of the seat's last change, as a distance from base
	base    uint64
}

const (
	ownerNone    = 0
	ownerBlocked = 1
	ownerBooking = 2 // and up
)

// changedMax is the greatest distance that changed can hold.
const changedMax = 1<<24 - 1

func newSeatMap(seats int, base, epoch uint64) *seatMap {
	return &seatMap{epoch: epoch, owner: make([]uint32, seats), changed: make([][3]uint8, seats), base: base}
}

// mark notes that a seat changed at a version.
func (s *seatMap) mark(seat SeatIndex, version uint64) {
	distance := version - s.base
	if distance > changedMax {
		s.rebase(version)
		distance = version - s.base
	}
	s.changed[seat] = [3]uint8{uint8(distance), uint8(distance >> 8), uint8(distance >> 16)}
}

// changedAt is the version of a seat's last change; one at base may be older.
func (s *seatMap) changedAt(seat SeatIndex) uint64 {
	c := s.changed[seat]
	return s.base + uint64(c[0]) + uint64(c[1])<<8 + uint64(c[2])<<16
}

// rebase moves base halfway up to version; seats that changed before it are then known only as "not since base".
func (s *seatMap) rebase(version uint64) {
	base := version - changedMax/2
	for seat := range s.changed {
		distance := uint64(0)
		if at := s.changedAt(SeatIndex(seat)); at > base {
			distance = at - base
		}
		s.changed[seat] = [3]uint8{uint8(distance), uint8(distance >> 8), uint8(distance >> 16)}
	}
	s.base = base
}

func (s *seatMap) clone(epoch uint64) *seatMap {
	return &seatMap{
		epoch: epoch, base: s.base,
		owner: append([]uint32(nil), s.owner...), changed: append([][3]uint8(nil), s.changed...),
	}
}

// booking is a booking's state. Links are places + 1; 0 is none.
type booking struct {
	ref         BookingRef
	definition  *Definition // it was made under
	seats       []SeatIndex // every seat it ever had, ascending; never written once set
	extra       *extra      // what most pending bookings have not; never written once set
	createdAt   Time
	updatedAt   Time
	sequence    uint64 // order of creation in the shard
	showVersion uint64 // the show's version that contains its latest change
	firstHeld   int32  // before createdAt, in milliseconds
	expires     uint32 // after createdAt, in milliseconds
	show        uint32 // place
	user        uint32 // place
	version     uint32
	older       uint32 // next in the show's list
	newer       uint32
	userOlder   uint32 // next in the user's list
	userNewer   uint32
	status      BookingStatus
}

func (b *booking) expiresAt() Time { return b.createdAt + Time(b.expires) }

func (b *booking) firstHeldAt() Time { return b.createdAt - Time(b.firstHeld) }

// due reports whether a pending booking's deadline has passed: a hold is live while log time < expiresAt.
func (b *booking) due(now Time) bool { return b.status == StatusPending && now >= b.expiresAt() }

func (b *booking) live(now Time) bool { return b.status == StatusPending && now < b.expiresAt() }

// remains reports whether the i-th seat of the booking was not given back by a part cancel.
func (b *booking) remains(i int) bool {
	return b.extra == nil || b.extra.gone == nil || !b.extra.gone[i]
}

// extra holds what few bookings need. It is replaced, never changed, so that views and results may share it.
type extra struct {
	userName    string
	contact     Contact
	confirmedBy string
	payments    []payment
	refused     []string // payment references given up to another booking
	gone        []bool   // by seat: given back by a part cancel; nil: none
}

// payment is money that arrived, with the answer that its call got, so that a repeat gets it again.
type payment struct {
	Payment
	answer Code
}

// paid reports whether any money came: such a booking is kept until its show leaves.
func (b *booking) paid() bool { return b.extra != nil && len(b.extra.payments) > 0 }

// editExtra gives a copy of the booking's extra to change and keep.
func (b *booking) editExtra() *extra {
	e := &extra{}
	if b.extra != nil {
		*e = *b.extra
	}
	b.extra = e
	return e
}

// user is somebody who has bookings in this shard.
type user struct {
	id       UserID
	newest   uint32 // the newest booking, as its place + 1
	count    uint32
	heldShow uint32 // place of a show, if held is not 0
	held     uint32 // pending bookings in heldShow; those in further shows are in Machine.holders
}

// holder is a user in a show.
type holder struct{ show, user uint32 }

// claim binds a payment reference to a booking.
type claim struct {
	ref      string
	booking  BookingRef
	takenAt  Time
	sequence uint64
	attempts uint32 // takes not withdrawn
	final    bool
}

// answer is a result kept for a retry.
type answer struct {
	id       CommandID
	notAfter Time
	result   *Result
}

// idempotent is a client's key and what it made.
type idempotent struct {
	key         [16]byte
	fingerprint [16]byte
	booking     BookingRef
	at          Time
}

// queued is a place that waits in a queue, with what tells whether the place still holds the same thing.
type queued struct {
	at       Time
	sequence uint64
	place    uint32
}
