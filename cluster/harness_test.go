package cluster

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testWait = 20 * time.Second

func testConfig(t testing.TB) Config {
	t.Helper()
	cfg := DefaultConfig()
	cfg.DataDir = filepath.Join(t.TempDir(), "data")
	cfg.Shards = 3
	cfg.TestClock = true
	cfg.FreeSpaceFloorBytes, cfg.BallastBytes = 1, 1<<20
	cfg.Logger = slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelError}))
	return cfg
}

// testWriter shows errors in the test's log.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// open opens a node, waits until it is ready, and audits and closes it at the end of the test.
func open(t testing.TB, cfg Config) *Node {
	t.Helper()
	return openHooked(t, cfg, hooks{})
}

func openHooked(t testing.TB, cfg Config, hooks hooks) *Node {
	t.Helper()
	n, err := openNode(context.Background(), cfg, hooks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { finish(t, n) })
	waitReady(t, n)
	return n
}

func waitReady(t testing.TB, n *Node) {
	t.Helper()
	eventually(t, "the node is ready", func() bool {
		if err := n.Err(); err != nil {
			t.Fatal(err)
		}
		return n.Ready() == nil
	})
}

// finish audits a node that is still open and closes it.
func finish(t testing.TB, n *Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testWait)
	defer cancel()
	if n.Ready() == nil {
		audits, err := n.Audit(ctx)
		if err != nil {
			t.Errorf("audit: %v", err)
		}
		for _, audit := range audits {
			if !audit.Report.OK {
				t.Errorf("audit of %s: %q", audit.Group, audit.Report.Problems)
			}
		}
	}
	if err := n.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

// eventually polls until the condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(testWait)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		timer := time.NewTimer(5 * time.Millisecond)
		<-timer.C
	}
}

// catalogue fills the catalogue with one of each: BLR, MV, TH, SC (4 SILVER and 2 RECLINER seats).
func catalogue(t testing.TB, n *Node) {
	t.Helper()
	ctx := context.Background()
	for name, put := range []func() (bool, error){
		func() (bool, error) {
			return n.PutCity(ctx, &wire.City{Id: "BLR", Name: "Bengaluru", State: "Karnataka", TimeZone: "Asia/Kolkata"})
		},
		func() (bool, error) {
			return n.PutMovie(ctx, &wire.Movie{Id: "MV", Title: "Dune", DurationMinutes: 155})
		},
		func() (bool, error) {
			return n.PutTheatre(ctx, &wire.Theatre{Id: "TH", Name: "Forum", CityId: "BLR"})
		},
		func() (bool, error) { return n.PutScreen(ctx, testScreen("SC")) },
	} {
		if created, err := put(); err != nil || !created {
			t.Fatalf("put %d: %v %v", name, created, err)
		}
	}
}

func testScreen(id string) *wire.Screen {
	return &wire.Screen{Id: id, TheatreId: "TH", Name: "Screen 2", Layout: &wire.Layout{
		Tiers: []*wire.Tier{{Name: "UNUSED"}, {Name: "SILVER"}, {Name: "RECLINER", MultiplierPercent: 200}},
		Rows: []*wire.Row{
			{Label: "A", Tier: 1, Blocks: []*wire.Span{{First: 1, Last: 2}, {First: 3, Last: 4}}},
			{Label: "E", Tier: 2, Blocks: []*wire.Span{{First: 1, Last: 2}}},
		},
	}}
}

// testStarts is 18:00 in Bengaluru, far ahead.
var testStarts = fsm.Time(time.Date(2040, 12, 1, 12, 30, 0, 0, time.UTC).UnixMilli())

func showRequest() ShowRequest {
	return ShowRequest{
		MovieID: "MV", ScreenID: "SC", StartsAt: testStarts, Currency: "INR",
		Pricing: &wire.Pricing{Strategy: fsm.PricingFlat, Amount: 20000},
	}
}

func putShow(t testing.TB, n *Node, id string) {
	t.Helper()
	if r, err := n.PutShow(fsm.ShowID(id), showRequest()); err != nil || r.Code != fsm.CodeOK || !r.Created {
		t.Fatalf("put show %s: %+v %v", id, r, err)
	}
}

func hold(t testing.TB, n *Node, show, user string, seats ...string) fsm.BookingRef {
	t.Helper()
	r, err := n.Hold(&wire.Hold{ShowId: show, UserId: user, Labels: seats})
	if err != nil || r.Code != fsm.CodeOK {
		t.Fatalf("hold %v of %s: %+v %v", seats, show, r, err)
	}
	return r.Booking.Ref
}

func confirm(t testing.TB, n *Node, ref fsm.BookingRef, user, payment string) *fsm.Result {
	t.Helper()
	r, err := n.Confirm(ref, &wire.Confirm{UserId: user, PaymentRef: payment, Method: "external"})
	if err != nil {
		t.Fatalf("confirm %s with %s: %v", ref, payment, err)
	}
	return r
}
