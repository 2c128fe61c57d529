package demo

import (
	"testing"
	"time"

	"github.com/houseful/houseful/cmd/houseful/internal/catalogue"
)

// at is a moment; Bengaluru is 5.5 hours ahead of it, London (in winter) none.
func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func TestCatalogueIsWhatItSays(t *testing.T) {
	plan, err := readPlan()
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Cities) != 2 || len(plan.Theatres) != 3 || len(plan.Movies) != 6 || len(plan.Screens) != 6 {
		t.Errorf("%d cities, %d theatres, %d movies, %d screens", len(plan.Cities), len(plan.Theatres), len(plan.Movies), len(plan.Screens))
	}
	document, err := catalogue.New("demo", plan.File)
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[int]int{}
	for i := range document.Screens {
		layout, err := document.Screens[i].Layout()
		if err != nil {
			t.Fatal(err)
		}
		sizes[layout.Seats()]++
	}
	if sizes[40] != 2 || sizes[240] != 2 || sizes[500] != 2 {
		t.Errorf("screens by size: %v", sizes)
	}
	layout, err := document.Screens[0].Layout()
	if err != nil {
		t.Fatal(err)
	}
	for seat, tier := range map[string]string{"A1": "SILVER", "B8": "SILVER", "C1": "GOLD", "D8": "GOLD", "E8": "RECLINER"} {
		if place, ok := layout.Find(seat); !ok || layout.TierName(place) != tier {
			t.Errorf("%s of the screen of 40 seats is no %s", seat, tier)
		}
	}
}

func TestWeek(t *testing.T) {
	plan, err := readPlan()
	if err != nil {
		t.Fatal(err)
	}
	daily := 0
	for _, schedule := range plan.Schedule {
		daily += len(schedule.Daily)
	}
	// 17:00 UTC is 22:30 in Bengaluru: of today, London's 17:00 has begun and its 20:00 and 20:30 are to come.
	now := at(t, "2026-11-30T17:00:00Z")
	shows, err := plan.week(now)
	if err != nil {
		t.Fatal(err)
	}
	if want := DaysAhead*daily + 2; len(shows) != want {
		t.Errorf("%d shows, want %d", len(shows), want)
	}
	week := plan.File
	week.Shows = shows
	if _, err := catalogue.New("demo", week); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, show := range shows {
		starts := at(t, show.StartsAt)
		if !starts.After(now) || starts.After(now.AddDate(0, 0, DaysAhead+1)) {
			t.Errorf("%s starts at %s", show.ID, show.StartsAt)
		}
		seen[show.ID] = true
	}
	if !seen["FORUM-2.2026-12-01.1800"] || !seen["SOUTH-1.2026-11-30.2030"] {
		t.Error("a show that should be there is not")
	}
	// A day later the same ids come again, and one day is new.
	later, err := plan.week(now.AddDate(0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	fresh := 0
	for _, show := range later {
		if !seen[show.ID] {
			fresh++
		}
	}
	if fresh != daily {
		t.Errorf("%d new shows a day later, want %d", fresh, daily)
	}
}

// No two shows of the demo are in one screen at the same time, the one with the short id included.
func TestShowsDoNotOverlap(t *testing.T) {
	plan, err := readPlan()
	if err != nil {
		t.Fatal(err)
	}
	minutes := map[string]time.Duration{}
	for _, movie := range plan.Movies {
		minutes[movie.ID] = time.Duration(movie.DurationMinutes) * time.Minute
	}
	shows, err := plan.week(at(t, "2026-11-30T00:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := startsAt(at(t, "2026-11-30T06:00:00+05:30"), 1, plan.First.At)
	if err != nil {
		t.Fatal(err)
	}
	shows = append(shows, catalogue.Show{
		ID: plan.First.ID, ScreenID: plan.First.ScreenID, MovieID: plan.First.MovieID, StartsAt: first.Format(time.RFC3339),
	})
	for i, a := range shows {
		for _, b := range shows[i+1:] {
			startA, startB := at(t, a.StartsAt), at(t, b.StartsAt)
			if a.ScreenID == b.ScreenID && startA.Before(startB.Add(minutes[b.MovieID])) && startB.Before(startA.Add(minutes[a.MovieID])) {
				t.Errorf("%s and %s overlap", a.ID, b.ID)
			}
		}
	}
}

func TestStartsAtIsLocalOverAClockChange(t *testing.T) {
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	starts, err := startsAt(at(t, "2026-10-24T12:00:00Z").In(london), 1, "20:00") // the clocks go back that night
	if err != nil || starts.Format(time.RFC3339) != "2026-10-25T20:00:00Z" {
		t.Errorf("got %v, %v", starts, err)
	}
}
