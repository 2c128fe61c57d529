package fsm

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/houseful/houseful/fsm/wire"
)

// recordBytesMax bounds a record of a snapshot: a show of SeatsPerScreenMax seats, with room to spare.
const recordBytesMax = 16 << 20

// Restore replaces the state with a snapshot's. All or nothing: on an error, which wraps ErrSnapshot or ErrRules, the
// state is unchanged. What can be decoded but does not add up is refused: whoever sums a damaged snapshot anew must
// not get seats with two owners out of it.
func (m *Machine) Restore(r io.Reader) error {
	restored := New(m.shard)
	l := &loader{layouts: map[string]*Layout{}, m: restored, r: bufio.NewReaderSize(r, 1<<16), shows: map[uint64]uint32{}, bookings: map[uint64]uint32{}}
	if err := l.load(); err != nil {
		return err
	}
	*m = *restored
	return nil
}

// loader builds a machine from records.
type loader struct {
	m           *Machine
	r           *bufio.Reader
	buffer      []byte
	definitions []*Definition
	layouts     map[string]*Layout // by canonical encoding: thousands of shows may share a hall of 100,000 seats
	shows       map[uint64]uint32  // place by sequence
	bookings    map[uint64]uint32
	cancelNext  map[uint32]uint64 // by place of the show: sequence of a booking
	queued      []bool            // by place: an ended booking that waits to be let go of
	last        lastRead
}

func (l *loader) load() error {
	var header wire.SnapshotHeader
	encoded, err := l.next()
	if err != nil {
		return fmt.Errorf("%w: its header: %w", ErrSnapshot, err)
	}
	if err := header.UnmarshalVT(encoded); err != nil {
		return fmt.Errorf("%w: its header: %w", ErrSnapshot, err)
	}
	switch {
	case header.Format != SnapshotFormat:
		return fmt.Errorf("%w: format %d, this program reads %d", ErrSnapshot, header.Format, SnapshotFormat)
	case header.Rules == 0 || header.Rules > RulesVersion:
		return fmt.Errorf("%w: the snapshot has %d, this program knows up to %d", ErrRules, header.Rules, RulesVersion)
	case header.Shard != uint32(l.m.shard):
		return fmt.Errorf("%w: it is of shard %d, not %d", ErrSnapshot, header.Shard, l.m.shard)
	case header.NowMs < 0 || header.NowMs > int64(TimeMax):
		return fmt.Errorf("%w: its time %d is outside the years 1970 to 9999", ErrSnapshot, header.NowMs)
	}
	l.m.rules, l.m.now, l.m.sequence = header.Rules, Time(header.NowMs), header.Sequence
	for i := range header.Records {
		if err := l.record(); err != nil {
			return fmt.Errorf("%w: record %d of %d: %w", ErrSnapshot, i+1, header.Records, err)
		}
	}
	if _, err := l.r.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more follows its %d records (%w)", ErrSnapshot, header.Records, err)
	}
	return l.finish()
}

// next reads a record's bytes, which are good until the next call.
func (l *loader) next() ([]byte, error) {
	size, err := binary.ReadUvarint(l.r)
	if err != nil {
		return nil, fmt.Errorf("it ends early: %w", err)
	}
	if size > recordBytesMax {
		return nil, fmt.Errorf("its length %d is above %d", size, recordBytesMax)
	}
	if uint64(cap(l.buffer)) < size {
		l.buffer = make([]byte, size)
	}
	l.buffer = l.buffer[:size]
	if _, err := io.ReadFull(l.r, l.buffer); err != nil {
		return nil, fmt.Errorf("it ends early: %w", err)
	}
	return l.buffer, nil
}

func (l *loader) record() error {
	encoded, err := l.next()
	if err != nil {
		return err
	}
	var record wire.SnapshotRecord
	if err := record.UnmarshalVT(encoded); err != nil {
		return err
	}
	switch r := record.Record.(type) {
	case *wire.SnapshotRecord_Definition:
		definition, err := newDefinition(r.Definition, l.layout)
		l.definitions = append(l.definitions, definition)
		return err
	case *wire.SnapshotRecord_Show:
		return l.show(r.Show)
	case *wire.SnapshotRecord_Booking:
		return l.booking(r.Booking)
	case *wire.SnapshotRecord_Claim:
		return l.claim(r.Claim)
	case *wire.SnapshotRecord_Idempotency:
		return l.idempotency(r.Idempotency)
	case *wire.SnapshotRecord_Answer:
		return l.answer(r.Answer)
	case *wire.SnapshotRecord_Ended:
		return l.ended(r.Ended)
	case *wire.SnapshotRecord_Departed:
		if _, twice := l.m.departed[ShowID(r.Departed.ShowId)]; twice || r.Departed.ShowId == "" {
			return fmt.Errorf("show %q left twice", r.Departed.ShowId)
		}
		l.m.departed[ShowID(r.Departed.ShowId)] = r.Departed.Revision
		return nil
	case *wire.SnapshotRecord_Cancelling:
		place, ok := l.shows[r.Cancelling.Show]
		if !ok || l.m.shows.get(place).control != controlCancelled || slices.Contains(l.m.cancelling, place) {
			return fmt.Errorf("a show %d to be cancelled that is not there, not cancelled or named twice", r.Cancelling.Show)
		}
		l.m.cancelling = append(l.m.cancelling, place)
		return nil
	}
	return errors.New("it is of a kind this program does not know")
}

