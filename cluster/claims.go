package cluster

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// A payment reference is bound to one booking in the whole cluster (M-21). The binding, a claim, lives in the shard
// that the reference hashes to; the money is recorded in the booking's shard. A confirm therefore goes in steps:
//
//	1  TAKE       claim shard      tentative, for this booking
//	2  confirm    booking's shard  takes the money, or records it as due back, or refuses it
//	3  FINALISE   claim shard      when money was recorded
//	   WITHDRAW   claim shard      when none was, so that nobody can burn a reference that is not theirs
//
// When step 1 meets the tentative claim of another booking, nobody knows whether that one's step 2 happened, or still
// will. So, before anything is taken over:
//
//	1a read       own shard        the booking must be there, the caller's, and not have given the reference up, or the
//	                               answer is that refusal: nobody else may make the claimant refuse its reference
//	1b refuse     claimant's shard the claimant's booking refuses the reference from now on, unless it has the money
//	1c FINALISE   claim shard      for the claimant, when it has the money: the answer is PAYMENT_REF_REUSED
//	   TAKE_OVER  claim shard      when it refuses
//
// What a crash (or an unknown outcome) leaves behind, and how the next confirm with the same reference ends:
//
//	after step    left behind                 next confirm, same booking       next confirm, another booking
//	1             tentative, no money         TAKE again, goes on              1b refuses the first, TAKE_OVER, goes on
//	1b            tentative, refused there    REUSED, still tentative          as after 1
//	1c TAKE_OVER  tentative, no money         as after 1                       as after 1; the loser: REUSED
//	1c FINALISE   final, the claimant's       REUSED                           REUSED
//	2, money      tentative, money recorded   the same answer, FINALISE        1b finds the money: FINALISE, REUSED
//	2, no money   tentative, no money         TAKE again, the same refusal     1b refuses the first, TAKE_OVER, goes on
//	3 FINALISE    final                       the same answer                  REUSED
//	3 WITHDRAW    no claim                    from the start                   from the start
//
// At no point can two bookings record money of one reference: step 2 needs the claim, a claim moves only after its
// claimant refused, and refusing and recording exclude each other in the claimant's log.

// step is a step of the saga, for tests that cut it off.
type step uint8

const (
	stepTake step = iota + 1
	stepReadOwn
	stepRefuse
	stepFinaliseOther
	stepTakeOver
	stepConfirm
	stepSettle
)

// confirmation is one run of the saga.
type confirmation struct {
	node     *Node
	booking  fsm.BookingRef
	command  *wire.Confirm
	own      *dataShard // of the booking
	claims   *dataShard // of the payment reference
	shards   []*dataShard
	deadline time.Time
}

// Confirm pays for a booking. It claims the payment reference in the whole cluster first (M-21). c.Booking is set
// from ref.
func (n *Node) Confirm(ref fsm.BookingRef, c *wire.Confirm) (*fsm.Result, error) {
	shards, deadline, err := n.begin()
	if err != nil {
		return nil, err
	}
	defer n.inside.leave()
	own := shardOfBooking(shards, ref)
	if own == nil {
		return n.noSuchBooking(), nil
	}
	c.Booking = ref[:]
	run := &confirmation{
		node: n, booking: ref, command: c, own: own, claims: shards[ShardOf(c.PaymentRef, len(shards))],
		shards: shards, deadline: deadline,
	}
	return run.run()
}

func (r *confirmation) run() (*fsm.Result, error) {
	if refusal, err := r.take(); refusal != nil || err != nil {
		return refusal, err
	}
	if err := r.reached(stepTake); err != nil {
		return nil, err
	}
	result, err := r.node.decide(r.own, drawCommandID(), fieldConfirm, r.command, r.deadline)
	if cut := r.reached(stepConfirm); cut != nil {
		return nil, cut
	}
	switch {
	case errors.Is(err, ErrUnknown):
		return nil, err // tentative: the next confirm with this reference finds out
	case err != nil:
		r.settle(wire.ClaimAction_CLAIM_ACTION_WITHDRAW)
		return nil, err
	case moneyRecorded(result.Code):
		r.settle(wire.ClaimAction_CLAIM_ACTION_FINALISE)
	default:
		r.settle(wire.ClaimAction_CLAIM_ACTION_WITHDRAW)
	}
	return result, nil
}

// moneyRecorded says whether a confirm with this result is written down at its booking, as paid or as due back.
func moneyRecorded(code fsm.Code) bool {
	switch code {
	case fsm.CodeOK, fsm.CodeHoldExpired, fsm.CodeBookingState, fsm.CodeSaleClosed, fsm.CodeAmountMismatch:
		return true
	}
	return false
}

