package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

// M-12, M-21, M-25, M-32, M-41: the main road, over a restart.
func TestOneNodeSellsAShowAndRemembers(t *testing.T) {
	cfg := testConfig(t)
	cfg.Registerer = prometheus.NewRegistry()
	n := open(t, cfg)
	catalogue(t, n)
	putShow(t, n, "1")
	paid := hold(t, n, "1", "ann", "A1", "A2")
	if r := confirm(t, n, paid, "ann", "PAY-1"); r.Code != fsm.CodeOK || r.Booking.Status != fsm.StatusConfirmed || r.Booking.TotalAmount != 40000 {
		t.Fatalf("confirm: %+v", r)
	}
	held := hold(t, n, "1", "bob", "A3")
	if r, err := n.Hold(&wire.Hold{ShowId: "1", UserId: "eve", Labels: []string{"A3", "A4"}}); err != nil || r.Code != fsm.CodeSeatUnavailable {
		t.Fatalf("a second hold of A3: %+v %v", r, err)
	}
	if r, err := n.Block(&wire.Block{ShowId: "1", Labels: []string{"E2"}, Reason: "house"}); err != nil || r.Code != fsm.CodeOK {
		t.Fatalf("block: %+v %v", r, err)
	}
	key := [16]byte{7}
	if r, err := n.FindByKey("1", key); err != nil || r.Code != fsm.CodeBookingNotFound || r.At <= r.Now {
		t.Fatalf("an unused key: %+v %v", r, err)
	}
	finish(t, n)

	n = open(t, cfg)
	for _, consistency := range []Consistency{ReadLeader, ReadLocal, ReadStrong} {
		b, ok, err := n.Booking(paid, consistency)
		if err != nil || !ok || b.Status != fsm.StatusConfirmed || b.ConfirmedBy != "PAY-1" {
			t.Errorf("after the restart: %+v %v %v", b, ok, err)
		}
	}
	show, ok, err := n.Show("1")
	if want := (fsm.Counts{Available: 2, Held: 1, Booked: 2, Blocked: 1, Total: 6}); err != nil || !ok || show.Counts != want {
		t.Errorf("after the restart: %+v %v %v", show.Counts, ok, err)
	}
	if audit, ok, err := n.AuditShow(context.Background(), "1"); err != nil || !ok || !audit.OK {
		t.Errorf("audit: %+v %v %v", audit, ok, err)
	}
	if entry, ok := n.ShowEntry("1"); !ok || entry.PriceFrom != 20000 || entry.LocalDate != 20401201 {
		t.Errorf("browse entry: %v", entry)
	}
	if err := n.AdvanceClock(421 * time.Second); err != nil {
		t.Fatal(err)
	}
	if b, _, _ := n.Booking(held, ReadLeader); b.Status != fsm.StatusExpired {
		t.Errorf("past its deadline: %s", b.Status)
	}
	eventually(t, "the seat is free without traffic (M-13)", func() bool {
		show, _, _ := n.Show("1")
		return show.Counts.Held == 0
	})
	if r, err := n.Cancel(paid, &wire.Cancel{UserId: "ann"}); err != nil || r.Code != fsm.CodeOK || r.Booking.Payment.RefundAmount != 40000 {
		t.Errorf("cancel: %+v %v", r, err)
	}
	families, err := cfg.Registerer.(*prometheus.Registry).Gather()
	if err != nil || len(families) == 0 {
		t.Errorf("metrics: %d %v", len(families), err)
	}
}

