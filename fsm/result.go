package fsm

// Code says how a command ended. Every code but CodeOK means that nothing the caller asked for was done; what a
// refusal may still have recorded (late money) is said where the code is.
type Code uint8

// The codes, each one error of the public API unless it says otherwise.
const (
	CodeOK                   Code = iota
	CodeCommandTooLate            // log time passed the command's notAfter: not applied, and never will be
	CodeFull                      // a limit of the shard is reached: not applied, ask again later
	CodeInvalid                   // Field and Reason say what is wrong
	CodeShowNotFound              //
	CodeBookingNotFound           //
	CodeNotYourBooking            // the booking is another user's; nothing is recorded
	CodeSaleNotOpen               // At says when it opens
	CodeSalePaused                //
	CodeSaleClosed                // closed, cancelled or over
	CodeSeatUnavailable           // Refused says which seats and why
	CodeBookingState              // Booking says in which state it is; a payment that came is recorded there
	CodePaymentRefReused          // the reference belongs to another booking, or this one refuses it
	CodeAmountMismatch            // the payment is recorded, the hold lives on
	CodeExtendLimit               // the hold is at the end of its longest life
	CodeShowInUse                 // seats are held or booked
	CodeHoldExpired               // a payment that came is recorded; Refund says how much is due
	CodeIdempotencyKeyReused      // the key was used with another body
	CodeHoldLimit                 // the user has as many live holds in the show as it allows
	CodeUnsupportedRules          // a step back to older rules
	codeEnd
)

// SeatStatus is the state of one seat at one show.
type SeatStatus uint8

// The states of a seat (M-3).
const (
	SeatAvailable SeatStatus = iota
	SeatHeld
	SeatBooked
	SeatBlocked
)

var seatStatusNames = [...]string{"AVAILABLE", "HELD", "BOOKED", "BLOCKED"}

func (s SeatStatus) String() string { return seatStatusNames[s] }

// Letter is the state's letter in an availability string.
func (s SeatStatus) Letter() byte { return "AHBX"[s] }

// BookingStatus is the state of a booking (M-4).
type BookingStatus uint8

// The states of a booking. StatusNone is no booking at all.
const (
	StatusNone BookingStatus = iota
	StatusPending
	StatusConfirmed
	StatusReleased
	StatusFailed
	StatusExpired
	StatusCancelled
)

var bookingStatusNames = [...]string{"", "PENDING", "CONFIRMED", "RELEASED", "FAILED", "EXPIRED", "CANCELLED"}

func (s BookingStatus) String() string { return bookingStatusNames[s] }

// ParseBookingStatus reads what String wrote; StatusNone for anything else.
func ParseBookingStatus(text string) BookingStatus {
	for s, name := range bookingStatusNames {
		if name == text {
			return BookingStatus(s)
		}
	}
	return StatusNone
}

// PaymentStatus is the state of money (M-4).
type PaymentStatus uint8

// The states of a payment.
const (
	PaymentNone PaymentStatus = iota
	PaymentPending
	PaymentCaptured
	PaymentRefundDue
	PaymentRefunded
	PaymentReversed
)

var paymentStatusNames = [...]string{"NONE", "PENDING", "CAPTURED", "REFUND_DUE", "REFUNDED", "REVERSED"}

func (s PaymentStatus) String() string { return paymentStatusNames[s] }

// ShowStatus is whether a show sells.
type ShowStatus uint8

// The states of a show.
const (
	ShowOnSale ShowStatus = iota
	ShowNotOpen
	ShowPaused
	ShowClosed
	ShowCancelled
)

var showStatusNames = [...]string{"ON_SALE", "NOT_OPEN", "PAUSED", "CLOSED", "CANCELLED"}

func (s ShowStatus) String() string { return showStatusNames[s] }

