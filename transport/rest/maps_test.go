package rest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

// box is the rules of one shard with a lock around them, as a group has them, without log and disk.
type box struct {
	mu      sync.RWMutex
	machine *fsm.Machine
	now     fsm.Time
	ids     uint64
	looks   atomic.Int64 // calls of Show
	reads   atomic.Int64 // calls of SeatStatuses
}

const boxStart fsm.Time = 1_800_000_000_000

func newBox() *box { return &box{machine: fsm.New(0), now: boxStart} }

func (b *box) Show(id fsm.ShowID) (fsm.Show, bool, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	b.looks.Add(1)
	show, ok := b.machine.Show(id, b.now)
	return show, ok, nil
}

func (b *box) SeatStatuses(id fsm.ShowID, dst []fsm.SeatStatus) ([]fsm.SeatStatus, fsm.Show, bool, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	b.reads.Add(1)
	dst, show, ok := b.machine.SeatStatuses(id, b.now, dst)
	return dst, show, ok, nil
}

func (b *box) SeatChanges(id fsm.ShowID, since uint64, dst []fsm.SeatChange) ([]fsm.SeatChange, fsm.Show, bool, bool, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	dst, show, complete, ok := b.machine.SeatChanges(id, b.now, since, dst)
	return dst, show, complete, ok, nil
}

// do applies a command at the box's time.
func (b *box) do(command *wire.Command) *fsm.Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ids++
	var random [14]byte
	for i := range 8 {
		random[i] = byte(b.ids >> (8 * i))
	}
	ref := fsm.NewBookingRef(0, random)
	command.Id, command.NotAfterMs = ref[:], int64(b.now)+5000
	return b.machine.Apply(b.now, []*wire.Command{command})[0]
}

// boxLayout has seats in rows of 10 with an aisle in the middle, two tiers.
func boxLayout(t testing.TB, seats int) *wire.Layout {
	t.Helper()
	layout := &wire.Layout{Tiers: []*wire.Tier{{Name: "SILVER"}, {Name: `GO"LD`}}}
	for r := 0; seats > 0; r++ {
		label := string([]byte{byte('A' + r/676%26), byte('A' + r/26%26), byte('A' + r%26)})
		last := min(seats, 10)
		spec := "1-4,5-10"
		if last < 10 {
			spec = fmt.Sprintf("1-%d", last)
		}
		blocks, err := meta.ParseSpans(spec)
		if err != nil {
			t.Fatal(err)
		}
		layout.Rows = append(layout.Rows, &wire.Row{Label: label, Tier: uint32(r % 2), Blocks: blocks})
		seats -= last
	}
	return layout
}

func (b *box) putShow(t testing.TB, id fsm.ShowID, screen string, seats int) *fsm.Result {
	t.Helper()
	result := b.do(&wire.Command{Body: &wire.Command_PutShow{PutShow: &wire.PutShow{ShowId: string(id), Definition: &wire.ShowDefinition{
		Spec: &wire.ShowSpec{
			MovieId: "M", ScreenId: screen, StartsAtMs: int64(boxStart) + 1e9, EndsAtMs: int64(boxStart) + 2e9, Currency: "INR",
			Pricing: &wire.Pricing{Strategy: fsm.PricingFlat, Amount: 100}, HoldSeconds: 5, MaxSeatsPerBooking: 10, MaxHoldsPerUser: 1000,
			SalesCloseAtMs: int64(boxStart) + 1e9,
		},
		Layout: boxLayout(t, seats), TierPrices: []int64{15000, 20000}, MovieTitle: "Dune", TheatreId: "T", TheatreName: "T",
		ScreenName: "S", CityId: "C", TimeZone: "Asia/Kolkata",
	}}}})
	if result.Code != fsm.CodeOK {
		t.Fatalf("put show: code %d %s %s", result.Code, result.Field, result.Reason)
	}
	return result
}

// churn does one random thing to a show, and remembers the live bookings.
type churn struct {
	random *rand.Rand
	box    *box
	show   fsm.ShowID
	seats  int
	live   []*fsm.Booking
}

