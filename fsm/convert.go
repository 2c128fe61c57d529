package fsm

import (
	"fmt"
	"strings"

	"github.com/houseful/houseful/fsm/wire"
)

// Wire gives a result as it is kept in snapshots and sent between nodes.
func (r *Result) Wire() *wire.Result {
	w := &wire.Result{
		Code: uint32(r.Code), Created: r.Created, Replayed: r.Replayed, NowMs: int64(r.Now), AtMs: int64(r.At),
		Refund: r.Refund, RefundCurrency: r.RefundCurrency, Field: r.Field, Reason: r.Reason,
		Claimant: refBytes(r.Claimant), ClaimFinal: r.ClaimFinal,
	}
	if r.Booking != nil {
		w.Booking = r.Booking.wire()
	}
	if r.Show != nil {
		w.Show = r.Show.wire()
	}
	for _, refused := range r.Refused {
		w.Refused = append(w.Refused, &wire.RefusedSeatView{
			Seat: uint32(refused.Seat), Label: refused.Label, Status: uint32(refused.Status),
			FreeAtMs: int64(refused.FreeAt), Mine: refBytes(refused.Mine),
		})
	}
	return w
}

// ResultFromWire reads what Wire gave; the error says that it cannot be understood.
func ResultFromWire(w *wire.Result) (*Result, error) { return resultFromWire(w, NewLayout) }

func resultFromWire(w *wire.Result, index func(*wire.Layout) (*Layout, error)) (*Result, error) {
	if w == nil || w.Code >= uint32(codeEnd) {
		return nil, fmt.Errorf("a result with the unknown code %d", w.GetCode())
	}
	r := &Result{
		Code: Code(w.Code), Created: w.Created, Replayed: w.Replayed, Now: Time(w.NowMs), At: Time(w.AtMs),
		Refund: w.Refund, RefundCurrency: w.RefundCurrency, Field: w.Field, Reason: w.Reason,
		Claimant: refFromBytes(w.Claimant), ClaimFinal: w.ClaimFinal,
	}
	var err error
	if w.Booking != nil {
		if r.Booking, err = bookingFromWire(w.Booking); err != nil {
			return nil, err
		}
	}
	if w.Show != nil {
		if r.Show, err = showFromWire(w.Show, index); err != nil {
			return nil, err
		}
	}
	for _, refused := range w.Refused {
		if refused.Status > uint32(SeatBlocked) {
			return nil, fmt.Errorf("a seat with the unknown status %d", refused.Status)
		}
		r.Refused = append(r.Refused, RefusedSeat{
			Seat: SeatIndex(refused.Seat), Label: refused.Label, Status: SeatStatus(refused.Status),
			FreeAt: Time(refused.FreeAtMs), Mine: refFromBytes(refused.Mine),
		})
	}
	return r, nil
}

// refBytes gives a reference's bytes; none for the zero reference.
func refBytes(ref BookingRef) []byte {
	if ref.IsZero() {
		return nil
	}
	return append([]byte(nil), ref[:]...)
}

func (c Contact) wire() *wire.Contact {
	if c == (Contact{}) {
		return nil
	}
	return &wire.Contact{Email: c.Email, Phone: c.Phone, Locale: c.Locale}
}

func contactFromWire(w *wire.Contact) Contact {
	return Contact{Email: w.GetEmail(), Phone: w.GetPhone(), Locale: w.GetLocale()}
}

// clone parts a contact from the log entry it came in.
func (c Contact) clone() Contact {
	return Contact{Email: strings.Clone(c.Email), Phone: strings.Clone(c.Phone), Locale: strings.Clone(c.Locale)}
}

func (b *Booking) wire() *wire.BookingView {
	w := &wire.BookingView{
		Ref: refBytes(b.Ref), ShowId: string(b.Show), UserId: string(b.User), UserName: b.UserName,
		Contact: b.Contact.wire(), MovieTitle: b.MovieTitle, TheatreName: b.TheatreName, ScreenName: b.ScreenName,
		Currency: b.Currency, Status: uint32(b.Status), TotalAmount: b.TotalAmount, ConfirmedBy: b.ConfirmedBy,
		CreatedAtMs: int64(b.CreatedAt), UpdatedAtMs: int64(b.UpdatedAt), ExpiresAtMs: int64(b.ExpiresAt),
		FirstHeldAtMs: int64(b.FirstHeldAt), AsOfMs: int64(b.AsOf), Sequence: b.Sequence, Version: b.Version,
		ShowVersion: b.ShowVersion, Refused: b.Refused,
	}
	for i := range b.Seats {
		seat := &b.Seats[i]
		w.Seats = append(w.Seats, &wire.BookedSeatView{
			Seat: uint32(seat.Seat), Label: seat.Label, Tier: seat.Tier, Price: seat.Price, Remains: seat.Remains,
			Status: uint32(seat.Status),
		})
	}
	for i := range b.Payments {
		w.Payments = append(w.Payments, paymentToWire(&b.Payments[i], CodeOK))
	}
	return w
}