// Result is a command's answer. It is immutable, and shared by everybody who asks again with the same command id.
type Result struct {
	Code     Code
	Created  bool // the command made the booking or the show
	Replayed bool // an idempotency key or a payment reference had done this before

	Booking *Booking      // the booking as it is after the command
	Show    *Show         // of commands about a show
	Refused []RefusedSeat // CodeSeatUnavailable, in seat order

	Now    Time   // log time at which the command was applied
	At     Time   // CodeSaleNotOpen: when it opens; FindByKey not found: when the answer is final
	Field  string // CodeInvalid: the field of the request
	Reason string // CodeInvalid: what is wrong with it

	Refund         int64  // of a confirm: the money that came with it and is due back, in minor units
	RefundCurrency string // of that money, which need not be the booking's; "" without any

	Claimant   BookingRef // CodePaymentRefReused by Claim: whose it is
	ClaimFinal bool       // whether that claim is final; a tentative one may be taken over
}

// RefusedSeat is a seat that could not be had.
type RefusedSeat struct {
	Seat   SeatIndex
	Label  string
	Status SeatStatus // SeatHeld, SeatBooked or SeatBlocked
	FreeAt Time       // of a held seat: when its hold ends, if nobody extends it
	Mine   BookingRef // the user's own live hold, when that is what is in the way
}

// Booking is a copy of a booking's state. It is small enough, and has few enough parts, to be made for every hold:
// what most bookings have not, and what all of a show share, stands apart. Both are immutable, and never nil.
type Booking struct {
	*ShowNames
	*Details
	Ref         BookingRef
	Show        ShowID
	User        UserID
	Currency    string
	Status      BookingStatus
	Seats       []BookedSeat // every seat it ever had, in seat order
	TotalAmount int64        // of the seats that remain; of an ended booking, of its last ones

	CreatedAt   Time
	UpdatedAt   Time
	ExpiresAt   Time
	FirstHeldAt Time
	AsOf        Time   // log time of this copy
	Sequence    uint64 // order of creation in the shard
	Version     uint32 // the booking's changes, from 1
	ShowVersion uint64 // the show's version that contains its latest change
}

// ShowNames is what a show is called.
type ShowNames struct{ MovieTitle, TheatreName, ScreenName string }

// Details is what few pending bookings have.
type Details struct {
	UserName    string
	Contact     Contact
	Payment     PaymentSummary
	Payments    []Payment // in order of arrival
	ConfirmedBy string    // the payment reference that confirmed it, or ""
	Refused     []string  // payment references that it gave up to other bookings
}

// Contact is how to reach a buyer.
type Contact struct{ Email, Phone, Locale string }

// BookedSeat is a seat of a booking.
type BookedSeat struct {
	Seat    SeatIndex
	Label   string
	Tier    string
	Price   int64
	Remains bool // counts in TotalAmount: not given back by a part cancel
	Status  BookedSeatStatus
}

// BookedSeatStatus is what became of a seat within a booking: held, booked, or how the booking let go of it.
type BookedSeatStatus uint8

// The states of a seat within a booking.
const (
	BookedSeatHeld BookedSeatStatus = iota
	BookedSeatBooked
	BookedSeatReleased
	BookedSeatFailed
	BookedSeatExpired
	BookedSeatCancelled
)

var bookedSeatStatusNames = [...]string{"HELD", "BOOKED", "RELEASED", "FAILED", "EXPIRED", "CANCELLED"}

func (s BookedSeatStatus) String() string { return bookedSeatStatusNames[s] }

// PaymentSummary is a booking's money in one line: the confirming payment, or else what is due back. Its amounts are in
// the booking's currency; what came in another one is among the payments.
type PaymentSummary struct {
	Status       PaymentStatus
	Amount       int64
	RefundAmount int64
}

// Payment is money that arrived for a booking.
type Payment struct {
	Ref          string
	Method       string
	Amount       int64
	Currency     string
	Status       PaymentStatus
	RefundAmount int64
	At           Time
}

// Counts is a show's census (M-33): the first four add up to Total.
type Counts struct{ Available, Held, Booked, Blocked, Total uint32 }

// Show is a copy of a show's state. Its definition is immutable and shared.
type Show struct {
	ID            ShowID
	Definition    *Definition
	Status        ShowStatus
	Revision      uint64 // of the definition, from 1
	LayoutVersion uint64 // the revision that last changed layout or prices
	Version       uint64 // of every change
	AsOf          Time   // log time of that version
	Counts        Counts
}
