package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

var errCrash = errors.New("crash")

// claimRig is a node with a show on each of many shards, whose claim saga can be cut off after a step.
type claimRig struct {
	*Node
	t     testing.TB
	cutAt atomic.Uint32
	shows int
	seat  atomic.Int64
}

func newClaimRig(t testing.TB) *claimRig {
	t.Helper()
	rig := &claimRig{t: t}
	rig.Node = openHooked(t, testConfig(t), hooks{claim: func(done step) error {
		if uint32(done) == rig.cutAt.Load() {
			return errCrash
		}
		return nil
	}})
	catalogue(t, rig.Node)
	wide := testScreen("WIDE")
	wide.Layout.Rows[0].Blocks = []*wire.Span{{First: 1, Last: 5000}}
	if _, err := rig.PutScreen(t.Context(), wide); err != nil {
		t.Fatal(err)
	}
	for rig.shows = 0; rig.shows < 6; rig.shows++ {
		request := showRequest()
		request.ScreenID = "WIDE"
		most := int64(1_000_000)
		request.MaxHoldsPerUser = &most
		if r, err := rig.PutShow(fsm.ShowID(fmt.Sprint("s", rig.shows)), request); err != nil || r.Code != fsm.CodeOK {
			t.Fatalf("%+v %v", r, err)
		}
	}
	return rig
}

// booking holds a seat that nobody had, on the next show.
func (r *claimRig) booking(user string) fsm.BookingRef {
	r.t.Helper()
	seat := int(r.seat.Add(1))
	return hold(r.t, r.Node, fmt.Sprint("s", seat%r.shows), user, fmt.Sprint("A", seat/r.shows+1))
}

// crash runs a confirm that ends after a step as if the node had died there.
func (r *claimRig) crash(after step, ref fsm.BookingRef, user, payment string) {
	r.t.Helper()
	r.cutAt.Store(uint32(after))
	defer r.cutAt.Store(0)
	_, err := r.Confirm(ref, &wire.Confirm{UserId: user, PaymentRef: payment, Method: "external"})
	if after != stepSettle && !errors.Is(err, errCrash) {
		r.t.Fatalf("the saga did not come to step %d: %v", after, err)
	}
}

// claimant gives who has a payment reference: nobody's is the zero reference.
func (r *claimRig) claimant(payment string) (claimant fsm.BookingRef, final bool) {
	r.t.Helper()
	shards := r.serving()
	probe := drawBookingRef(0)
	s := shards[ShardOf(payment, len(shards))]
	ask := func(action wire.ClaimAction) *fsm.Result {
		c := &wire.Claim{PaymentRef: payment, Booking: probe[:], Action: action}
		result, err := r.decide(s, drawCommandID(), fieldClaim, c, time.Now().Add(r.config.RequestTimeout))
		if err != nil {
			r.t.Fatal(err)
		}
		return result
	}
	if result := ask(wire.ClaimAction_CLAIM_ACTION_TAKE); result.Code == fsm.CodePaymentRefReused {
		return result.Claimant, result.ClaimFinal
	}
	ask(wire.ClaimAction_CLAIM_ACTION_WITHDRAW)
	return fsm.BookingRef{}, false
}

// payers gives the bookings that have money of a reference.
func (r *claimRig) payers(payment string, bookings ...fsm.BookingRef) (payers []fsm.BookingRef) {
	r.t.Helper()
	for _, ref := range bookings {
		b, ok, err := r.Booking(ref, ReadStrong)
		if err != nil || !ok {
			r.t.Fatalf("%s: %v %v", ref, ok, err)
		}
		for _, p := range b.Payments {
			if p.Ref == payment {
				payers = append(payers, ref)
			}
		}
	}
	return payers
}

func (r *claimRig) want(code fsm.Code, ref fsm.BookingRef, user, payment string) {
	r.t.Helper()
	if got := confirm(r.t, r.Node, ref, user, payment); got.Code != code {
		r.t.Errorf("confirm by %s with %s: code %d, want %d", user, payment, got.Code, code)
	}
}

