package rest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/cluster"
	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
	"github.com/houseful/houseful/transport/payment"
)

// methodExternal is the payment method of money that the caller took itself.
const methodExternal = "external"

// providerTimeout is how long a payment provider may take to decide.
const providerTimeout = 20 * time.Second

var confirmFields = []string{"userId", "paymentRef", "amount", "currency", "paymentMethod"}

// confirmBooking pays for a booking (M-21): with a payment the caller took, or through a provider.
func (s *Server) confirmBooking(c *Call) error {
	ref, err := c.bookingRef()
	if err != nil {
		return err
	}
	command, method, err := c.readConfirm()
	if err != nil {
		return err
	}
	if err := c.checkUser(command.UserId); err != nil {
		return err
	}
	if method != "" {
		return s.confirmThroughProvider(c, ref, command, method)
	}
	result, err := s.commands.Confirm(ref, command)
	return c.answerResult(result, err)
}

// readConfirm reads a confirm's body. method is the provider's, or "" when the caller took the money.
func (c *Call) readConfirm() (command *wire.Confirm, method string, err error) {
	body, err := c.body(confirmFields)
	if err != nil {
		return nil, "", err
	}
	command = &wire.Confirm{UserId: body.id("userId")}
	if body.has("paymentMethod") {
		method = body.text("paymentMethod", TextCharsMax)
		for _, field := range []string{"paymentRef", "amount", "currency"} {
			if body.has(field) {
				body.fail(field, "does not go with paymentMethod: the provider takes the booking's amount")
			}
		}
		if body.err == nil && !c.server.payments.Knows(method) {
			body.fail("paymentMethod", "%q is not a method this server has a provider for; it has %s", clip(method),
				strings.Join(c.server.payments.Methods(), ", "))
		}
	} else {
		command.Method, command.PaymentRef = methodExternal, body.paymentRef()
		if body.has("amount") {
			amount := body.integer("amount", 0, math.MaxInt64) // a wrong one is money that came: the booking's books decide
			command.Amount = &amount
		}
		if body.has("currency") {
			command.Currency = body.currency("currency")
		}
	}
	if body.err != nil {
		return nil, "", body.err
	}
	return command, method, nil
}

// paymentRef reads a payment reference: visible ASCII, or a whole number.
func (o *object) paymentRef() string {
	value := o.need("paymentRef")
	if value == nil {
		return ""
	}
	if text, ok := wholeNumber(value); ok {
		return text
	}
	text := o.text("paymentRef", PaymentRefCharsMax)
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7f {
			o.fail("paymentRef", "must be 1 to %d visible ASCII characters", PaymentRefCharsMax)
		}
	}
	return text
}

// confirmThroughProvider takes the money and confirms, or fails the booking. Nothing is locked meanwhile (M-20): if
// the hold ends before the money arrives, the confirm records that it is due back (M-22).
func (s *Server) confirmThroughProvider(c *Call, ref fsm.BookingRef, command *wire.Confirm, method string) error {
	booking, ok, err := s.node.Booking(ref, cluster.ReadLeader)
	if err != nil {
		return err
	}
	if !ok {
		return errBookingNotFound()
	}
	if refusal := chargeable(booking, command.UserId); refusal != nil {
		return refusal
	}
	ctx, cancel := context.WithTimeout(context.Background(), providerTimeout)
	defer cancel()
	outcome, err := s.payments.Charge(ctx, payment.Charge{
		Booking: ref.String(), Method: method, Amount: booking.TotalAmount, Currency: booking.Currency,
	})
	if err != nil {
		return fmt.Errorf("%w: %s: %w", cluster.ErrUnknown, method, err)
	}
	if !outcome.Captured {
		return s.failPayment(c, ref, command.UserId, outcome.Reason)
	}
	amount := booking.TotalAmount
	command.Method, command.PaymentRef, command.Amount, command.Currency = method, outcome.Ref, &amount, booking.Currency
	result, err := s.commands.Confirm(ref, command)
	return c.answerResult(result, err)
}

// chargeable refuses to take money for a booking that could not be confirmed. A confirmed one may be asked again: its
// provider gives the reference that confirmed it.
func chargeable(booking *fsm.Booking, user string) *apiError {
	switch {
	case string(booking.User) != user:
		return errNotYourBooking()
	case booking.Status == fsm.StatusExpired:
		return errHoldExpired()
	case booking.Status != fsm.StatusPending && booking.ConfirmedBy == "":
		return errBookingState(booking)
	}
	return nil
}

// failPayment frees the seats of a booking whose payment was declined, at once (M-23).
func (s *Server) failPayment(c *Call, ref fsm.BookingRef, user, reason string) error {
	result, err := s.commands.Release(ref, &wire.Release{UserId: user, PaymentFailed: true})
	if err != nil {
		return err
	}
	if result.Code != fsm.CodeOK {
		return c.refuseResult(result, "changed")
	}
	if result.Booking.Status != fsm.StatusFailed { // it ended otherwise in the meantime
		return errHoldExpired()
	}
	return refuse(fasthttp.StatusPaymentRequired, codePaymentDeclined,
		"the payment was declined ("+reason+"); the booking has failed and its seats are free").
		withText("status", result.Booking.Status.String())
}