// layout indexes a layout once for all that are equal to it.
func (l *loader) layout(w *wire.Layout) (*Layout, error) {
	key := string(appendLayout(nil, w))
	if known, ok := l.layouts[key]; ok {
		return known, nil
	}
	layout, err := NewLayout(w)
	if err == nil {
		l.layouts[key] = layout
	}
	return layout, err
}

func (l *loader) definition(number uint32) (*Definition, error) {
	if int(number) >= len(l.definitions) {
		return nil, fmt.Errorf("definition %d is not there", number)
	}
	return l.definitions[number], nil
}

func (l *loader) show(r *wire.ShowRecord) error {
	definition, err := l.definition(r.Definition)
	if err != nil {
		return err
	}
	if _, twice := l.m.showByID[ShowID(r.Id)]; twice || r.Id == "" || r.Control > uint32(controlCancelled) {
		return fmt.Errorf("show %q comes twice, or in an unknown state", r.Id)
	}
	if err := l.checkShow(r); err != nil {
		return err
	}
	l.m.ref(definition)
	seats := definition.Layout.Seats()
	s := show{
		id: ShowID(r.Id), sequence: r.Sequence, definition: definition, control: control(r.Control), revision: r.Revision,
		layoutVersion: r.LayoutVersion, browseSent: r.BrowseSent, version: r.Version, changedAt: Time(r.ChangedAtMs),
		seatsSince: r.SeatsSince, counts: Counts{Available: uint32(seats), Total: uint32(seats)},
	}
	if len(r.SeatsChanged) > 0 {
		if len(r.SeatsChanged) != 3*seats {
			return fmt.Errorf("show %q has changes of %d bytes for %d seats", r.Id, len(r.SeatsChanged), seats)
		}
		s.seats = newSeatMap(seats, r.SeatsBase, l.m.captures.epoch)
		for seat := range s.seats.changed {
			copy(s.seats.changed[seat][:], r.SeatsChanged[3*seat:])
			if s.seats.changedAt(SeatIndex(seat)) > r.Version {
				return fmt.Errorf("show %q has a seat that changed after its version", r.Id)
			}
		}
	} else if len(r.Blocked) > 0 {
		return fmt.Errorf("show %q has blocked seats but no seat map", r.Id)
	}
	l.m.seatTotals.Available += uint32(seats)
	l.m.seatTotals.Total += uint32(seats)
	for _, seat := range r.Blocked {
		if int(seat) >= seats || s.seats.owner[seat] != ownerNone {
			return fmt.Errorf("show %q blocks seat %d of %d, or twice", r.Id, seat, seats)
		}
		s.seats.owner[seat] = ownerBlocked
		l.m.count(&s, SeatAvailable, SeatBlocked, 1)
	}
	place := l.m.shows.add(s)
	l.m.showByID[s.id], l.shows[r.Sequence] = place, place
	if s.browseSent < s.revision {
		l.m.browse[place] = struct{}{}
	}
	l.m.departures.push(dueItem{at: definition.leaves(), place: place, order: uint32(s.sequence)})
	if r.CancelNext != 0 {
		if l.cancelNext == nil {
			l.cancelNext = map[uint32]uint64{}
		}
		l.cancelNext[place] = r.CancelNext
	}
	return nil
}

