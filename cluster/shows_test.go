package cluster

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

// M-7, M-12, M-25: what a request leaves out is filled in, and prices follow the city's clock.
func TestPutShowFillsIn(t *testing.T) {
	n := open(t, testConfig(t))
	catalogue(t, n)
	putShow(t, n, "1")
	show, _, _ := n.Show("1")
	spec, starts := show.Definition.Spec, int64(testStarts)
	want := &wire.ShowSpec{
		MovieId: "MV", ScreenId: "SC", StartsAtMs: starts, EndsAtMs: starts + 155*60_000, Currency: "INR",
		Pricing: &wire.Pricing{Strategy: "flat", Amount: 20000}, HoldSeconds: 420, MaxSeatsPerBooking: 10, MaxHoldsPerUser: 4,
		SalesCloseAtMs: starts, RefundPolicy: []*wire.RefundRule{{MinutesBefore: 120, Percent: 100}, {MinutesBefore: 20, Percent: 50}},
	}
	if !proto.Equal(spec, want) {
		t.Errorf("spec %v\nwant %v", spec, want)
	}
	d := show.Definition
	if d.MovieTitle != "Dune" || d.TheatreName != "Forum" || d.ScreenName != "Screen 2" || d.CityID != "BLR" || d.TimeZone != "Asia/Kolkata" {
		t.Errorf("definition %+v", d)
	}
	if tiers := d.Layout.Wire().Tiers; len(tiers) != 2 || tiers[0].Name != "SILVER" || tiers[1].Name != "RECLINER" {
		t.Errorf("tiers %v: the one that no row has must not need a price", tiers)
	}

	timed := showRequest() // 12:30 UTC is 18:00 in Bengaluru
	timed.Pricing = &wire.Pricing{
		Strategy: "tier_time", Base: []*wire.TierAmount{{Tier: "SILVER", Amount: 15000}, {Tier: "RECLINER", Amount: 30001}},
		Bands: []*wire.TimeBand{{FromHour: 0, Percent: 90}, {FromHour: 18, Percent: 130}, {FromHour: 21, Percent: 150}},
	}
	timed.RefundPolicy = []*wire.RefundRule{}
	if r, err := n.PutShow("2", timed); err != nil || r.Code != fsm.CodeOK || r.Show.Definition.TierPrices[0] != 19500 || r.Show.Definition.TierPrices[1] != 39001 {
		t.Errorf("prices by the local hour: %+v %v", r, err)
	}
	if show, _, _ := n.Show("2"); len(show.Definition.Spec.RefundPolicy) != 0 {
		t.Errorf("an empty policy is a policy: %v", show.Definition.Spec.RefundPolicy)
	}
	if entry, ok := n.ShowEntry("2"); !ok || entry.PriceFrom != 19500 || entry.Revision != 1 {
		t.Errorf("entry %v", entry)
	}
}

func TestPutShowAgain(t *testing.T) {
	n := open(t, testConfig(t))
	catalogue(t, n)
	putShow(t, n, "1")
	if r, err := n.PutShow("1", showRequest()); err != nil || r.Code != fsm.CodeOK || r.Created || r.Show.Revision != 1 {
		t.Errorf("the same again: %+v %v", r, err)
	}
	hold(t, n, "1", "ann", "A1")
	dearer := showRequest()
	dearer.Pricing.Amount++
	if r, err := n.PutShow("1", dearer); err != nil || r.Code != fsm.CodeShowInUse {
		t.Errorf("another price while a seat is held: %+v %v", r, err)
	}
	later := showRequest()
	later.StartsAt += 24 * 3_600_000
	if r, err := n.PutShow("1", later); err != nil || r.Code != fsm.CodeOK || r.Show.Revision != 2 {
		t.Errorf("another day: %+v %v", r, err)
	}
	page, err := n.BrowseShows(meta.ShowFilter{City: "BLR", Date: 20401202}, "", 10)
	if err != nil || len(page.Items) != 1 || page.Items[0].ShowId != "1" {
		t.Errorf("browsing the other day: %v %v", page, err)
	}
	if page, _ := n.BrowseShows(meta.ShowFilter{City: "BLR", Date: 20401201}, "", 10); len(page.Items) != 0 {
		t.Errorf("still on its old day: %v", page)
	}
}

func TestPutShowRefuses(t *testing.T) {
	n := open(t, testConfig(t))
	catalogue(t, n)
	number := func(n int64) *int64 { return &n }
	for field, change := range map[string]func(*ShowRequest){
		"holdSeconds":        func(r *ShowRequest) { r.HoldSeconds = number(0) },
		"maxSeatsPerBooking": func(r *ShowRequest) { r.MaxSeatsPerBooking = number(-1) },
		"maxHoldsPerUser":    func(r *ShowRequest) { r.MaxHoldsPerUser = number(1 << 40) },
		"pricing":            func(r *ShowRequest) { r.Pricing = nil },
		"currency":           func(r *ShowRequest) { r.Currency = "rupees" },
		"startsAt":           func(r *ShowRequest) { r.StartsAt = 0 },
		"endsAt":             func(r *ShowRequest) { r.EndsAt = testStarts - 1 },
		"pricing.strategy":   func(r *ShowRequest) { r.Pricing = &wire.Pricing{Strategy: "auction"} },
		"pricing.base": func(r *ShowRequest) {
			r.Pricing = &wire.Pricing{Strategy: "tier", Base: []*wire.TierAmount{{Tier: "SILVER"}, {Tier: "SILVER"}, {Tier: "RECLINER"}}}
		},
		"pricing.bands": func(r *ShowRequest) {
			r.Pricing = &wire.Pricing{Strategy: "flat", Bands: []*wire.TimeBand{{FromHour: 1}, {FromHour: 1}}}
		},
		"refundPolicy": func(r *ShowRequest) { r.RefundPolicy = []*wire.RefundRule{{MinutesBefore: 1}, {MinutesBefore: 1}} },
	} {
		request := showRequest()
		change(&request)
		if r, err := n.PutShow("1", request); err != nil || r.Code != fsm.CodeInvalid || r.Field != field || r.Reason == "" {
			t.Errorf("%s: %+v %v", field, r, err)
		}
	}
	missing := showRequest()
	missing.MovieID = "NO"
	if _, err := n.PutShow("1", missing); !errors.Is(err, ErrMovieNotFound) {
		t.Errorf("movie: %v", err)
	}
	missing = showRequest()
	missing.ScreenID = "NO"
	if _, err := n.PutShow("1", missing); !errors.Is(err, ErrScreenNotFound) {
		t.Errorf("screen: %v", err)
	}
	if r, err := n.PutShow("a/b", showRequest()); err != nil || r.Code != fsm.CodeInvalid {
		t.Errorf("id: %+v %v", r, err)
	}
	if _, ok, _ := n.Show("1"); ok {
		t.Error("a refused show is there")
	}
}