// M-21: the table of claims.go, row by row. a is ann's booking, b bob's, c cat's.
func TestClaimSagaHealsAfterEveryStep(t *testing.T) {
	rig := newClaimRig(t)
	const reused = fsm.CodePaymentRefReused
	type bookings struct{ a, b, c fsm.BookingRef }
	for i, row := range []struct {
		name  string
		crash func(x bookings, ref string)
		next  func(x bookings, ref string)
		payer int // of a, b, c, who has the money in the end; -1 for nobody
	}{
		{"1, same booking", func(x bookings, ref string) { rig.crash(stepTake, x.a, "ann", ref) }, func(x bookings, ref string) {
			rig.want(fsm.CodeOK, x.a, "ann", ref)
			rig.want(reused, x.b, "bob", ref)
		}, 0},
		{"1, another booking", func(x bookings, ref string) { rig.crash(stepTake, x.a, "ann", ref) }, func(x bookings, ref string) {
			rig.want(fsm.CodeOK, x.b, "bob", ref)
			rig.want(reused, x.a, "ann", ref)
		}, 1},
		{"1a", func(x bookings, ref string) {
			rig.crash(stepTake, x.a, "ann", ref)
			rig.crash(stepReadOwn, x.b, "bob", ref)
		}, func(x bookings, ref string) {
			rig.want(fsm.CodeOK, x.a, "ann", ref)
		}, 0},
		{"1b, the claimant", func(x bookings, ref string) {
			rig.crash(stepTake, x.a, "ann", ref)
			rig.crash(stepRefuse, x.b, "bob", ref)
		}, func(x bookings, ref string) {
			rig.want(reused, x.a, "ann", ref)
			rig.want(fsm.CodeOK, x.b, "bob", ref)
		}, 1},
		{"1b, a third booking", func(x bookings, ref string) {
			rig.crash(stepTake, x.a, "ann", ref)
			rig.crash(stepRefuse, x.b, "bob", ref)
		}, func(x bookings, ref string) {
			rig.want(fsm.CodeOK, x.c, "cat", ref)
			rig.want(reused, x.b, "bob", ref)
		}, 2},
		{"1c TAKE_OVER, same booking", func(x bookings, ref string) {
			rig.crash(stepTake, x.a, "ann", ref)
			rig.crash(stepTakeOver, x.b, "bob", ref)
		}, func(x bookings, ref string) {
			rig.want(fsm.CodeOK, x.b, "bob", ref)
			rig.want(reused, x.a, "ann", ref)
		}, 1},
		{"1c TAKE_OVER, a third booking", func(x bookings, ref string) {
			rig.crash(stepTake, x.a, "ann", ref)
			rig.crash(stepTakeOver, x.b, "bob", ref)
		}, func(x bookings, ref string) {
			rig.want(fsm.CodeOK, x.c, "cat", ref)
			rig.want(reused, x.b, "bob", ref)
			rig.want(reused, x.a, "ann", ref)
		}, 2},
		{"1c FINALISE", func(x bookings, ref string) {
			rig.crash(stepConfirm, x.a, "ann", ref)
			rig.crash(stepFinaliseOther, x.b, "bob", ref)
			if claimant, final := rig.claimant(ref); claimant != x.a || !final {
				t.Errorf("the claim is not made final for the one that has the money")
			}
		}, func(x bookings, ref string) {
			rig.want(reused, x.b, "bob", ref)
			rig.want(fsm.CodeOK, x.a, "ann", ref)
		}, 0},
		{"2 with money, same booking", func(x bookings, ref string) { rig.crash(stepConfirm, x.a, "ann", ref) }, func(x bookings, ref string) {
			if r := confirm(t, rig.Node, x.a, "ann", ref); r.Code != fsm.CodeOK || !r.Replayed {
				t.Errorf("again: %+v", r)
			}
			rig.want(reused, x.b, "bob", ref)
		}, 0},
		{"2 with money, another booking, and again a crash", func(x bookings, ref string) {
			rig.crash(stepConfirm, x.a, "ann", ref)
			rig.crash(stepRefuse, x.b, "bob", ref)
		}, func(x bookings, ref string) {
			rig.want(reused, x.c, "cat", ref)
			rig.want(fsm.CodeOK, x.a, "ann", ref)
		}, 0},
		{"2 without money, its owner", func(x bookings, ref string) { rig.crash(stepConfirm, x.a, "eve", ref) }, func(x bookings, ref string) {
			rig.want(fsm.CodeOK, x.a, "ann", ref)
		}, 0},
		{"2 without money, another booking", func(x bookings, ref string) { rig.crash(stepConfirm, x.a, "eve", ref) }, func(x bookings, ref string) {
			rig.want(fsm.CodeOK, x.b, "bob", ref)
		}, 1},
		{"3 FINALISE", func(x bookings, ref string) { rig.crash(stepSettle, x.a, "ann", ref) }, func(x bookings, ref string) {
			rig.want(reused, x.b, "bob", ref)
			rig.want(fsm.CodeOK, x.a, "ann", ref)
		}, 0},
		{"3 WITHDRAW", func(x bookings, ref string) {
			rig.crash(stepSettle, x.a, "eve", ref)
			if claimant, _ := rig.claimant(ref); !claimant.IsZero() {
				t.Error("a refused confirm left a claim")
			}
		}, func(x bookings, ref string) {
			rig.want(fsm.CodeOK, x.b, "bob", ref)
		}, 1},
		{"nothing happens", func(bookings, string) {}, func(x bookings, ref string) {
			rig.want(fsm.CodeNotYourBooking, x.a, "eve", ref)
		}, -1},
	} {
		x := bookings{rig.booking("ann"), rig.booking("bob"), rig.booking("cat")}
		ref := fmt.Sprint("PAY-row-", i)
		row.crash(x, ref)
		row.next(x, ref)
		payers := rig.payers(ref, x.a, x.b, x.c)
		claimant, final := rig.claimant(ref)
		switch {
		case row.payer < 0 && (len(payers) != 0 || !claimant.IsZero()):
			t.Errorf("%s: paid by %v, claimed by %s", row.name, payers, claimant)
		case row.payer >= 0:
			want := [...]fsm.BookingRef{x.a, x.b, x.c}[row.payer]
			if len(payers) != 1 || payers[0] != want || claimant != want || !final {
				t.Errorf("%s: paid by %v, claimed by %s (final: %v), want %s", row.name, payers, claimant, final, want)
			}
		}
		if t.Failed() {
			t.Fatalf("in row %q", row.name)
		}
	}
}

