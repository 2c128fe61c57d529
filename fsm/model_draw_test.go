package fsm

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"pgregory.net/rapid"

	"github.com/houseful/houseful/fsm/wire"
)

// drawer draws commands about few users, shows, seats and payment references, so that they meet.
type drawer struct {
	t   *rapid.T
	sim *simulation
}

func pick[V any](d *drawer, what string, values ...V) V {
	return values[rapid.IntRange(0, len(values)-1).Draw(d.t, what)]
}

func (d *drawer) oneIn(n int, what string) bool {
	return rapid.IntRange(1, n).Draw(d.t, what) == 1
}

// smallLayout has 6 seats in row A with an aisle after the 4th, and some in row B: GOLD and SILVER.
func smallLayout(rowB uint32) *wire.Layout {
	return &wire.Layout{Tiers: []*wire.Tier{{Name: "GOLD", MultiplierPercent: 150}, {Name: "SILVER"}}, Rows: []*wire.Row{
		{Label: "A", Tier: 0, Blocks: []*wire.Span{{First: 1, Last: 4}, {First: 5, Last: 6}}},
		{Label: "B", Tier: 1, Blocks: []*wire.Span{{First: 2, Last: 1 + rowB}}},
	}}
}

// definition draws one of the definitions that a show may have: in one field it differs from the plain one.
func (d *drawer) definition() *wire.ShowDefinition {
	definition := testDefinition()
	definition.Layout, definition.TierPrices = smallLayout(6), []int64{20001, 15000}
	s := definition.Spec
	s.HoldSeconds, s.MaxSeatsPerBooking, s.MaxHoldsPerUser = 60, 4, 2
	s.StartsAtMs, s.EndsAtMs, s.SalesCloseAtMs = int64(start)+2*3_600_000, int64(start)+4*3_600_000, int64(start)+3*3_600_000
	switch rapid.IntRange(0, 9).Draw(d.t, "definition") {
	case 1:
		s.HoldSeconds = 90
	case 2:
		s.HoldSeconds = 5
	case 3:
		s.RefundPolicy = []*wire.RefundRule{{MinutesBefore: 30, Percent: 33}}
	case 4:
		s.ScreenId, definition.Layout = "SCR-2", smallLayout(4)
	case 5:
		s.Pricing, definition.TierPrices = &wire.Pricing{Strategy: PricingFlat, Amount: 30000}, []int64{30000, 30000}
	case 6:
		s.SalesOpenAtMs = int64(start) + 30_000
	case 7:
		s.MaxHoldsPerUser, definition.MovieTitle = 1, "Dune: Part Two"
	case 8:
		s.StartsAtMs, s.EndsAtMs = s.StartsAtMs+30*60_000, s.EndsAtMs+3_600_000
	case 9:
		s.Currency, definition.Layout = "USD", smallLayout(6)
	}
	return definition
}

func (d *drawer) user() string { return pick(d, "user", "u1", "u2", "u3") }

func (d *drawer) show() string {
	if d.oneIn(25, "unknown show") {
		return "nowhere"
	}
	return pick(d, "show", "s1", "s1", "s1", "s2")
}

// booking draws a booking, a recent one more often than not, and who says it is theirs.
func (d *drawer) booking() ([]byte, string) {
	known := d.sim.granted
	if len(known) == 0 || d.oneIn(30, "unknown booking") {
		return []byte("not a booking ..")[:16], d.user()
	}
	at := len(known) - 1 - rapid.IntRange(0, min(len(known)-1, 7)).Draw(d.t, "booking")
	b := known[at]
	if d.oneIn(15, "another's") {
		return b.Ref[:], d.user()
	}
	return b.Ref[:], string(b.User)
}