func (c *churn) step() {
	ids := []uint32{uint32(c.random.IntN(c.seats)) + 1}
	if next := uint32(c.random.IntN(c.seats)) + 1; next != ids[0] {
		ids = append(ids, next)
	}
	var some *fsm.Booking
	if len(c.live) > 0 {
		some = c.live[c.random.IntN(len(c.live))]
	}
	switch kind := c.random.IntN(10); {
	case kind < 4 || some == nil:
		result := c.box.do(&wire.Command{Body: &wire.Command_Hold{Hold: &wire.Hold{
			ShowId: string(c.show), SeatIds: ids, UserId: fmt.Sprintf("u%d", c.random.IntN(50)),
		}}})
		if result.Code == fsm.CodeOK {
			c.live = append(c.live, result.Booking)
		}
	case kind == 4:
		c.box.do(&wire.Command{Body: &wire.Command_Confirm{Confirm: &wire.Confirm{
			Booking: some.Ref[:], UserId: string(some.User), PaymentRef: some.Ref.String(),
		}}})
	case kind == 5:
		c.box.do(&wire.Command{Body: &wire.Command_Release{Release: &wire.Release{Booking: some.Ref[:], UserId: string(some.User)}}})
	case kind == 6:
		c.box.do(&wire.Command{Body: &wire.Command_Cancel{Cancel: &wire.Cancel{Booking: some.Ref[:], UserId: string(some.User)}}})
	case kind == 7:
		c.box.do(&wire.Command{Body: &wire.Command_Block{Block: &wire.Block{
			ShowId: string(c.show), SeatIds: ids, Unblock: c.random.IntN(2) == 0,
		}}})
	case kind == 8:
		c.box.mu.Lock()
		c.box.now += fsm.Time(c.random.IntN(2000))
		c.box.mu.Unlock()
		c.box.do(&wire.Command{Body: &wire.Command_ExpirePulse{ExpirePulse: &wire.ExpirePulse{}}})
	default:
		action := wire.ShowAction_SHOW_ACTION_PAUSE
		if c.random.IntN(3) > 0 {
			action = wire.ShowAction_SHOW_ACTION_RESUME
		}
		c.box.do(&wire.Command{Body: &wire.Command_ControlShow{ControlShow: &wire.ControlShow{ShowId: string(c.show), Action: action}}})
	}
	if len(c.live) > 200 {
		c.live = c.live[100:]
	}
}

// seatMapBody is a seat map, an availability or its delta as a client decodes it.
type seatMapBody struct {
	ShowID        string `json:"showId"`
	Version       uint64 `json:"version"`
	AsOf          string `json:"asOf"`
	LayoutVersion uint64 `json:"layoutVersion"`
	ShowStatus    string `json:"showStatus"`
	Counts        struct {
		Available, Held, Booked, Blocked, Total uint32
	} `json:"counts"`
	Seats []struct {
		SeatID uint32 `json:"seatId"`
		Label  string `json:"label"`
		Row    string `json:"row"`
		Number uint32 `json:"number"`
		Tier   string `json:"tier"`
		Price  int64  `json:"price"`
		Status string `json:"status"`
	} `json:"seats"`
	Status  string   `json:"status"`
	Changes [][2]any `json:"changes"`
}

// decodeMap decodes a body and checks that its counts add up (M-33).
func decodeMap(t testing.TB, body []byte) *seatMapBody {
	t.Helper()
	m := &seatMapBody{}
	if err := json.Unmarshal(body, m); err != nil {
		t.Fatalf("%v in %.200s", err, body)
	}
	c := m.Counts
	if c.Available+c.Held+c.Booked+c.Blocked != c.Total || c.Total == 0 {
		t.Fatalf("counts do not add up: %+v", c)
	}
	return m
}

// letters gives a map as an availability string, and checks the counts against it.
func (m *seatMapBody) letters(t testing.TB) string {
	t.Helper()
	letters := []byte(m.Status)
	for _, seat := range m.Seats {
		letters = append(letters, map[string]byte{"AVAILABLE": 'A', "HELD": 'H', "BOOKED": 'B', "BLOCKED": 'X'}[seat.Status])
	}
	checkCounts(t, m, letters)
	return string(letters)
}

func checkCounts(t testing.TB, m *seatMapBody, letters []byte) {
	t.Helper()
	counted := map[byte]uint32{}
	for _, letter := range letters {
		counted[letter]++
	}
	c := m.Counts
	if counted['A'] != c.Available || counted['H'] != c.Held || counted['B'] != c.Booked || counted['X'] != c.Blocked || len(letters) != int(c.Total) {
		t.Fatalf("counts %+v, but the seats are %v", c, counted)
	}
}

// change applies a delta to letters.
func (m *seatMapBody) change(t testing.TB, letters []byte) []byte {
	t.Helper()
	for _, change := range m.Changes {
		letters[int(change[0].(float64))-1] = change[1].(string)[0]
	}
	checkCounts(t, m, letters)
	return letters
}

// seeded gives a random source whose seed is printed; HOUSEFUL_SEED repeats a run.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("HOUSEFUL_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HOUSEFUL_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}
