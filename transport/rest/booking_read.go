package rest

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/cluster"
	"github.com/houseful/houseful/fsm"
)

// getBooking answers with a booking as it is now (M-32).
func (s *Server) getBooking(c *Call) error {
	ref, err := c.bookingRef()
	if err != nil {
		return err
	}
	consistency, err := c.consistency()
	if err != nil {
		return err
	}
	booking, ok, err := s.node.Booking(ref, consistency)
	if err != nil {
		return err
	}
	if !ok {
		return errBookingNotFound()
	}
	if !c.principal.mayActFor(booking.User) {
		return errNotYourBooking()
	}
	return c.answerBooking(fasthttp.StatusOK, booking)
}

// consistency reads how fresh an answer must be; by default, the leader's.
func (c *Call) consistency() (cluster.Consistency, error) {
	text, ok, err := c.query("consistency")
	if err != nil || !ok {
		return cluster.ReadLeader, err
	}
	switch text {
	case "leader":
		return cluster.ReadLeader, nil
	case "local":
		return cluster.ReadLocal, nil
	case "strong":
		return cluster.ReadStrong, nil
	}
	return 0, invalid("consistency", "must be local, leader or strong")
}

// listBookings lists a user's or a show's bookings, newest first.
func (s *Server) listBookings(c *Call) error {
	filter, err := c.bookingFilter()
	if err != nil {
		return err
	}
	if !c.principal.mayActFor(filter.User) {
		return refuse(fasthttp.StatusForbidden, codeForbidden, "a buyer lists only its own bookings: give userId")
	}
	bookings, err := s.node.Bookings(filter)
	if err != nil {
		return err
	}
	more := false
	if len(bookings) == filter.Limit { // a full page: only a look behind it tells whether it is the last
		next := filter
		next.Before, next.Limit = cluster.PositionOf(bookings[len(bookings)-1]), 1
		following, err := s.node.Bookings(next)
		if err != nil {
			return err
		}
		more = len(following) > 0
	}
	dst := append(c.buffer(), `{"items":[`...)
	for i, booking := range bookings {
		dst = appendBooking(appendComma(dst, i), booking)
	}
	dst = append(dst, ']')
	if more {
		dst = append(dst, `,"nextCursor":"`...)
		dst = append(appendCursor(dst, cluster.PositionOf(bookings[len(bookings)-1])), '"')
	}
	return c.answer(fasthttp.StatusOK, append(dst, '}'))
}

// bookingFilter reads the list's parameters.
func (c *Call) bookingFilter() (filter fsm.BookingFilter, err error) {
	user, err := c.queryID("userId")
	if err != nil {
		return filter, err
	}
	show, err := c.queryID("showId")
	if err != nil {
		return filter, err
	}
	if user == "" && show == "" {
		return filter, invalid("userId", "or showId is needed")
	}
	filter.User, filter.Show = fsm.UserID(user), fsm.ShowID(show)
	if text, ok, err := c.query("status"); err != nil {
		return filter, err
	} else if ok {
		if filter.Status = fsm.ParseBookingStatus(text); filter.Status == fsm.StatusNone {
			return filter, invalid("status", "must be PENDING, CONFIRMED, RELEASED, FAILED, EXPIRED or CANCELLED")
		}
	}
	if text, ok, err := c.query("cursor"); err != nil {
		return filter, err
	} else if ok {
		if filter.Before, ok = parseCursor(text); !ok {
			return filter, invalid("cursor", "is not a nextCursor of this list")
		}
	}
	filter.Limit, err = c.queryLimit()
	return filter, err
}

// A cursor is a position in the order of bookings: a format byte, then time, shard and sequence.
const (
	cursorFormat = 1
	cursorBytes  = 1 + 8 + 2 + 8
)

func appendCursor(dst []byte, position fsm.BookingPosition) []byte {
	var raw [cursorBytes]byte
	raw[0] = cursorFormat
	binary.BigEndian.PutUint64(raw[1:], uint64(position.CreatedAt))
	binary.BigEndian.PutUint16(raw[9:], position.Shard)
	binary.BigEndian.PutUint64(raw[11:], position.Sequence)
	return base64.RawURLEncoding.AppendEncode(dst, raw[:])
}

func parseCursor(text string) (position fsm.BookingPosition, ok bool) {
	if len(text) != base64.RawURLEncoding.EncodedLen(cursorBytes) {
		return position, false // the decoder would overlook line breaks
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != cursorBytes || raw[0] != cursorFormat {
		return position, false
	}
	position.CreatedAt = fsm.Time(binary.BigEndian.Uint64(raw[1:]))
	position.Shard = binary.BigEndian.Uint16(raw[9:])
	position.Sequence = binary.BigEndian.Uint64(raw[11:])
	return position, position.CreatedAt > 0 && position != fsm.BookingPosition{}
}

// findBooking finds the booking that an idempotency key made (M-16): what to ask when the reply to a hold was lost.
func (s *Server) findBooking(c *Call) error {
	show, err := c.showID()
	if err != nil {
		return err
	}
	key, _, err := c.query("idempotencyKey")
	if err != nil {
		return err
	}
	if !validIdempotencyKey([]byte(key)) {
		return invalid("idempotencyKey", "must be 1 to %d visible ASCII characters", IdempotencyKeyCharsMax)
	}
	result, err := s.commands.FindByKey(show, c.keyDigest(show, []byte(key)))
	if err != nil {
		return err
	}
	if result.Code == fsm.CodeBookingNotFound {
		refusal := notFound(codeBookingNotFound, "no booking was made with this idempotency key so far")
		refusal.details = appendTime([]byte(`"finalAfter":`), result.At)
		return refusal
	}
	if result.Code == fsm.CodeOK && !c.principal.mayActFor(result.Booking.User) {
		return errNotYourBooking()
	}
	return c.answerResult(result, nil)
}
