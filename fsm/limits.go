package fsm

import "time"

// The limits of a shard. A limit that is reached refuses with a reason or lets go of the oldest that nobody needs;
// none of them ends a sale.
const (
	// SeatsPerScreenMax is the most seats a layout may have.
	SeatsPerScreenMax = 100_000
	// RowLabelCharsMax is the most letters in a row's label.
	RowLabelCharsMax = 3
	// ShowsMax is the most shows in a shard; at the limit a new one is refused with CodeFull.
	ShowsMax = 1 << 17
	// SeatsPerBookingMax bounds a show's maxSeatsPerBooking.
	SeatsPerBookingMax = 100
	// HoldsPerUserMax bounds a show's maxHoldsPerUser.
	HoldsPerUserMax = 1_000_000
	// HoldSecondsMax bounds a show's holdSeconds.
	HoldSecondsMax = 3600
	// HoldLifeFactor times holdSeconds is the longest life of a hold, however often it is extended (M-15).
	HoldLifeFactor = 3
	// PaymentsPerBookingMax is the most payments, and the most refused references, that a booking remembers.
	PaymentsPerBookingMax = 64

	// CommandLifeMax is how far notAfter may lie after log time; a command beyond it is refused with CodeFull. Answers
	// are kept until notAfter, so a command sent twice has one effect.
	CommandLifeMax = 15 * time.Second
	// TimeMax is the last moment that log time, or a show, may have: the end of the year 9999.
	TimeMax Time = 253_402_300_799_999
	// AnswersMax is the most answers kept for retries; at the limit new commands are refused with CodeFull.
	AnswersMax = 1 << 20
	// IdempotencyKeysMax is the most idempotency keys kept; at the limit the oldest goes.
	IdempotencyKeysMax = 1 << 20
	// IdempotencyLife is how long an idempotency key is kept, in log time (M-16).
	IdempotencyLife = 24 * time.Hour
	// EndedBookingLife is how long an unpaid ended booking is kept.
	EndedBookingLife = 24 * time.Hour
	// EndedBookingsMax is the most unpaid ended bookings kept; at the limit the oldest goes.
	EndedBookingsMax = 1 << 20
	// RetentionAfterShow is how long a show and its bookings are kept after its end.
	RetentionAfterShow = 90 * 24 * time.Hour
	// ClaimLife is how long a payment claim is kept: a year's sale ahead, and more than the retention after it.
	ClaimLife = 500 * 24 * time.Hour
	// ClaimsMax is the most payment claims in a shard; at the limit a confirm is refused with CodeFull before it
	// reaches the booking.
	ClaimsMax = 1 << 24
	// PulseWorkMax is how many bookings one pulse ends or lets go of.
	PulseWorkMax = 1024
	// CancelWorkMax is how many bookings one step of cancelling a show ends.
	CancelWorkMax = 256
	// ListMax is the most items one listing gives.
	ListMax = 1000
)
