package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/houseful/houseful/cmd/houseful/internal/client"
	"github.com/houseful/houseful/cmd/houseful/internal/config"
)

// daysMax bounds how many days one call of show list asks for.
const daysMax = 366

// listFilter says which shows to list.
type listFilter struct {
	city, date, movie, theatre string
	days                       int
}

// listedCity is what the list needs to know about a city.
type listedCity struct {
	ID       string `json:"id"`
	TimeZone string `json:"timeZone"`
}

// listedShow is a show as the API lists it.
type listedShow struct {
	ID          string    `json:"id"`
	CityID      string    `json:"cityId"`
	MovieTitle  string    `json:"movieTitle"`
	TheatreName string    `json:"theatreName"`
	ScreenName  string    `json:"screenName"`
	StartsAt    time.Time `json:"startsAt"`
	TimeZone    string    `json:"timeZone"`
	Status      string    `json:"status,omitempty"`
	PriceFrom   int64     `json:"priceFrom"`
	Currency    string    `json:"currency"`
	Counts      census    `json:"counts"`
}

func newShowListCommand(p process) *cobra.Command {
	server, filter := defaultRemote(), listFilter{}
	command := &cobra.Command{
		Use:   "list",
		Short: "List shows by city and local date; without --date, today's and tomorrow's",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if filter.days < 1 || filter.days > daysMax {
				return usageError{fmt.Errorf("days: %d is not between 1 and %d", filter.days, daysMax)}
			}
			if _, err := time.Parse(time.DateOnly, filter.date); filter.date != "" && err != nil {
				return usageError{fmt.Errorf("date: %q is no date; for example 2026-12-01", filter.date)}
			}
			if filter.date != "" && !command.Flags().Changed("days") {
				filter.days = 1
			}
			connection, err := server.connect(p, command.Flags())
			if err != nil {
				return err
			}
			defer connection.Close()
			shows, err := listShows(command.Context(), connection, filter)
			if err != nil {
				return advise(err)
			}
			return writeShows(p, shows, filter, server.JSON)
		},
	}
	config.Register(command.Flags(), &server)
	flags := command.Flags()
	flags.StringVar(&filter.city, "city", "", "id of a city; without it, all")
	flags.StringVar(&filter.date, "date", "", "first local date, YYYY-MM-DD; without it, today")
	flags.IntVar(&filter.days, "days", 2, "number of days; 1 when there is a --date")
	flags.StringVar(&filter.movie, "movie", "", "id of a movie")
	flags.StringVar(&filter.theatre, "theatre", "", "id of a theatre")
	return command
}

// listShows asks for each city and each of its local dates.
func listShows(ctx context.Context, server *client.Client, filter listFilter) ([]listedShow, error) {
	cities, err := client.List[listedCity](ctx, server, "/api/v1/cities")
	if err != nil {
		return nil, err
	}
	shows, known := []listedShow{}, false
	for _, city := range cities {
		if filter.city != "" && filter.city != city.ID {
			continue
		}
		known = true
		first, err := firstDate(filter.date, city.TimeZone)
		if err != nil {
			return nil, err
		}
		for day := range filter.days {
			query := url.Values{"cityId": {city.ID}, "date": {first.AddDate(0, 0, day).Format(time.DateOnly)}}
			if filter.movie != "" {
				query.Set("movieId", filter.movie)
			}
			if filter.theatre != "" {
				query.Set("theatreId", filter.theatre)
			}
			page, err := client.List[listedShow](ctx, server, "/api/v1/shows?"+query.Encode())
			if err != nil {
				return nil, err
			}
			for i := range page {
				page[i].CityID = city.ID
			}
			shows = append(shows, page...)
		}
	}
	if filter.city != "" && !known {
		return nil, fmt.Errorf("there is no city %s; see %s", filter.city, "GET /api/v1/cities")
	}
	return shows, nil
}

// firstDate is the date to begin with: the one asked for, or today's in the city.
func firstDate(date, timeZone string) (time.Time, error) {
	if date != "" {
		return time.Parse(time.DateOnly, date)
	}
	zone, err := time.LoadLocation(timeZone)
	if err != nil {
		return time.Time{}, fmt.Errorf("the server's time zone %q: %w", timeZone, err)
	}
	return time.Parse(time.DateOnly, time.Now().In(zone).Format(time.DateOnly))
}

func writeShows(p process, shows []listedShow, filter listFilter, asJSON bool) error {
	if asJSON {
		return writeJSON(p.Stdout, map[string]any{"items": shows})
	}
	if len(shows) == 0 {
		_, err := fmt.Fprintf(p.Stdout, "No shows within %d day(s); look further with --date or --days.\n", filter.days)
		return err
	}
	table := newTable(p.Stdout, "ID", "CITY", "STARTS", "MOVIE", "THEATRE", "SCREEN", "FROM", "FREE", "SEATS")
	for _, show := range shows {
		starts := show.StartsAt
		if zone, err := time.LoadLocation(show.TimeZone); err == nil {
			starts = starts.In(zone)
		}
		table.row(show.ID, show.CityID, starts.Format("Mon 2 Jan 15:04"), show.MovieTitle, show.TheatreName, show.ScreenName,
			money(show.PriceFrom, show.Currency), show.Counts.Available, show.Counts.Total)
	}
	return table.close()
}
