package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/houseful/houseful/cmd/houseful/internal/catalogue"
	"github.com/houseful/houseful/cmd/houseful/internal/client"
)

const (
	// DaysAhead is how many days after today have all their shows; of today, those that have not begun.
	DaysAhead = 7
	// refreshEvery is how often Run looks whether a day has come nearer.
	refreshEvery = time.Hour
)

//go:embed catalogue.yaml
var catalogueText []byte

// plan is what the embedded file says.
type plan struct {
	catalogue.File `yaml:",inline"`
	First          slot       `yaml:"first"`
	Schedule       []schedule `yaml:"schedule"`
}

// slot is the show with the short id.
type slot struct {
	ID       string            `yaml:"id"`
	At       string            `yaml:"at"`
	MovieID  string            `yaml:"movieId"`
	ScreenID string            `yaml:"screenId"`
	Currency string            `yaml:"currency"`
	Pricing  catalogue.Pricing `yaml:"pricing"`
}

// schedule is what a screen shows every day, by local time.
type schedule struct {
	ScreenID string            `yaml:"screenId"`
	Currency string            `yaml:"currency"`
	Pricing  catalogue.Pricing `yaml:"pricing"`
	Daily    map[string]string `yaml:"daily"`
}

// Summary says what Refresh did.
type Summary struct {
	Created  int // objects that were not there
	Kept     int // objects that were
	FirstID  string
	FirstAt  time.Time
	NewFirst bool // the show with the short id was made or moved
}

// Refresh brings the server's catalogue up to the week after now. It is safe to repeat.
func Refresh(ctx context.Context, server *client.Client, now time.Time) (Summary, error) {
	plan, err := readPlan()
	if err != nil {
		return Summary{}, err
	}
	var summary Summary
	week := plan.File
	if week.Shows, err = plan.week(now); err != nil {
		return summary, err
	}
	count := func(_ catalogue.Item, outcome catalogue.Outcome) {
		switch outcome {
		case catalogue.Kept:
			summary.Kept++
		default:
			summary.Created++
		}
	}
	if err := load(ctx, server, week, catalogue.Options{KeepExisting: true, Done: count}); err != nil {
		return summary, err
	}
	summary.FirstID = plan.First.ID
	summary.FirstAt, summary.NewFirst, err = plan.refreshFirst(ctx, server, now)
	return summary, err
}

// Run refreshes now and then every hour, until ctx ends. now is the server's clock; report is told of each round.
func Run(ctx context.Context, server *client.Client, now func() time.Time, report func(Summary, error)) {
	ticker := time.NewTicker(refreshEvery)
	defer ticker.Stop()
	for {
		summary, err := Refresh(ctx, server, now())
		if ctx.Err() != nil {
			return
		}
		report(summary, err)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func readPlan() (*plan, error) {
	plan := &plan{}
	if err := yaml.UnmarshalWithOptions(catalogueText, plan, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("the demo catalogue: %w", err)
	}
	return plan, nil
}

func load(ctx context.Context, server *client.Client, file catalogue.File, options catalogue.Options) error {
	document, err := catalogue.New("the demo catalogue", file)
	if err != nil {
		return err
	}
	return catalogue.Load(ctx, server, document, options)
}

// week makes the shows from now to the end of the seventh day after today, each in its city's time zone.
func (p *plan) week(now time.Time) ([]catalogue.Show, error) {
	var shows []catalogue.Show
	for _, schedule := range p.Schedule {
		zone, err := p.zone(schedule.ScreenID)
		if err != nil {
			return nil, err
		}
		for day := range DaysAhead + 1 {
			for clock, movie := range schedule.Daily {
				starts, err := startsAt(now.In(zone), day, clock)
				if err != nil {
					return nil, err
				}
				if !starts.After(now) {
					continue
				}
				shows = append(shows, catalogue.Show{
					ID:      schedule.ScreenID + "." + starts.Format("2006-01-02.1504"),
					MovieID: movie, ScreenID: schedule.ScreenID, StartsAt: starts.Format(time.RFC3339),
					Currency: schedule.Currency, Pricing: schedule.Pricing,
				})
			}
		}
	}
	slices.SortFunc(shows, func(a, b catalogue.Show) int { return strings.Compare(a.ID, b.ID) })
	return shows, nil
}

// refreshFirst makes the show with the short id, or moves it to tomorrow when its start has passed.
func (p *plan) refreshFirst(ctx context.Context, server *client.Client, now time.Time) (time.Time, bool, error) {
	var existing struct {
		StartsAt time.Time `json:"startsAt"`
	}
	err := server.Get(ctx, "/api/v1/shows/"+p.First.ID, &existing)
	var refusal *client.Error
	switch {
	case err == nil && existing.StartsAt.After(now):
		return existing.StartsAt, false, nil
	case err != nil && (!errors.As(err, &refusal) || refusal.Status != http.StatusNotFound):
		return time.Time{}, false, err
	}
	zone, err := p.zone(p.First.ScreenID)
	if err != nil {
		return time.Time{}, false, err
	}
	starts, err := startsAt(now.In(zone), 1, p.First.At)
	if err != nil {
		return time.Time{}, false, err
	}
	show := catalogue.Show{
		ID: p.First.ID, MovieID: p.First.MovieID, ScreenID: p.First.ScreenID, StartsAt: starts.Format(time.RFC3339),
		Currency: p.First.Currency, Pricing: p.First.Pricing,
	}
	return starts, true, load(ctx, server, catalogue.File{Shows: []catalogue.Show{show}}, catalogue.Options{})
}

// zone is the time zone of a screen's city.
func (p *plan) zone(screenID string) (*time.Location, error) {
	for _, screen := range p.Screens {
		for _, theatre := range p.Theatres {
			for _, city := range p.Cities {
				if screen.ID == screenID && theatre.ID == screen.TheatreID && city.ID == theatre.CityID {
					return time.LoadLocation(city.TimeZone)
				}
			}
		}
	}
	return nil, fmt.Errorf("the demo catalogue: screen %s has no city", screenID)
}

// startsAt is a local time of day, some days after the day of now.
func startsAt(now time.Time, days int, clock string) (time.Time, error) {
	at, err := time.Parse("15:04", clock)
	if err != nil {
		return at, fmt.Errorf("the demo catalogue: %q is no time of day", clock)
	}
	return time.Date(now.Year(), now.Month(), now.Day()+days, at.Hour(), at.Minute(), 0, 0, now.Location()), nil
}