// A stranger, or a booking that does not exist, never makes a claimant refuse its own reference.
func TestStrangersCannotBurnAReference(t *testing.T) {
	rig := newClaimRig(t)
	a, b := rig.booking("ann"), rig.booking("bob")
	nowhere := drawBookingRef(1)
	rig.crash(stepTake, a, "ann", "PAY")
	rig.want(fsm.CodeNotYourBooking, b, "eve", "PAY")
	rig.want(fsm.CodeBookingNotFound, nowhere, "eve", "PAY")
	rig.want(fsm.CodeOK, a, "ann", "PAY")

	rig.want(fsm.CodeNotYourBooking, b, "eve", "PAY-2")
	rig.want(fsm.CodeBookingNotFound, nowhere, "eve", "PAY-2")
	if claimant, _ := rig.claimant("PAY-2"); !claimant.IsZero() {
		t.Errorf("a refusal left a claim of %s", claimant)
	}
	rig.crash(stepTake, nowhere, "eve", "PAY-2")
	rig.want(fsm.CodeOK, b, "bob", "PAY-2")
	rig.want(fsm.CodeInvalid, b, "bob", "")
}

// M-22: late money, and money of a wrong amount, keeps its claim.
func TestRecordedMoneyKeepsItsClaim(t *testing.T) {
	rig := newClaimRig(t)
	a, b, c := rig.booking("ann"), rig.booking("bob"), rig.booking("cat")
	wrong := int64(1)
	r, err := rig.Confirm(c, &wire.Confirm{UserId: "cat", PaymentRef: "PAY-wrong", Amount: &wrong})
	if err != nil || r.Code != fsm.CodeAmountMismatch {
		t.Fatalf("%+v %v", r, err)
	}
	rig.want(fsm.CodePaymentRefReused, b, "bob", "PAY-wrong")
	rig.want(fsm.CodeOK, c, "cat", "PAY-right")
	rig.want(fsm.CodeBookingState, c, "cat", "PAY-second")
	rig.want(fsm.CodePaymentRefReused, b, "bob", "PAY-second")
	if err := rig.AdvanceClock(8 * time.Minute); err != nil {
		t.Fatal(err)
	}
	rig.want(fsm.CodeHoldExpired, a, "ann", "PAY-late")
	rig.want(fsm.CodeHoldExpired, a, "ann", "PAY-late")
	rig.want(fsm.CodePaymentRefReused, rig.booking("dan"), "dan", "PAY-late")
}

