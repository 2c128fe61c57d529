package rest

import (
	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// holdRequest is a hold as it is read from a body. It is part of a call and reused: its texts are views of the body.
type holdRequest struct {
	command     wire.Hold
	contact     wire.Contact
	seats       seatSelection
	replace     fsm.BookingRef
	key         digest
	fingerprint digest
}

var (
	holdFields    = []string{"showId", "seats", "seatIds", "userId", "userName", "contact", "replace"}
	contactFields = []string{"email", "phone", "locale"}
	releaseFields = []string{"userId", "reason"}
	extendFields  = []string{"userId"}
	cancelFields  = []string{"userId", "seats", "seatIds"}
)

// holdSeats takes seats, all or none (M-10, M-11).
func (s *Server) holdSeats(c *Call) error {
	key, err := c.idempotencyKey()
	if err != nil {
		return err
	}
	if err := c.readHold(key); err != nil {
		return err
	}
	result, err := s.commands.Hold(&c.hold.command)
	if err != nil {
		return err
	}
	switch result.Code {
	case fsm.CodeOK:
	case fsm.CodeBookingState, fsm.CodeBookingNotFound:
		return errReplace(result)
	default:
		return c.refuseResult(result, "held")
	}
	if !result.Created && !result.Replayed {
		return c.answerBooking(fasthttp.StatusOK, result.Booking)
	}
	if result.Replayed {
		c.setHeader("Idempotent-Replayed", "true")
	}
	c.scratch = result.Booking.Ref.AppendText(append(c.scratch[:0], apiBase+"/bookings/"...))
	c.Response.Header.SetBytesV("Location", c.scratch)
	return c.answerBooking(fasthttp.StatusCreated, result.Booking)
}

// readHold reads a hold's body into c.hold.
func (c *Call) readHold(key []byte) error {
	if err := c.checkContentType(); err != nil {
		return err
	}
	if !c.readPlainHold(c.PostBody()) {
		if err := c.readAnyHold(); err != nil {
			return err
		}
	}
	h := &c.hold
	if err := c.checkUser(h.command.UserId); err != nil {
		return err
	}
	if key != nil {
		h.key, h.fingerprint = c.keyDigest(fsm.ShowID(h.command.ShowId), key), c.fingerprint(h)
		h.command.IdempotencyKey, h.command.Fingerprint = h.key[:], h.fingerprint[:]
	}
	return nil
}

// readAnyHold reads a hold that is not plain.
func (c *Call) readAnyHold() error {
	body, err := c.body(holdFields)
	if err != nil {
		return err
	}
	h := &c.hold
	h.command.Clear()
	h.command.ShowId = body.idView("showId")
	h.command.UserId = body.idView("userId")
	h.command.UserName = body.textView("userName", TextCharsMax)
	h.seats.read(&body, fsm.SeatsPerBookingMax, true)
	h.command.Labels, h.command.SeatIds = h.seats.labels, h.seats.seatIDs
	h.contact.Email, h.contact.Phone, h.contact.Locale = "", "", ""
	if contact, ok := body.child("contact", contactFields); ok {
		h.contact.Email = contact.textView("email", EmailCharsMax)
		h.contact.Phone = contact.textView("phone", PhoneCharsMax)
		h.contact.Locale = contact.textView("locale", LocaleCharsMax)
		body.adopt(&contact)
		h.command.Contact = &h.contact
	}
	if body.has("replace") {
		h.replace = body.bookingRef("replace")
		h.command.Replace = h.replace[:]
	}
	if body.err != nil {
		return body.err
	}
	return nil
}

// bookingRef reads a booking's reference out of a body.
func (o *object) bookingRef(field string) fsm.BookingRef {
	ref, err := fsm.ParseBookingRef(o.textView(field, TextCharsMax))
	if err != nil {
		o.fail(field, "is not a booking's id")
	}
	return ref
}

// checkUser refuses a body that speaks for somebody the caller is not.
func (c *Call) checkUser(user string) error {
	if c.principal.mayActFor(fsm.UserID(user)) {
		return nil
	}
	return refuse(fasthttp.StatusForbidden, codeForbidden, "userId is not the buyer this token belongs to")
}

// bookingRef gives the booking that the path names. A text that is no reference names none.
func (c *Call) bookingRef() (fsm.BookingRef, error) {
	ref, err := fsm.ParseBookingRef(string(c.params[0]))
	if err != nil || ref.IsZero() {
		return ref, errBookingNotFound()
	}
	return ref, nil
}

func errBookingNotFound() *apiError {
	return notFound(codeBookingNotFound, "there is no such booking; unpaid ones are forgotten a day after they ended")
}

// releaseBooking gives a live hold's seats back at once (M-23).
func (s *Server) releaseBooking(c *Call) error {
	ref, err := c.bookingRef()
	if err != nil {
		return err
	}
	command, err := c.readRelease()
	if err != nil {
		return err
	}
	result, err := s.commands.Release(ref, command)
	return c.answerResult(result, err)
}

func (c *Call) readRelease() (*wire.Release, error) {
	body, err := c.body(releaseFields)
	if err != nil {
		return nil, err
	}
	command := &wire.Release{UserId: body.id("userId")}
	switch reason := body.text("reason", TextCharsMax); reason {
	case "payment_failed":
		command.PaymentFailed = true
	case "abandoned":
	default:
		body.fail("reason", "must be abandoned or payment_failed")
	}
	if body.err != nil {
		return nil, body.err
	}
	return command, c.checkUser(command.UserId)
}

// extendBooking moves a live hold's deadline, up to the cap on its life (M-15).
func (s *Server) extendBooking(c *Call) error {
	ref, err := c.bookingRef()
	if err != nil {
		return err
	}
	command, err := c.readExtend()
	if err != nil {
		return err
	}
	result, err := s.commands.Extend(ref, command)
	return c.answerResult(result, err)
}

func (c *Call) readExtend() (*wire.Extend, error) {
	body, err := c.body(extendFields)
	if err != nil {
		return nil, err
	}
	command := &wire.Extend{UserId: body.id("userId")}
	if body.err != nil {
		return nil, body.err
	}
	return command, c.checkUser(command.UserId)
}

// cancelBooking cancels a booking or, with seats, only those (M-25).
func (s *Server) cancelBooking(c *Call) error {
	ref, err := c.bookingRef()
	if err != nil {
		return err
	}
	command, err := c.readCancel()
	if err != nil {
		return err
	}
	result, err := s.commands.Cancel(ref, command)
	return c.answerResult(result, err)
}

func (c *Call) readCancel() (*wire.Cancel, error) {
	body, err := c.body(cancelFields)
	if err != nil {
		return nil, err
	}
	seats := &c.hold.seats
	seats.read(&body, fsm.SeatsPerBookingMax, false)
	command := &wire.Cancel{UserId: body.id("userId"), Labels: seats.labels, SeatIds: seats.seatIDs}
	if body.err != nil {
		return nil, body.err
	}
	return command, c.checkUser(command.UserId)
}

// answerResult answers a command on a booking: 200 with the booking, or why not.
func (c *Call) answerResult(result *fsm.Result, err error) error {
	if err != nil {
		return err
	}
	if result.Code != fsm.CodeOK {
		return c.refuseResult(result, "changed")
	}
	if result.Replayed {
		c.setHeader("Idempotent-Replayed", "true")
	}
	return c.answerBooking(fasthttp.StatusOK, result.Booking)
}

// answerBooking answers with a booking.
func (c *Call) answerBooking(status int, booking *fsm.Booking) error {
	return c.answer(status, appendBooking(c.buffer(), booking))
}