func (l *loader) booking(r *wire.BookingRecord) error {
	definition, err := l.definition(r.Definition)
	if err != nil {
		return err
	}
	showPlace, ok := l.shows[r.Show]
	ref := refFromBytes(r.Ref)
	switch _, twice := l.m.findBooking(ref); {
	case !ok:
		return fmt.Errorf("booking %s is of a show that is not there", ref)
	case twice || ref.IsZero() || ref.Shard() != l.m.shard:
		return fmt.Errorf("booking %s comes twice, or is of another shard", ref)
	case r.Status == uint32(StatusNone) || r.Status > uint32(StatusCancelled):
		return fmt.Errorf("booking %s has the unknown status %d", ref, r.Status)
	case len(r.Seats) == 0 || (len(r.Gone) != 0 && len(r.Gone) != len(r.Seats)):
		return fmt.Errorf("booking %s has %d seats, of which %d gone", ref, len(r.Seats), len(r.Gone))
	}
	if err := l.checkBooking(r, l.m.shows.get(showPlace)); err != nil {
		return fmt.Errorf("booking %s: %w", ref, err)
	}
	b := booking{
		ref: ref, definition: definition, seats: make([]SeatIndex, len(r.Seats)), createdAt: Time(r.CreatedAtMs),
		updatedAt: Time(r.UpdatedAtMs), sequence: r.Sequence, showVersion: r.ShowVersion, firstHeld: r.FirstHeldMs,
		expires: r.ExpiresMs, show: showPlace, version: r.Version, status: BookingStatus(r.Status),
	}
	for i, seat := range r.Seats {
		if int(seat) >= definition.Layout.Seats() || (i > 0 && seat <= r.Seats[i-1]) {
			return fmt.Errorf("booking %s has seat %d out of order or outside the layout", ref, seat)
		}
		b.seats[i] = SeatIndex(seat)
	}
	if b.extra, err = extraOf(r); err != nil {
		return fmt.Errorf("booking %s: %w", ref, err)
	}
	l.m.ref(definition)
	b.user = l.m.internUser(UserID(r.User))
	place := l.m.insert(b)
	l.bookings[r.Sequence] = place
	return l.own(place)
}

// extraOf gives what most bookings have not; nil when this one has not either.
func extraOf(r *wire.BookingRecord) (*extra, error) {
	if r.UserName == "" && r.Contact == nil && r.ConfirmedBy == "" && len(r.Payments)+len(r.Refused)+len(r.Gone) == 0 {
		return nil, nil
	}
	e := &extra{
		userName: r.UserName, contact: contactFromWire(r.Contact), confirmedBy: r.ConfirmedBy, refused: r.Refused,
		gone: r.Gone,
	}
	for _, w := range r.Payments {
		p, err := paymentFromWire(w)
		if err != nil {
			return nil, err
		}
		e.payments = append(e.payments, p)
	}
	return e, nil
}

// own gives a restored booking its seats, counts and deadline.
func (l *loader) own(place uint32) error {
	m, b := l.m, l.m.bookings.edit(place)
	status := SeatHeld
	switch b.status {
	case StatusPending:
		m.countHold(b.show, b.user)
		m.expiry.push(dueItem{at: b.expiresAt(), place: place, order: uint32(b.sequence)})
	case StatusConfirmed:
		status = SeatBooked
	default:
		if !b.paid() {
			m.endedUnpaid++
		}
		return nil
	}
	s := m.shows.edit(b.show)
	if s.seats == nil {
		return fmt.Errorf("booking %s has seats in an untouched show", b.ref)
	}
	for i, seat := range b.seats {
		if !b.remains(i) {
			continue
		}
		if int(seat) >= len(s.seats.owner) || s.seats.owner[seat] != ownerNone {
			return fmt.Errorf("booking %s has a seat that another has", b.ref)
		}
		s.seats.owner[seat] = place + ownerBooking
		m.count(s, SeatAvailable, status, 1)
	}
	return nil
}

func (l *loader) claim(r *wire.ClaimRecord) error {
	if _, twice := l.m.claimByRef[r.PaymentRef]; twice || r.PaymentRef == "" {
		return fmt.Errorf("payment reference %q is claimed twice", r.PaymentRef)
	}
	if !ascends(&l.last.claim, r.Sequence, l.m.sequence) || !l.timely(&l.last.claimedAt, r.TakenAtMs) || len(r.Booking) != 16 {
		return fmt.Errorf("the claim of payment reference %q is out of order, or of no booking", r.PaymentRef)
	}
	place := l.m.claims.add(claim{
		ref: r.PaymentRef, booking: refFromBytes(r.Booking), takenAt: Time(r.TakenAtMs), sequence: r.Sequence,
		attempts: r.Attempts, final: r.Final,
	})
	l.m.claimByRef[r.PaymentRef] = place
	l.m.claimsByAge.push(queued{at: Time(r.TakenAtMs), sequence: r.Sequence, place: place})
	return nil
}

func (l *loader) answer(r *wire.AnswerRecord) error {
	result, err := resultFromWire(r.Result, l.layout)
	if err != nil {
		return err
	}
	var id CommandID
	copy(id[:], r.Id)
	notAfter := Time(r.NotAfterMs)
	if l.m.findAnswer(id) != nil || len(r.Id) != len(id) || notAfter > l.m.now.Add(CommandLifeMax) {
		return fmt.Errorf("the answer to command %x comes twice, or is kept too long", r.Id)
	}
	l.m.keepAnswer(answer{id: id, notAfter: notAfter, result: result})
	return nil
}
