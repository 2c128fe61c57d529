package fsm

import (
	"bytes"
	"slices"

	"github.com/houseful/houseful/fsm/wire"
)

func (m *model) owned(ref []byte, user string) (*modelBooking, *Result) {
	b := m.booking(ref)
	switch {
	case b == nil:
		return nil, &Result{Code: CodeBookingNotFound}
	case b.user != UserID(user):
		return nil, &Result{Code: CodeNotYourBooking}
	}
	return b, nil
}

func (m *model) confirm(c *wire.Confirm) *Result {
	b, refusal := m.owned(c.Booking, c.UserId)
	switch {
	case refusal != nil:
		return refusal
	case slices.Contains(b.refused, c.PaymentRef):
		return &Result{Code: CodePaymentRefReused}
	}
	for _, p := range b.payments {
		if p.Ref == c.PaymentRef { // repeating the call repeats the answer
			r := &Result{Code: p.answer, Replayed: true, Booking: b.view(m.now)}
			if p.answer != CodeOK {
				r.Refund, r.RefundCurrency = p.Amount, p.Currency
			}
			return r
		}
	}
	paid := payment{Payment: Payment{Ref: c.PaymentRef, Method: c.Method, Amount: b.total(), Currency: b.currency, Status: PaymentRefundDue, At: m.now}}
	if c.Amount != nil {
		paid.Amount = *c.Amount
	}
	if c.Currency != "" {
		paid.Currency = c.Currency
	}
	switch {
	case b.status == StatusExpired:
		paid.answer = CodeHoldExpired
	case b.status != StatusPending:
		paid.answer = CodeBookingState
	case m.shows[b.show].control == wire.ShowAction_SHOW_ACTION_CANCEL:
		paid.answer = CodeSaleClosed
	case paid.Amount != b.total() || paid.Currency != b.currency:
		paid.answer = CodeAmountMismatch
	default:
		paid.Status, b.status, b.confirmedBy = PaymentCaptured, StatusConfirmed, c.PaymentRef
	}
	back := ""
	if paid.Status == PaymentRefundDue {
		paid.RefundAmount, back = paid.Amount, paid.Currency
	}
	b.payments = append(b.payments, paid)
	return &Result{Code: paid.answer, Refund: paid.RefundAmount, RefundCurrency: back, Booking: b.view(m.now)}
}

func (m *model) release(c *wire.Release) *Result {
	b, refusal := m.owned(c.Booking, c.UserId)
	switch {
	case refusal != nil:
		return refusal
	case b.status == StatusConfirmed:
		return &Result{Code: CodeBookingState, Booking: b.view(m.now)}
	case b.status == StatusPending && c.PaymentFailed:
		m.end(b, StatusFailed)
	case b.status == StatusPending:
		m.end(b, StatusReleased)
	}
	return &Result{Booking: b.view(m.now)}
}

func (m *model) extend(c *wire.Extend) *Result {
	b, refusal := m.owned(c.Booking, c.UserId)
	switch {
	case refusal != nil:
		return refusal
	case b.status == StatusExpired:
		return &Result{Code: CodeHoldExpired, Booking: b.view(m.now)}
	case b.status != StatusPending:
		return &Result{Code: CodeBookingState, Booking: b.view(m.now)}
	}
	expires := min(m.now+b.holdMs, b.firstHeld+3*b.holdMs)
	if expires <= b.expires {
		return &Result{Code: CodeExtendLimit, Booking: b.view(m.now)}
	}
	b.expires = expires
	return &Result{Booking: b.view(m.now)}
}

func (m *model) cancel(c *wire.Cancel) *Result {
	b, refusal := m.owned(c.Booking, c.UserId)
	if refusal != nil {
		return refusal
	}
	var named []string
	for _, label := range c.Labels {
		known := slices.ContainsFunc(b.seats, func(s modelSeat) bool { return s.label == label })
		if !known || slices.Contains(named, label) {
			return &Result{Code: CodeInvalid}
		}
		named = append(named, label)
	}
	if b.status == StatusPending || b.status == StatusConfirmed {
		m.giveBack(b, named, m.percent(b))
	}
	return &Result{Booking: b.view(m.now)}
}

// percent is the refund that the policy stamped at the hold gives now.
func (m *model) percent(b *modelBooking) int64 {
	left, percent, best := m.shows[b.show].spec.StartsAtMs-int64(m.now), int64(0), int64(-1)
	for _, rule := range b.policy {
		if left >= rule.MinutesBefore*60_000 && rule.MinutesBefore > best {
			percent, best = int64(rule.Percent), rule.MinutesBefore
		}
	}
	return percent
}

// giveBack takes seats (none: all) out of a live booking.
func (m *model) giveBack(b *modelBooking, labels []string, percent int64) {
	amount, going := int64(0), []int(nil)
	for i, s := range b.seats {
		if !s.gone && (labels == nil || slices.Contains(labels, s.label)) {
			going = append(going, i)
			amount += s.price
		}
	}
	if len(going) == 0 {
		return
	}
	if refund := amount * percent / 100; b.status == StatusConfirmed && refund > 0 {
		b.payments = slices.Clone(b.payments)
		for i := range b.payments {
			if p := &b.payments[i]; p.Ref == b.confirmedBy {
				p.Status, p.RefundAmount = PaymentRefundDue, p.RefundAmount+refund
			}
		}
	}
	if len(going) == len(b.remaining()) {
		m.end(b, StatusCancelled) // it keeps its last seats
		return
	}
	for _, i := range going {
		b.seats[i].gone = true
	}
}

