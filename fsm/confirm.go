package fsm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/houseful/houseful/fsm/wire"
)

// confirm turns a live hold into a confirmed booking (M-21), or records the money that came too late or in a wrong
// state as due back (M-22). The codes CodeHoldExpired, CodeSaleClosed, CodeBookingState and CodeAmountMismatch of a
// confirm say that the money is recorded; every other refusal has recorded nothing.
func (m *Machine) confirm(c *wire.Confirm) *Result {
	place, refusal := m.owned(c.Booking, c.UserId)
	if refusal != nil {
		return refusal
	}
	if c.PaymentRef == "" || c.GetAmount() < 0 { // any other wrong amount is money that is due back
		return m.invalid("paymentRef", "a payment needs a reference and an amount that is not negative")
	}
	b := m.bookings.get(place)
	if b.extra != nil {
		if slices.Contains(b.extra.refused, c.PaymentRef) {
			return m.refuse(CodePaymentRefReused)
		}
		if known := b.payment(c.PaymentRef); known != nil {
			return m.repeatPayment(place, known)
		}
		if len(b.extra.payments) >= PaymentsPerBookingMax {
			return m.refuse(CodeFull)
		}
	}
	m.expireIfDue(place)
	switch b = m.bookings.get(place); b.status {
	case StatusPending:
		return m.confirmPending(place, c)
	case StatusExpired:
		return m.late(place, c, CodeHoldExpired)
	}
	return m.late(place, c, CodeBookingState)
}

// confirmPending decides about the payment of a live hold.
func (m *Machine) confirmPending(place uint32, c *wire.Confirm) *Result {
	b := m.bookings.get(place)
	if m.shows.get(b.show).control == controlCancelled {
		return m.late(place, c, CodeSaleClosed)
	}
	total, currency := b.total(), b.definition.Spec.Currency
	if (c.Amount != nil && *c.Amount != total) || (c.Currency != "" && c.Currency != currency) {
		return m.late(place, c, CodeAmountMismatch)
	}
	b, s := m.change(place)
	m.unhold(b)
	b.status = StatusConfirmed
	seats := m.ownSeats(s)
	count := 0
	for i, seat := range b.seats {
		if b.remains(i) {
			assert(seats.owner[seat] == place+ownerBooking, "a booking confirmed a seat of another")
			seats.mark(seat, s.version)
			count++
		}
	}
	m.count(s, SeatHeld, SeatBooked, count)
	p := m.record(b, c, PaymentCaptured, CodeOK)
	b.extra.confirmedBy = p.Ref
	m.stats.Confirms++
	return m.done(place)
}

// late records money that cannot confirm its booking: it is due back.
func (m *Machine) late(place uint32, c *wire.Confirm, code Code) *Result {
	b, _ := m.change(place)
	if b.status != StatusPending && b.status != StatusConfirmed && !b.paid() {
		m.endedUnpaid-- // it is kept now until its show leaves
	}
	p := m.record(b, c, PaymentRefundDue, code)
	m.stats.LatePayments++
	return &Result{Code: code, Refund: p.RefundAmount, RefundCurrency: p.Currency, Booking: m.bookingView(b, m.now)}
}

// record adds a payment to a booking that is being changed.
func (m *Machine) record(b *booking, c *wire.Confirm, status PaymentStatus, answer Code) *payment {
	p := payment{answer: answer, Payment: Payment{
		Ref: strings.Clone(c.PaymentRef), Method: strings.Clone(c.Method), Amount: b.total(), Status: status,
		Currency: b.definition.Spec.Currency, At: m.now,
	}}
	if c.Amount != nil {
		p.Amount = *c.Amount
	}
	if c.Currency != "" {
		p.Currency = strings.Clone(c.Currency)
	}
	if status == PaymentRefundDue {
		p.RefundAmount = p.Amount
	}
	e := b.editExtra()
	e.payments = append(slices.Clip(e.payments), p)
	return &p
}

// repeatPayment gives the answer that a payment got when it came first; of the confirming one, with the booking as
// it is now.
func (m *Machine) repeatPayment(place uint32, p *payment) *Result {
	m.expireIfDue(place)
	r := &Result{Code: p.answer, Replayed: true, Booking: m.bookingView(m.bookings.get(place), m.now)}
	if p.answer != CodeOK {
		r.Refund, r.RefundCurrency = p.Amount, p.Currency
	}
	return r
}

// payment finds a payment by its reference.
func (b *booking) payment(ref string) *payment {
	if b.extra == nil {
		return nil
	}
	for i := range b.extra.payments {
		if b.extra.payments[i].Ref == ref {
			return &b.extra.payments[i]
		}
	}
	return nil
}