func TestCatalogueRefusals(t *testing.T) {
	n := open(t, testConfig(t))
	ctx := context.Background()
	if _, err := n.PutTheatre(ctx, &wire.Theatre{Id: "T", Name: "T", CityId: "NO"}); !errors.Is(err, ErrCityNotFound) {
		t.Errorf("theatre: %v", err)
	}
	if _, err := n.PutScreen(ctx, testScreen("S")); !errors.Is(err, ErrTheatreNotFound) {
		t.Errorf("screen: %v", err)
	}
	doubled := testScreen("S")
	doubled.Layout.Rows[0].Blocks[1].First = 1
	for field, put := range map[string]func() (bool, error){
		"timeZone": func() (bool, error) { return n.PutCity(ctx, &wire.City{Id: "C", Name: "C", TimeZone: "Mars/Base"}) },
		"title":    func() (bool, error) { return n.PutMovie(ctx, &wire.Movie{Id: "M", DurationMinutes: 1}) },
		"rows":     func() (bool, error) { return n.PutScreen(ctx, doubled) },
	} {
		var invalid *InvalidError
		if _, err := put(); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := n.MoviesOfCity("NO", "", 1); !errors.Is(err, ErrCityNotFound) {
		t.Errorf("movies of no city: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := n.PutCity(ended, &wire.City{Id: "C", Name: "C", TimeZone: "UTC"}); !errors.Is(err, ErrNotApplied) {
		t.Errorf("a request that is gone: %v", err)
	}
}

// M-30: a crash between the shard and the catalogue, and one before the shard hears of it, heal by themselves.
func TestBrowseHealsAfterACrash(t *testing.T) {
	var cut atomic.Bool
	cut.Store(true)
	crash := func(fsm.BrowseItem) error {
		if cut.Load() {
			return errCrash
		}
		return nil
	}
	pending := func(n *Node) (items []fsm.BrowseItem) {
		for _, s := range n.serving() {
			s.read(func(m *fsm.Machine) { items = append(items, m.BrowsePending(10)...) })
		}
		return items
	}
	for name, hooks := range map[string]hooks{"before the catalogue": {beforeList: crash}, "before the shard hears": {beforeSent: crash}} {
		cut.Store(true)
		cfg := testConfig(t)
		n := openHooked(t, cfg, hooks)
		catalogue(t, n)
		_, err := n.PutShow("1", showRequest())
		if listed := hooks.beforeList == nil; listed != (err == nil) || (err != nil && !errors.Is(err, ErrUnknown)) {
			t.Fatalf("%s: %v", name, err)
		}
		if len(pending(n)) != 1 {
			t.Fatalf("%s: pending %v", name, pending(n))
		}
		finish(t, n)
		n = open(t, cfg)
		eventually(t, name+": the show is listed", func() bool {
			_, ok := n.ShowEntry("1")
			return ok
		})
		eventually(t, name+": the shard has heard", func() bool { return len(pending(n)) == 0 })
		finish(t, n)
	}
	n := openHooked(t, testConfig(t), hooks{beforeList: crash})
	cut.Store(true)
	catalogue(t, n)
	if _, err := n.PutShow("1", showRequest()); !errors.Is(err, ErrUnknown) {
		t.Fatalf("not listed in time: %v", err)
	}
	cut.Store(false)
	if r, err := n.PutShow("1", showRequest()); err != nil || r.Code != fsm.CodeOK || r.Created {
		t.Errorf("again: %+v %v", r, err)
	}
	if _, ok := n.ShowEntry("1"); !ok {
		t.Error("put again, and not listed")
	}
}

// A show that its shard has let go of leaves the catalogue, and may come again.
func TestDepartedShowsLeaveTheCatalogue(t *testing.T) {
	n := open(t, testConfig(t))
	catalogue(t, n)
	soon := showRequest()
	soon.StartsAt = n.Now().Add(time.Hour)
	if r, err := n.PutShow("1", soon); err != nil || r.Code != fsm.CodeOK {
		t.Fatalf("%+v %v", r, err)
	}
	if err := n.AdvanceClock(fsm.RetentionAfterShow + 48*time.Hour); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the show leaves its shard and the catalogue", func() bool {
		_, there, _ := n.Show("1")
		_, listed := n.ShowEntry("1")
		return !there && !listed
	})
	putShow(t, n, "1")
	if entry, ok := n.ShowEntry("1"); !ok || entry.StartsAtMs != int64(testStarts) {
		t.Errorf("come again: %v", entry)
	}
}