func (d *drawer) labels(most int) []string {
	labels := make([]string, rapid.IntRange(1, most).Draw(d.t, "seats"))
	for i := range labels {
		labels[i] = pick(d, "label", "A1", "A2", "A3", "A4", "A5", "A6", "B2", "B3", "B4", "B5", "B6", "B7")
	}
	slices.Sort(labels)
	if !d.oneIn(20, "a seat twice") {
		labels = slices.Compact(labels)
	}
	if d.oneIn(30, "unknown seat") {
		labels = append(labels, "B1")
	}
	return labels
}

func (d *drawer) hold() *wire.Hold {
	hold := &wire.Hold{ShowId: d.show(), UserId: d.user(), Labels: d.labels(5)}
	if known := d.sim.granted; len(known) > 0 && d.oneIn(6, "own seats again") {
		b := pick(d, "whose", known[max(0, len(known)-5):]...)
		hold.ShowId, hold.UserId, hold.Labels = string(b.Show), string(b.User), nil
		for _, s := range b.Seats {
			hold.SeatIds = append(hold.SeatIds, uint32(s.Seat)+1)
		}
	}
	if d.oneIn(5, "replace") {
		ref, user := d.booking()
		if hold.Replace = ref; !d.oneIn(4, "by whom") {
			hold.UserId = user
		}
	}
	switch rapid.IntRange(0, 5).Draw(d.t, "name") {
	case 0:
		hold.UserName = "Asha"
	case 1:
		hold.Contact = &wire.Contact{Email: "a@example.org", Locale: "kn"}
	case 2:
		hold.Contact = &wire.Contact{}
	}
	if d.oneIn(3, "keyed") {
		key := sha256.Sum256([]byte(hold.ShowId + hold.UserId + pick(d, "key", "k1", "k2")))
		body := sha256.Sum256([]byte(fmt.Sprint(hold.ShowId, hold.UserId, hold.Labels, hold.SeatIds, hold.Replace)))
		hold.IdempotencyKey, hold.Fingerprint = key[:16], body[:16]
	}
	return hold
}

func (d *drawer) paymentRef() string { return pick(d, "payment", "PAY-1", "PAY-2", "PAY-3", "PAY-4") }

func (d *drawer) confirm() *wire.Confirm {
	ref, user := d.booking()
	confirm := &wire.Confirm{Booking: ref, UserId: user, PaymentRef: d.paymentRef(), Method: "external"}
	if d.oneIn(3, "amount given") {
		amount := pick(d, "amount", int64(20001), 15000, 35001, 0, math.MaxInt64)
		confirm.Amount = &amount
	}
	if d.oneIn(4, "currency given") {
		confirm.Currency = pick(d, "currency", "INR", "INR", "USD")
	}
	return confirm
}

func (d *drawer) claim() *wire.Claim {
	booking, _ := d.booking()
	from, _ := d.booking()
	return &wire.Claim{PaymentRef: d.paymentRef(), Booking: booking, From: from, Action: pick(d, "claim",
		wire.ClaimAction_CLAIM_ACTION_TAKE, wire.ClaimAction_CLAIM_ACTION_FINALISE, wire.ClaimAction_CLAIM_ACTION_WITHDRAW,
		wire.ClaimAction_CLAIM_ACTION_TAKE_OVER)}
}

// command draws a new command of any kind.
func (d *drawer) command() *wire.Command {
	id := d.nextID()
	c := &wire.Command{Id: id[:]}
	switch kind := rapid.IntRange(0, 39).Draw(d.t, "kind"); {
	case kind < 13:
		c.Body = &wire.Command_Hold{Hold: d.hold()}
	case kind < 20:
		c.Body = &wire.Command_Confirm{Confirm: d.confirm()}
	case kind < 23:
		ref, user := d.booking()
		c.Body = &wire.Command_Release{Release: &wire.Release{Booking: ref, UserId: user, PaymentFailed: d.oneIn(3, "failed")}}
	case kind < 26:
		ref, user := d.booking()
		c.Body = &wire.Command_Extend{Extend: &wire.Extend{Booking: ref, UserId: user}}
	case kind < 30:
		ref, user := d.booking()
		cancel := &wire.Cancel{Booking: ref, UserId: user}
		if d.oneIn(2, "some seats") {
			cancel.Labels = d.labels(2)
		}
		c.Body = &wire.Command_Cancel{Cancel: cancel}
	case kind < 32:
		c.Body = &wire.Command_Block{Block: &wire.Block{ShowId: d.show(), Labels: d.labels(2), Unblock: d.oneIn(2, "unblock")}}
	case kind < 34:
		c.Body = &wire.Command_PutShow{PutShow: &wire.PutShow{ShowId: pick(d, "put", "s1", "s2"), Definition: d.definition()}}
	case kind < 36:
		c.Body = &wire.Command_Claim{Claim: d.claim()}
	default:
		d.rare(c)
	}
	return c
}