func bookingFromWire(w *wire.BookingView) (*Booking, error) {
	if w.Status > uint32(StatusCancelled) {
		return nil, fmt.Errorf("a booking with the unknown status %d", w.Status)
	}
	b := &Booking{
		ShowNames: &ShowNames{MovieTitle: w.MovieTitle, TheatreName: w.TheatreName, ScreenName: w.ScreenName},
		Details: &Details{
			UserName: w.UserName, Contact: contactFromWire(w.Contact), ConfirmedBy: w.ConfirmedBy, Refused: w.Refused,
		},
		Ref: refFromBytes(w.Ref), Show: ShowID(w.ShowId), User: UserID(w.UserId), Currency: w.Currency,
		Status: BookingStatus(w.Status), TotalAmount: w.TotalAmount, CreatedAt: Time(w.CreatedAtMs),
		UpdatedAt: Time(w.UpdatedAtMs), ExpiresAt: Time(w.ExpiresAtMs), FirstHeldAt: Time(w.FirstHeldAtMs),
		AsOf: Time(w.AsOfMs), Sequence: w.Sequence, Version: w.Version, ShowVersion: w.ShowVersion,
	}
	for _, seat := range w.Seats {
		if seat.Status > uint32(BookedSeatCancelled) {
			return nil, fmt.Errorf("a booked seat with the unknown status %d", seat.Status)
		}
		b.Seats = append(b.Seats, BookedSeat{
			Seat: SeatIndex(seat.Seat), Label: seat.Label, Tier: seat.Tier, Price: seat.Price, Remains: seat.Remains,
			Status: BookedSeatStatus(seat.Status),
		})
	}
	for _, p := range w.Payments {
		payment, err := paymentFromWire(p)
		if err != nil {
			return nil, err
		}
		b.Payments = append(b.Payments, payment.Payment)
	}
	b.Payment = summarise(b.Payments, b.Currency, b.ConfirmedBy)
	return b, nil
}

func paymentToWire(p *Payment, answer Code) *wire.PaymentRecord {
	return &wire.PaymentRecord{
		Ref: p.Ref, Method: p.Method, Amount: p.Amount, Currency: p.Currency, Status: uint32(p.Status),
		RefundAmount: p.RefundAmount, AtMs: int64(p.At), Answer: uint32(answer),
	}
}

func paymentFromWire(w *wire.PaymentRecord) (payment, error) {
	if w.Status > uint32(PaymentReversed) || w.Answer >= uint32(codeEnd) {
		return payment{}, fmt.Errorf("a payment with the unknown status %d or answer %d", w.Status, w.Answer)
	}
	return payment{answer: Code(w.Answer), Payment: Payment{
		Ref: w.Ref, Method: w.Method, Amount: w.Amount, Currency: w.Currency, Status: PaymentStatus(w.Status),
		RefundAmount: w.RefundAmount, At: Time(w.AtMs),
	}}, nil
}

func (s *Show) wire() *wire.ShowView {
	c := s.Counts
	return &wire.ShowView{
		ShowId: string(s.ID), Definition: s.Definition.Wire(), Status: uint32(s.Status), Revision: s.Revision,
		LayoutVersion: s.LayoutVersion, Version: s.Version, AsOfMs: int64(s.AsOf),
		Counts: []uint32{c.Available, c.Held, c.Booked, c.Blocked, c.Total},
	}
}

func showFromWire(w *wire.ShowView, index func(*wire.Layout) (*Layout, error)) (*Show, error) {
	if w.Status > uint32(ShowCancelled) || len(w.Counts) != 5 || w.Definition == nil {
		return nil, fmt.Errorf("a show with the unknown status %d, or without counts or definition", w.Status)
	}
	definition, err := newDefinition(w.Definition, index)
	if err != nil {
		return nil, err
	}
	return &Show{
		ID: ShowID(w.ShowId), Definition: definition, Status: ShowStatus(w.Status), Revision: w.Revision,
		LayoutVersion: w.LayoutVersion, Version: w.Version, AsOf: Time(w.AsOfMs),
		Counts: Counts{w.Counts[0], w.Counts[1], w.Counts[2], w.Counts[3], w.Counts[4]},
	}, nil
}