// take gets the tentative claim, or a refusal to answer with. An error is ErrNotApplied even when a claim's outcome is
// unknown: no booking has been asked yet.
func (r *confirmation) take() (*fsm.Result, error) {
	action, from := wire.ClaimAction_CLAIM_ACTION_TAKE, []byte(nil)
	for round := range claimRoundsMax {
		result, err := r.claim(r.booking, action, from, r.deadline)
		switch {
		case err != nil:
			return nil, fmt.Errorf("claim the payment reference: %w", certainly(err))
		case result.Code != fsm.CodePaymentRefReused:
			return refusalOf(result), nil
		case result.ClaimFinal:
			return &fsm.Result{Code: fsm.CodePaymentRefReused, Now: result.Now}, nil
		}
		if round == 0 {
			if refusal, err := r.readOwn(); refusal != nil || err != nil {
				return refusal, err
			}
		}
		claimant := result.Claimant
		if refusal, err := r.refuseOther(claimant); refusal != nil || err != nil {
			return refusal, err
		}
		action, from = wire.ClaimAction_CLAIM_ACTION_TAKE_OVER, claimant[:]
	}
	return nil, fmt.Errorf("the payment reference changes hands too fast: %w", ErrOverloaded)
}

// refusalOf is the result when it is a refusal.
func refusalOf(result *fsm.Result) *fsm.Result {
	if result.Code == fsm.CodeOK {
		return nil
	}
	return result
}

// readOwn checks, in log order, that the booking is there and the caller's.
func (r *confirmation) readOwn() (*fsm.Result, error) {
	read := &wire.ReadBooking{Booking: r.booking[:]}
	result, err := r.node.decide(r.own, drawCommandID(), fieldReadBooking, read, r.deadline)
	if cut := r.reached(stepReadOwn); cut != nil {
		return nil, cut
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the booking: %w", certainly(err))
	case result.Code != fsm.CodeOK:
		return result, nil
	case string(result.Booking.User) != r.command.UserId:
		return &fsm.Result{Code: fsm.CodeNotYourBooking, Now: result.Now}, nil
	case slices.Contains(result.Booking.Refused, r.command.PaymentRef):
		// It gave this reference up before. Taking the claim back would only make the claimant give it up as well.
		return &fsm.Result{Code: fsm.CodePaymentRefReused, Now: result.Now}, nil
	}
	return nil, nil
}

// refuseOther makes the claimant refuse the reference, so that its claim may be taken over. If the claimant has money
// of it already, its claim is made final and that is the answer.
func (r *confirmation) refuseOther(claimant fsm.BookingRef) (*fsm.Result, error) {
	other := shardOfBooking(r.shards, claimant)
	if other == nil {
		return nil, nil // a booking that cannot be there will never take the money
	}
	refuse := &wire.RefuseReference{Booking: claimant[:], PaymentRef: r.command.PaymentRef}
	result, err := r.node.decide(other, drawCommandID(), fieldRefuseReference, refuse, r.deadline)
	if cut := r.reached(stepRefuse); cut != nil {
		return nil, cut
	}
	if err != nil {
		return nil, fmt.Errorf("ask the claimant of the payment reference: %w", certainly(err))
	}
	if result.Code == fsm.CodeOK {
		return nil, nil
	}
	_, err = r.claim(claimant, wire.ClaimAction_CLAIM_ACTION_FINALISE, nil, r.settleDeadline())
	if err != nil {
		r.node.claimsLeft.Add(1) // whoever meets it next comes to the same end
	}
	if cut := r.reached(stepFinaliseOther); cut != nil {
		return nil, cut
	}
	return &fsm.Result{Code: fsm.CodePaymentRefReused, Now: result.Now}, nil
}

// settle ends the claim. It holds the answer up only for a moment: a claim that stays tentative is settled by the next
// confirm that meets it.
func (r *confirmation) settle(action wire.ClaimAction) {
	if _, err := r.claim(r.booking, action, nil, r.settleDeadline()); err != nil {
		r.node.claimsLeft.Add(1)
	}
	_ = r.reached(stepSettle)
}

// settleDeadline is soon, and after the request's own deadline when that has passed: the log still takes it.
func (r *confirmation) settleDeadline() time.Time { return time.Now().Add(settleWaitMax) }

func (r *confirmation) claim(booking fsm.BookingRef, action wire.ClaimAction, from []byte, deadline time.Time) (*fsm.Result, error) {
	command := &wire.Claim{PaymentRef: r.command.PaymentRef, Booking: booking[:], Action: action, From: from}
	result, err := r.node.decide(r.claims, drawCommandID(), fieldClaim, command, deadline)
	if action == wire.ClaimAction_CLAIM_ACTION_TAKE_OVER {
		if cut := r.reached(stepTakeOver); cut != nil {
			return nil, cut
		}
	}
	return result, err
}

// certainly turns an unknown outcome of a preparing step into the certainty that the booking was not asked.
func certainly(err error) error {
	if errors.Is(err, ErrUnknown) {
		return ErrNotReady
	}
	return err
}

// reached lets a test cut the saga off after a step, as a crash would.
func (r *confirmation) reached(s step) error {
	if r.node.hooks.claim == nil {
		return nil
	}
	return r.node.hooks.claim(s)
}