func TestBookingsAreMergedOverShards(t *testing.T) { // M-32
	n := open(t, testConfig(t))
	catalogue(t, n)
	var want []fsm.BookingRef
	for i := range 12 {
		show := fmt.Sprint("show-", i%6)
		if i < 6 {
			putShow(t, n, show)
		}
		want = append([]fsm.BookingRef{hold(t, n, show, "ann", fmt.Sprint("A", i/6+1))}, want...)
		if err := n.AdvanceClock(time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	for limit := 1; limit <= 13; limit++ {
		var got []fsm.BookingRef
		filter := fsm.BookingFilter{User: "ann", Limit: limit}
		for {
			page, err := n.Bookings(filter)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range page {
				got = append(got, b.Ref)
			}
			if len(page) < limit {
				break
			}
			filter.Before = PositionOf(page[len(page)-1])
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("in pages of %d: %v, want %v", limit, got, want)
		}
	}
	if page, err := n.Bookings(fsm.BookingFilter{Show: "show-3", Limit: 10}); err != nil || len(page) != 2 {
		t.Errorf("of one show: %d %v", len(page), err)
	}
}

func TestUnknownShardIsNoBooking(t *testing.T) {
	n := open(t, testConfig(t))
	stray := fsm.NewBookingRef(99, [14]byte{1})
	if r := confirm(t, n, stray, "ann", "PAY"); r.Code != fsm.CodeBookingNotFound {
		t.Errorf("confirm: %+v", r)
	}
	if r, err := n.Release(stray, &wire.Release{UserId: "ann"}); err != nil || r.Code != fsm.CodeBookingNotFound {
		t.Errorf("release: %+v %v", r, err)
	}
	for _, consistency := range []Consistency{ReadLeader, ReadLocal, ReadStrong} {
		if _, ok, err := n.Booking(stray, consistency); ok || err != nil {
			t.Errorf("read: %v %v", ok, err)
		}
	}
}

func TestDataDirIsLocked(t *testing.T) {
	cfg := testConfig(t)
	n := open(t, cfg)
	if _, err := Open(context.Background(), cfg); !errors.Is(err, ErrDataDirLocked) {
		t.Fatalf("a second process: %v", err)
	}
	finish(t, n)
	finish(t, open(t, cfg))
}

func TestStatusNamesEveryGroup(t *testing.T) {
	cfg := testConfig(t)
	cfg.Zone, cfg.HTTPAddress = "a", "127.0.0.1:8080"
	n := open(t, cfg)
	s := n.Status()
	if s.ClusterID == "" || s.FeatureVersion != 1 || len(s.Shards) != 4 || s.Shards[0].ID != "meta" || s.Shards[3].ID != "2" {
		t.Errorf("%+v", s)
	}
	if self := s.Nodes[0]; self.ID != "n1" || self.Zone != "a" || self.HTTP != "127.0.0.1:8080" || self.Replicas != 4 || self.Leaders != 4 {
		t.Errorf("%+v", self)
	}
	finish(t, n)
	cfg.HTTPAddress = "127.0.0.1:9090"
	n = open(t, cfg)
	var known *wire.Node
	n.readMeta(func(m *meta.Machine) { known, _ = m.Node("n1") })
	if known.HttpAddress != "127.0.0.1:9090" {
		t.Errorf("a new address is not announced: %v", known)
	}
}

func TestCloseRefusesAndEnds(t *testing.T) {
	n := open(t, testConfig(t))
	catalogue(t, n)
	putShow(t, n, "1")
	finish(t, n)
	if _, err := n.Hold(&wire.Hold{ShowId: "1", UserId: "ann", Labels: []string{"A1"}}); !errors.Is(err, ErrClosed) || !errors.Is(err, ErrNotApplied) {
		t.Errorf("a hold on a closed node: %v", err)
	}
	if err := n.Ready(); !errors.Is(err, ErrNotReady) {
		t.Errorf("ready: %v", err)
	}
	if err := n.Close(context.Background()); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func TestFullDiskRefuses(t *testing.T) {
	cfg := testConfig(t)
	n := open(t, cfg)
	catalogue(t, n)
	putShow(t, n, "1")
	finish(t, n)
	cfg.FreeSpaceFloorBytes = 1 << 60
	n = open(t, cfg)
	_, err := n.Hold(&wire.Hold{ShowId: "1", UserId: "ann", Labels: []string{"A1"}})
	if !errors.Is(err, ErrDiskFull) || !errors.Is(err, ErrNotApplied) || errors.Is(err, ErrUnknown) {
		t.Errorf("below the floor: %v", err)
	}
	if _, ok, err := n.Show("1"); !ok || err != nil {
		t.Errorf("reads go on: %v %v", ok, err)
	}
}

func TestConfigValidate(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.DataDir = "" }, func(c *Config) { c.NodeID = "a/b" }, func(c *Config) { c.Shards = ShardsMax + 1 },
		func(c *Config) { c.RequestTimeout = time.Minute }, func(c *Config) { c.BallastBytes = -1 }, func(c *Config) { c.Zone = "a b" },
		func(c *Config) { c.Logger = nil },
	} {
		cfg := DefaultConfig()
		change(&cfg)
		if err := cfg.Validate(); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	cfg := DefaultConfig()
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
}

func TestNoTestClock(t *testing.T) {
	cfg := testConfig(t)
	cfg.TestClock = false
	if err := open(t, cfg).AdvanceClock(time.Second); !errors.Is(err, ErrNoTestClock) {
		t.Error(err)
	}
}
