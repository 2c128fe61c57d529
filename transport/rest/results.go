package rest

import (
	"fmt"

	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/fsm"
)

// refuseResult turns a command's refusal into an answer. deed is what was not done, for the message: "held".
func (c *Call) refuseResult(r *fsm.Result, deed string) error {
	if r.Code == fsm.CodeSeatUnavailable {
		return c.refuseSeats(r.Refused, deed)
	}
	return resultError(r)
}

// resultError gives the answer to a refusal that is not about seats.
func resultError(r *fsm.Result) error {
	switch r.Code {
	case fsm.CodeInvalid:
		return invalid(r.Field, "%s", r.Reason)
	case fsm.CodeShowNotFound:
		return errNoShow()
	case fsm.CodeBookingNotFound:
		return errBookingNotFound()
	case fsm.CodeNotYourBooking:
		return errNotYourBooking()
	case fsm.CodeBookingState:
		return errBookingState(r.Booking).withRefund(r)
	case fsm.CodeHoldExpired:
		return errHoldExpired().withRefund(r)
	case fsm.CodePaymentRefReused:
		return refuse(fasthttp.StatusConflict, codePaymentRefReused,
			"this paymentRef belongs to another booking; each payment pays for one")
	case fsm.CodeAmountMismatch:
		return errAmountMismatch(r)
	case fsm.CodeExtendLimit:
		return refuse(fasthttp.StatusConflict, codeExtendLimit,
			fmt.Sprintf("the hold is at the end of its longest life, %d times holdSeconds; pay or let it go", fsm.HoldLifeFactor))
	case fsm.CodeIdempotencyKeyReused:
		return refuse(fasthttp.StatusUnprocessableEntity, codeIdempotencyKeyReused,
			"this idempotency key came before with another request; a new request needs a new key")
	}
	return refuseSale(r)
}

// refuseSale turns a refusal that is about the show into an answer.
func refuseSale(r *fsm.Result) error {
	switch r.Code {
	case fsm.CodeSaleNotOpen:
		e := refuse(fasthttp.StatusForbidden, codeSaleNotOpen, "the sale of this show has not opened yet")
		e.details = appendTime(e.member("opensAt"), r.At)
		return e
	case fsm.CodeSalePaused:
		return refuse(fasthttp.StatusForbidden, codeSalePaused, "the sale of this show is paused; live holds can still be paid")
	case fsm.CodeSaleClosed:
		return refuse(fasthttp.StatusGone, codeSaleClosed, "the sale of this show is over").withRefund(r)
	case fsm.CodeShowInUse:
		return refuse(fasthttp.StatusConflict, codeShowInUse,
			"seats of this show are held or booked, so its screen, currency and pricing cannot change")
	case fsm.CodeHoldLimit:
		e := refuse(fasthttp.StatusTooManyRequests, codeHoldLimit,
			"this user has as many live holds for this show as it allows; pay for one or release one")
		e.retryAfter = holdLimitRetrySeconds
		return e
	}
	return fmt.Errorf("a command ended with code %d, which no answer is known for", r.Code)
}

func errNotYourBooking() *apiError {
	return refuse(fasthttp.StatusForbidden, codeNotYourBooking, "this booking belongs to another user; nothing was recorded")
}

func errHoldExpired() *apiError {
	return refuse(fasthttp.StatusGone, codeHoldExpired, "the hold had expired before this call; its seats are free for others")
}

func errBookingState(booking *fsm.Booking) *apiError {
	status := booking.Status.String()
	return refuse(fasthttp.StatusConflict, codeBookingState, "the booking is "+status+", in which this call cannot be done").
		withText("status", status)
}

func errAmountMismatch(r *fsm.Result) *apiError {
	return refuse(fasthttp.StatusConflict, codeAmountMismatch,
		"amount or currency is not the booking's; the payment is recorded as due back, and the hold lives on").
		withInt("totalAmount", r.Booking.TotalAmount).withText("currency", r.Booking.Currency).
		withInt("refund", r.Refund).withText("refundCurrency", r.RefundCurrency)
}

// errReplace refuses a hold whose replace names nothing that it could replace.
func errReplace(r *fsm.Result) *apiError {
	e := refuse(fasthttp.StatusConflict, codeBookingState, "replace must name a live hold of yours for this show; nothing was held")
	if r.Booking != nil {
		e.withText("status", r.Booking.Status.String())
	}
	return e
}

// withRefund says how much money, which came with this call, is due back. Its currency need not be the booking's.
func (e *apiError) withRefund(r *fsm.Result) *apiError {
	if r.Refund <= 0 {
		return e
	}
	e.message += "; the payment is recorded and due back"
	return e.withInt("refund", r.Refund).withText("currency", r.RefundCurrency)
}

// refuseSeats answers that seats could not be had: every one of them, why, and when it may come free. A hot show gives
// this answer most of the time, so it is written without an error in between.
func (c *Call) refuseSeats(refused []fsm.RefusedSeat, deed string) error {
	c.setHeader("Cache-Control", "no-store")
	dst := c.beginError(codeSeatUnavailable, refusedMessage(refused, deed))
	dst = append(dst, `,"details":{"seats":[`...)
	for i := range refused {
		dst = appendRefusedSeat(appendComma(dst, i), &refused[i])
	}
	return c.answer(fasthttp.StatusConflict, append(dst, `]}}`...))
}

func appendRefusedSeat(dst []byte, seat *fsm.RefusedSeat) []byte {
	dst = appendString(append(dst, `{"label":`...), seat.Label)
	dst = appendUint(append(dst, `,"seatId":`...), uint64(seat.Seat)+1)
	if seat.Mine.IsZero() {
		dst = append(append(dst, `,"reason":"`...), seat.Status.String()...)
	} else {
		dst = append(dst, `,"reason":"HELD_BY_YOU","bookingId":"`...)
		dst = seat.Mine.AppendText(dst)
	}
	dst = append(dst, '"')
	if seat.FreeAt > 0 {
		dst = appendTime(append(dst, `,"freeAt":`...), seat.FreeAt)
	}
	return append(dst, '}')
}

// refusedMessage says in a sentence what a person would want to know first.
func refusedMessage(refused []fsm.RefusedSeat, deed string) string {
	first := &refused[0]
	text := first.Label
	if others := len(refused) - 1; others == 1 {
		text += " and 1 more seat"
	} else if others > 1 {
		text += fmt.Sprintf(" and %d more seats", others)
	}
	are := " was"
	if len(refused) > 1 {
		are = " were"
	}
	switch {
	case !first.Mine.IsZero():
		text += are + " in a hold of your own; name it in replace to change its seats"
	case first.Status == fsm.SeatBlocked:
		text += are + " not for sale"
	default:
		text += are + " just taken"
	}
	return text + "; nothing was " + deed
}
