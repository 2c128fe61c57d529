package main

import (
	"strconv"
	"sync/atomic"
)

// layout is the screen that a workload's shows play on: rows of equal length, the last one possibly shorter.
type layout struct {
	seats   int
	rowSize int
}

// newLayout plans a screen whose rows hold whole bookings, so that no booking is split and no seat is left between.
func newLayout(seats, seatsPerBooking int) layout {
	rowSize := 50
	if seats > 50*100 {
		rowSize = 1000
	}
	return layout{seats: seats, rowSize: max(rowSize-rowSize%seatsPerBooking, seatsPerBooking)}
}

// bookings gives how many bookings of that many neighbours fit.
func (l layout) bookings(seatsPerBooking int) int64 {
	full, last := l.seats/l.rowSize, l.seats%l.rowSize
	return int64(full*(l.rowSize/seatsPerBooking) + last/seatsPerBooking)
}

// rowLabel gives A, B, … Z, AA, AB, …
func rowLabel(row int) string {
	var letters []byte
	for row++; row > 0; row = (row - 1) / 26 {
		letters = append([]byte{byte('A' + (row-1)%26)}, letters...)
	}
	return string(letters)
}

// seatPlan deals seats to bookings, each once: the shows of a generation are filled side by side, then the next
// generation follows. A hot show is a generation of one.
type seatPlan struct {
	prefix  string // of the show ids
	spread  int64  // shows in a generation
	layout  layout
	seats   int   // a booking
	perShow int64 // bookings in a show
	stride  int64 // coprime to perShow: scatters the bookings over a show
	rows    []string

	ready atomic.Int64 // bookings whose shows exist
	next  atomic.Int64
}

// place is one booking's seats: neighbours in a row.
type place struct {
	number int64 // of the booking in the plan: makes the user and the payment reference its own
	show   int64
	row    string
	first  int // seat number of the first
}

// newSeatPlan plans shows; none exists yet.
func newSeatPlan(prefix string, spread int, seats layout, seatsPerBooking int) *seatPlan {
	p := &seatPlan{
		prefix: prefix, spread: int64(spread), layout: seats, seats: seatsPerBooking,
		perShow: seats.bookings(seatsPerBooking),
	}
	p.stride = max(p.perShow*5/8, 1)
	for gcd(p.stride, p.perShow) != 1 {
		p.stride++
	}
	for row := 0; row*seats.rowSize < seats.seats; row++ {
		p.rows = append(p.rows, rowLabel(row))
	}
	return p
}

// take deals the next booking; false when the shows made so far are dealt out.
func (p *seatPlan) take() (place, bool) {
	number := p.next.Add(1) - 1
	if number >= p.ready.Load() {
		return place{}, false
	}
	return p.place(number), true
}

// place gives the seats of a booking by its number.
func (p *seatPlan) place(number int64) place {
	generation, rest := number/(p.spread*p.perShow), number%(p.spread*p.perShow)
	booking := (rest / p.spread * p.stride) % p.perShow
	perRow := int64(p.layout.rowSize / p.seats)
	return place{
		number: number,
		show:   generation*p.spread + rest%p.spread,
		row:    p.rows[booking/perRow],
		first:  int(booking%perRow)*p.seats + 1,
	}
}

// left gives how many bookings can be dealt now.
func (p *seatPlan) left() int64 { return max(0, p.ready.Load()-p.next.Load()) }

// made says that the shows below count exist now, and lets next go on where the dealing stopped.
func (p *seatPlan) made(count int64) {
	if p.next.Load() > p.ready.Load() {
		p.next.Store(p.ready.Load()) // those above were refused a place
	}
	p.ready.Store(count / p.spread * p.spread * p.perShow)
}

// appendShow writes the id of a show of the plan: all are of one length.
func (p *seatPlan) appendShow(dst []byte, show int64) []byte {
	return appendPadded(append(dst, p.prefix...), show, 6)
}

// appendSeats writes the labels as members of a JSON array.
func (p *seatPlan) appendSeats(dst []byte, at place) []byte {
	for i := range p.seats {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, '"'), at.row...)
		dst = append(strconv.AppendInt(dst, int64(at.first+i), 10), '"')
	}
	return dst
}

// appendPadded writes a number with leading zeros.
func appendPadded(dst []byte, number int64, digits int) []byte {
	var text [20]byte
	written := strconv.AppendInt(text[:0], number, 10)
	for range digits - len(written) {
		dst = append(dst, '0')
	}
	return append(dst, written...)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