func (m *model) claim(c *wire.Claim) *Result {
	m.forgetClaims(2)
	at := slices.IndexFunc(m.claims, func(held *modelClaim) bool { return held.ref == c.PaymentRef })
	who := refFromBytes(c.Booking)
	if at < 0 {
		if c.Action != wire.ClaimAction_CLAIM_ACTION_WITHDRAW {
			m.claims = append(m.claims, &modelClaim{c.PaymentRef, who, m.now, 1, c.Action == wire.ClaimAction_CLAIM_ACTION_FINALISE})
		}
		return &Result{}
	}
	held := m.claims[at]
	switch {
	case c.Action == wire.ClaimAction_CLAIM_ACTION_TAKE_OVER && !held.final && held.booking != who && held.booking == refFromBytes(c.From):
		held.booking, held.attempts = who, 1
	case held.booking != who && c.Action == wire.ClaimAction_CLAIM_ACTION_WITHDRAW:
	case held.booking != who:
		return &Result{Code: CodePaymentRefReused, Claimant: held.booking, ClaimFinal: held.final}
	case c.Action == wire.ClaimAction_CLAIM_ACTION_TAKE, c.Action == wire.ClaimAction_CLAIM_ACTION_TAKE_OVER:
		held.attempts++ // one more confirm of the same booking is under way
	case c.Action == wire.ClaimAction_CLAIM_ACTION_FINALISE:
		held.final = true
	case c.Action == wire.ClaimAction_CLAIM_ACTION_WITHDRAW:
		if held.attempts = max(0, held.attempts-1); held.attempts == 0 && !held.final {
			m.claims = slices.Delete(m.claims, at, at+1)
		}
	}
	return &Result{}
}

func (m *model) refuseReference(c *wire.RefuseReference) *Result {
	b := m.booking(c.Booking)
	if b == nil {
		return &Result{}
	}
	for _, p := range b.payments {
		if p.Ref == c.PaymentRef {
			return &Result{Code: CodePaymentRefReused}
		}
	}
	if !slices.Contains(b.refused, c.PaymentRef) {
		b.refused = append(b.refused, c.PaymentRef)
	}
	return &Result{}
}

func (m *model) showView(s *modelShow) *Show {
	return &Show{ID: s.id, Status: s.status(m.now), Revision: s.revision, Counts: m.counts(s)}
}

func (m *model) putShow(c *wire.PutShow) *Result {
	layout, err := NewLayout(c.Definition.Layout)
	if err != nil {
		return &Result{Code: CodeInvalid}
	}
	s, created := m.shows[ShowID(c.ShowId)], false
	if s == nil {
		created = true
		s = &modelShow{id: ShowID(c.ShowId), blocked: map[SeatIndex]bool{}, revision: m.departed[ShowID(c.ShowId)]}
		delete(m.departed, s.id)
		m.shows[s.id] = s
		s.spec, s.layout, s.prices = c.Definition.Spec, layout, c.Definition.TierPrices
	}
	pricing := func(p *wire.Pricing) []byte { return appendPricing(nil, p) }
	was, is := s.spec, c.Definition.Spec
	switch {
	case !created && bytes.Equal(appendSpec(nil, was), appendSpec(nil, is)):
		return &Result{Show: m.showView(s)}
	case !created && s.control == wire.ShowAction_SHOW_ACTION_CANCEL:
		return &Result{Code: CodeSaleClosed}
	case was.ScreenId == is.ScreenId && was.Currency == is.Currency && bytes.Equal(pricing(was.Pricing), pricing(is.Pricing)):
	default:
		if n := m.counts(s); n.Held+n.Booked > 0 {
			return &Result{Code: CodeShowInUse}
		}
		blocked := map[SeatIndex]bool{}
		for seat := range s.blocked {
			if kept, ok := layout.Find(s.layout.Label(seat)); ok {
				blocked[kept] = true
			}
		}
		s.layout, s.prices, s.blocked = layout, c.Definition.TierPrices, blocked
	}
	s.spec = is
	s.revision++
	m.browse[s.id] = s.revision
	return &Result{Created: created, Show: m.showView(s)}
}

func (m *model) browseSent(c *wire.BrowseSent) *Result {
	id := ShowID(c.ShowId)
	if revision, ok := m.departed[id]; ok && c.Revision >= revision {
		delete(m.departed, id)
	}
	if m.browse[id] == c.Revision {
		delete(m.browse, id)
	}
	return &Result{}
}

func (m *model) block(c *wire.Block) *Result {
	s := m.shows[ShowID(c.ShowId)]
	if s == nil {
		return &Result{Code: CodeShowNotFound}
	}
	seats := resolveLabels(s.layout, c.Labels, c.SeatIds)
	if seats == nil {
		return &Result{Code: CodeInvalid}
	}
	refused := slices.DeleteFunc(m.refused(s, seats, "", nil), func(r RefusedSeat) bool { return r.Status == SeatBlocked })
	if len(refused) > 0 {
		return &Result{Code: CodeSeatUnavailable, Refused: refused}
	}
	for _, seat := range seats {
		if delete(s.blocked, seat); !c.Unblock {
			s.blocked[seat] = true
		}
	}
	return &Result{Show: m.showView(s)}
}

func (m *model) controlShow(c *wire.ControlShow) *Result {
	s := m.shows[ShowID(c.ShowId)]
	switch {
	case s == nil:
		return &Result{Code: CodeShowNotFound}
	case s.control == wire.ShowAction_SHOW_ACTION_CANCEL && c.Action != s.control:
		return &Result{Code: CodeSaleClosed}
	}
	s.control = c.Action
	for _, b := range m.bookings {
		if c.Action == wire.ShowAction_SHOW_ACTION_CANCEL && b.show == s.id && (b.status == StatusPending || b.status == StatusConfirmed) {
			m.giveBack(b, nil, 100)
		}
	}
	return &Result{Show: m.showView(s)}
}