// owned finds a booking and checks whose it is.
func (m *Machine) owned(ref []byte, who string) (uint32, *Result) {
	place, ok := m.findBooking(refFromBytes(ref))
	if !ok {
		return 0, m.refuse(CodeBookingNotFound)
	}
	if m.users.get(m.bookings.get(place).user).id != UserID(who) {
		return 0, m.refuse(CodeNotYourBooking)
	}
	return place, nil
}

// refuseReference makes a booking refuse a payment reference from now on, so that another booking may have it.
// CodePaymentRefReused says that money of that reference is recorded here: then it stays.
func (m *Machine) refuseReference(c *wire.RefuseReference) *Result {
	place, ok := m.findBooking(refFromBytes(c.Booking))
	if !ok {
		return &Result{} // a booking that is not there will never take the payment
	}
	b := m.bookings.get(place)
	switch {
	case b.payment(c.PaymentRef) != nil:
		return m.refuse(CodePaymentRefReused)
	case b.extra != nil && slices.Contains(b.extra.refused, c.PaymentRef):
		return &Result{}
	case b.extra != nil && len(b.extra.refused) >= PaymentsPerBookingMax:
		return m.refuse(CodeFull)
	}
	b, _ = m.change(place)
	e := b.editExtra()
	e.refused = append(slices.Clip(e.refused), strings.Clone(c.PaymentRef))
	return &Result{}
}

// claim binds a payment reference to one booking in the whole cluster. A tentative claim may be taken over by
// another booking after the claimant's shard has refused the reference; a final one never moves.
func (m *Machine) claim(c *wire.Claim) *Result {
	booking := refFromBytes(c.Booking)
	if c.PaymentRef == "" || booking.IsZero() {
		return m.invalid("paymentRef", "a claim needs a payment reference and a booking")
	}
	if c.Action < wire.ClaimAction_CLAIM_ACTION_TAKE || c.Action > wire.ClaimAction_CLAIM_ACTION_TAKE_OVER {
		return m.invalid("action", fmt.Sprintf("unknown action %d", c.Action))
	}
	m.forgetClaims(2)
	place, known := m.claimByRef[c.PaymentRef]
	if !known {
		return m.newClaim(c, booking)
	}
	held := m.claims.get(place)
	mine := held.booking == booking
	if c.Action == wire.ClaimAction_CLAIM_ACTION_TAKE_OVER && !held.final && !mine && held.booking == refFromBytes(c.From) {
		taken := m.claims.edit(place)
		taken.booking, taken.attempts = booking, 1
		return &Result{}
	}
	if !mine {
		if c.Action == wire.ClaimAction_CLAIM_ACTION_WITHDRAW {
			return &Result{}
		}
		return &Result{Code: CodePaymentRefReused, Claimant: held.booking, ClaimFinal: held.final}
	}
	own := m.claims.edit(place)
	switch c.Action {
	case wire.ClaimAction_CLAIM_ACTION_TAKE, wire.ClaimAction_CLAIM_ACTION_TAKE_OVER:
		own.attempts++
	case wire.ClaimAction_CLAIM_ACTION_FINALISE:
		own.final = true
	case wire.ClaimAction_CLAIM_ACTION_WITHDRAW:
		// Another confirm of the same booking and reference may be on its way: it keeps the claim.
		if own.attempts = max(own.attempts, 1) - 1; own.attempts == 0 && !own.final {
			m.dropClaim(place)
		}
	}
	return &Result{}
}

func (m *Machine) newClaim(c *wire.Claim, booking BookingRef) *Result {
	if c.Action == wire.ClaimAction_CLAIM_ACTION_WITHDRAW {
		return &Result{}
	}
	if m.claims.count >= ClaimsMax {
		return m.refuse(CodeFull)
	}
	m.sequence++
	place := m.claims.add(claim{
		ref: strings.Clone(c.PaymentRef), booking: booking, takenAt: m.now, sequence: m.sequence, attempts: 1,
		final: c.Action == wire.ClaimAction_CLAIM_ACTION_FINALISE,
	})
	m.claimByRef[m.claims.get(place).ref] = place
	m.claimsByAge.push(queued{at: m.now, sequence: m.sequence, place: place})
	return &Result{}
}

func (m *Machine) dropClaim(place uint32) {
	delete(m.claimByRef, m.claims.get(place).ref)
	m.claims.remove(place)
}

// forgetClaims lets go of up to limit claims past their life.
func (m *Machine) forgetClaims(limit int) {
	for dropped := 0; dropped < limit && m.claimsByAge.len() > 0; {
		oldest := m.claimsByAge.at(m.claimsByAge.head)
		if m.now < oldest.at.Add(ClaimLife) {
			return
		}
		if m.claims.holds(oldest.place) && m.claims.get(oldest.place).sequence == oldest.sequence {
			m.dropClaim(oldest.place)
			dropped++
		}
		m.claimsByAge.pop()
	}
}