// M-21, M-24: any number of bookings, one reference, at once: one has it.
func TestManyBookingsRaceForOneReference(t *testing.T) {
	rig := newClaimRig(t)
	const racers = 8
	for round := range 10 {
		ref := fmt.Sprint("PAY-race-", round)
		var bookings [racers]fsm.BookingRef
		for i := range bookings {
			bookings[i] = rig.booking(fmt.Sprint("u", i))
		}
		var won atomic.Int32
		var racing sync.WaitGroup
		for i := range bookings {
			racing.Go(func() {
				r, err := rig.Confirm(bookings[i], &wire.Confirm{UserId: fmt.Sprint("u", i), PaymentRef: ref})
				switch {
				case err != nil && !errors.Is(err, ErrNotApplied):
					t.Errorf("racer %d: %v", i, err)
				case err == nil && r.Code == fsm.CodeOK:
					won.Add(1)
				case err == nil && r.Code != fsm.CodePaymentRefReused:
					t.Errorf("racer %d: %+v", i, r)
				}
			})
		}
		racing.Wait()
		if payers := rig.payers(ref, bookings[:]...); len(payers) > 1 || int(won.Load()) != len(payers) {
			t.Fatalf("round %d: %d won, paid by %v", round, won.Load(), payers)
		}
	}
}

// M-21: sagas cut off at random, by anybody, in any order: one reference never pays two bookings.
func TestRandomCrashesNeverPayTwice(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rig := newClaimRig(t)
	for round := range 60 {
		ref := fmt.Sprint("PAY-random-", round)
		users := [...]string{"ann", "bob", "cat"}
		var bookings [len(users)]fsm.BookingRef
		for i, user := range users {
			bookings[i] = rig.booking(user)
		}
		accepted := map[int]bool{}
		for range 1 + random.IntN(8) {
			who := random.IntN(len(users))
			user := users[who]
			if random.IntN(4) == 0 {
				user = "eve"
			}
			rig.cutAt.Store(uint32(random.IntN(int(stepSettle) + 3))) // 0 and the last ones: no crash
			r, err := rig.Confirm(bookings[who], &wire.Confirm{UserId: user, PaymentRef: ref})
			rig.cutAt.Store(0)
			switch {
			case errors.Is(err, errCrash):
			case err != nil:
				t.Fatalf("round %d: %v", round, err)
			case r.Code == fsm.CodeOK:
				accepted[who] = true
			case r.Code != fsm.CodePaymentRefReused && r.Code != fsm.CodeNotYourBooking:
				t.Fatalf("round %d: %+v", round, r)
			}
		}
		payers := rig.payers(ref, bookings[:]...)
		if len(payers) > 1 || len(accepted) > 1 {
			t.Fatalf("round %d: paid by %v, accepted for %v", round, payers, accepted)
		}
		for who := range accepted {
			if len(payers) != 1 || payers[0] != bookings[who] {
				t.Fatalf("round %d: accepted for %s, paid by %v", round, users[who], payers)
			}
			rig.want(fsm.CodeOK, bookings[who], users[who], ref)
		}
	}
}
