package fsm

import (
	"encoding/base32"
	"encoding/binary"
	"errors"
	"time"
)

// Time is log time in milliseconds since the Unix epoch. It never goes backwards in a group.
type Time int64

// Std gives t as a time in UTC.
func (t Time) Std() time.Time { return time.UnixMilli(int64(t)).UTC() }

// Add gives t plus d, rounded down to a millisecond.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// ShowID names a show, by the client's choice: 1 to 64 characters.
type ShowID string

// UserID names a buyer, by the client's choice: 1 to 64 characters.
type UserID string

// SeatIndex is a seat's 0-based place in its layout. The API's seatId is one more.
type SeatIndex uint32

// CommandID names a command for as long as a retry of it may arrive.
type CommandID [16]byte

// BookingRef names a booking and is the id of the hold command that made it. It carries its shard, so that any
// node can route it, and 112 random bits, so that nobody can guess it.
type BookingRef [16]byte

const bookingPrefix = "BMS-"

// ErrBookingRef says that a text is not a booking reference.
var ErrBookingRef = errors.New("not a booking reference")

// bookingEncoding is Crockford's alphabet: no I, L, O or U, so a reference survives being read aloud.
var bookingEncoding = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// BookingRefChars is the length of a reference's text.
const BookingRefChars = len(bookingPrefix) + 26

// NewBookingRef makes a reference for a booking in a shard out of 14 random bytes.
func NewBookingRef(shard uint16, random [14]byte) BookingRef {
	var ref BookingRef
	binary.BigEndian.PutUint16(ref[:2], shard)
	copy(ref[2:], random[:])
	return ref
}

// ParseBookingRef reads what String wrote. Anything else is ErrBookingRef.
func ParseBookingRef(text string) (BookingRef, error) {
	var ref BookingRef
	if len(text) != BookingRefChars || text[:len(bookingPrefix)] != bookingPrefix {
		return ref, ErrBookingRef
	}
	if _, err := bookingEncoding.Decode(ref[:], []byte(text[len(bookingPrefix):])); err != nil {
		return ref, ErrBookingRef
	}
	if ref.String() != text { // spare bits of the last character must be zero: one text per reference
		return ref, ErrBookingRef
	}
	return ref, nil
}

// Shard gives the number of the shard that owns the booking.
func (r BookingRef) Shard() uint16 { return binary.BigEndian.Uint16(r[:2]) }

// IsZero reports whether r names no booking.
func (r BookingRef) IsZero() bool { return r == BookingRef{} }

// String gives the public form, for example BMS-0006….
func (r BookingRef) String() string { return string(r.AppendText(make([]byte, 0, BookingRefChars))) }

// AppendText appends the public form to dst.
func (r BookingRef) AppendText(dst []byte) []byte {
	dst = append(dst, bookingPrefix...)
	return bookingEncoding.AppendEncode(dst, r[:])
}

// refFromBytes takes a reference out of a command; anything but 16 bytes is the zero reference, which names nothing.
func refFromBytes(b []byte) BookingRef {
	var ref BookingRef
	if len(b) == len(ref) {
		copy(ref[:], b)
	}
	return ref
}
