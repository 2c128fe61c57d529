package rest

import (
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"
)

// Errors of starting and running a server.
var (
	// ErrOpenMode is returned by Serve when, without keys, the listener is not on loopback.
	ErrOpenMode = errors.New("without keys the API is open to everybody, so it listens on loopback only: " +
		"use --http 127.0.0.1:8080, and let a proxy that authenticates stand in front")
	// ErrConfig is returned by New for a configuration that cannot work.
	ErrConfig = errors.New("HTTP configuration")
)

// The `error` values of the API. They are final: names may be added, never changed.
const (
	codeInvalidRequest       = "INVALID_REQUEST"
	codeUnauthenticated      = "UNAUTHENTICATED"
	codeForbidden            = "FORBIDDEN"
	codeNotYourBooking       = "NOT_YOUR_BOOKING"
	codeSaleNotOpen          = "SALE_NOT_OPEN"
	codeSalePaused           = "SALE_PAUSED"
	codePaymentDeclined      = "PAYMENT_DECLINED"
	codeNotFound             = "NOT_FOUND"
	codeShowNotFound         = "SHOW_NOT_FOUND"
	codeBookingNotFound      = "BOOKING_NOT_FOUND"
	codeMethodNotAllowed     = "METHOD_NOT_ALLOWED"
	codeBodyTooLarge         = "BODY_TOO_LARGE"
	codeUnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE"
	codeSeatUnavailable      = "SEAT_UNAVAILABLE"
	codeBookingState         = "BOOKING_STATE"
	codePaymentRefReused     = "PAYMENT_REF_REUSED"
	codeAmountMismatch       = "AMOUNT_MISMATCH"
	codeExtendLimit          = "EXTEND_LIMIT"
	codeShowInUse            = "SHOW_IN_USE"
	codeHoldExpired          = "HOLD_EXPIRED"
	codeSaleClosed           = "SALE_CLOSED"
	codeIdempotencyKeyReused = "IDEMPOTENCY_KEY_REUSED"
	codeHoldLimit            = "HOLD_LIMIT"
	codeInternal             = "INTERNAL"
	codeOverloaded           = "OVERLOADED"
	codeUnavailable          = "UNAVAILABLE"
)

// apiError is an answer other than the one asked for. A handler returns it; the server writes it.
type apiError struct {
	status     int
	code       string
	message    string
	details    []byte // the members of the details object, encoded; empty: no details
	retryAfter int    // seconds; 0: no Retry-After
	allow      string // the Allow header of a 405
	quiet      bool   // a failure that is not logged: nothing happened, or its cause is in the log already
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

// refuse makes an error without details.
func refuse(status int, code, message string) *apiError {
	return &apiError{status: status, code: code, message: message}
}

// invalid makes a 400 that names the field at fault; the message starts with the field.
func invalid(field, format string, args ...any) *apiError {
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	return &apiError{
		status: fasthttp.StatusBadRequest, code: codeInvalidRequest, message: field + ": " + message,
		details: appendString([]byte(`"field":`), field),
	}
}

// notFound makes a 404; code is the noun's, for example SHOW_NOT_FOUND.
func notFound(code, message string) *apiError { return refuse(fasthttp.StatusNotFound, code, message) }

// withText adds a text member to the details.
func (e *apiError) withText(name, value string) *apiError {
	e.details = appendString(e.member(name), value)
	return e
}

// withInt adds a whole number to the details.
func (e *apiError) withInt(name string, value int64) *apiError {
	e.details = appendInt(e.member(name), value)
	return e
}

func (e *apiError) member(name string) []byte {
	dst := e.details
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	return append(appendString(dst, name), ':')
}