func (d *drawer) rare(c *wire.Command) {
	ref, _ := d.booking()
	switch rapid.IntRange(0, 6).Draw(d.t, "rare") {
	case 0:
		c.Body = &wire.Command_RefuseReference{RefuseReference: &wire.RefuseReference{Booking: ref, PaymentRef: d.paymentRef()}}
	case 1:
		c.Body = &wire.Command_BrowseSent{BrowseSent: &wire.BrowseSent{
			ShowId: d.show(), Revision: uint64(rapid.IntRange(0, 5).Draw(d.t, "revision")),
		}}
	case 2:
		c.Body = &wire.Command_ReadBooking{ReadBooking: &wire.ReadBooking{Booking: ref}}
	case 3:
		key := sha256.Sum256([]byte("s1" + d.user() + "k1"))
		c.Body = &wire.Command_FindByKey{FindByKey: &wire.FindByKey{ShowId: d.show(), IdempotencyKey: key[:16]}}
	case 4:
		c.Body = &wire.Command_RaiseRules{RaiseRules: &wire.RaiseRules{Version: RulesVersion}}
	case 5:
		action := pick(d, "control", wire.ShowAction_SHOW_ACTION_PAUSE, wire.ShowAction_SHOW_ACTION_CLOSE)
		c.Body = &wire.Command_ControlShow{ControlShow: &wire.ControlShow{ShowId: d.show(), Action: action}}
	case 6:
		action := pick(d, "control", wire.ShowAction_SHOW_ACTION_RESUME, wire.ShowAction_SHOW_ACTION_RESUME, wire.ShowAction_SHOW_ACTION_CANCEL)
		c.Body = &wire.Command_ControlShow{ControlShow: &wire.ControlShow{ShowId: d.show(), Action: action}}
	}
}

func (d *drawer) nextID() (id [16]byte) {
	d.sim.counter++
	binary.BigEndian.PutUint16(id[:2], d.sim.live.shard)
	binary.BigEndian.PutUint64(id[8:], d.sim.counter)
	return id
}

// step draws how much time passes: mostly little, at times up to a moment where something happens, give or take a
// millisecond, at times past what is kept.
func (d *drawer) step() Time {
	now, m := d.sim.now, d.sim.model
	switch rapid.IntRange(0, 11).Draw(d.t, "time") {
	case 0, 1, 2, 3:
		return now
	case 4, 5:
		return now + Time(rapid.IntRange(1, 20_000).Draw(d.t, "ms"))
	case 6:
		return now - Time(rapid.IntRange(1, 5_000).Draw(d.t, "back")) // the clock of another leader
	case 7:
		return max(now, start+2*3_600_000-pick(d, "refund", Time(120), 30, 20)*60_000+pick(d, "refund ms", Time(0), 1))
	case 8:
		if d.oneIn(4, "far") {
			return now + pick(d, "days", Time(1), 1, 91, 500)*24*3_600_000
		}
		return now + 61_000
	}
	var deadlines []Time
	for _, b := range m.bookings {
		if b.status == StatusPending {
			deadlines = append(deadlines, b.expires)
		}
	}
	if len(deadlines) == 0 {
		return now + 1
	}
	return max(now, pick(d, "deadline", deadlines...)+pick(d, "off", Time(-1), 0, 1))
}
