package rest

import (
	"time"

	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

func (s *Server) listCities(c *Call) error {
	return list(c, s.node.Cities, appendAll(appendCity))
}

func (s *Server) listMoviesOfCity(c *Call) error {
	city, err := c.pathID(0)
	if err != nil {
		return err
	}
	return list(c, func(cursor string, limit int) (meta.Page[*wire.Movie], error) {
		return s.node.MoviesOfCity(city, cursor, limit)
	}, appendAll(appendMovie))
}

func (s *Server) listTheatresOfCity(c *Call) error {
	city, err := c.pathID(0)
	if err != nil {
		return err
	}
	return list(c, func(cursor string, limit int) (meta.Page[*wire.Theatre], error) {
		return s.node.TheatresOfCity(city, cursor, limit)
	}, appendAll(s.appendTheatre))
}

func (s *Server) searchMovies(c *Call) error {
	text, _, err := c.query("q")
	if err != nil {
		return err
	}
	if len(text) > meta.SearchBytesMax {
		return invalid("q", "is longer than %d bytes", meta.SearchBytesMax)
	}
	return list(c, func(cursor string, limit int) (meta.Page[*wire.Movie], error) {
		return s.node.SearchMovies(text, cursor, limit)
	}, appendAll(appendMovie))
}

// browseShows lists the shows of a city's local date, with what is free now.
func (s *Server) browseShows(c *Call) error {
	filter, err := readShowFilter(c)
	if err != nil {
		return err
	}
	return list(c, func(cursor string, limit int) (meta.Page[*wire.ShowEntry], error) {
		return s.node.BrowseShows(filter, cursor, limit)
	}, s.appendShowItem)
}

func readShowFilter(c *Call) (filter meta.ShowFilter, err error) {
	if filter.City, err = c.queryID("cityId"); err != nil {
		return filter, err
	}
	if filter.City == "" {
		return filter, invalid("cityId", "is needed")
	}
	text, _, err := c.query("date")
	if err != nil {
		return filter, err
	}
	date, err := time.Parse(time.DateOnly, text)
	if err != nil || date.Year() < 1 {
		return filter, invalid("date", "must be a date such as 2026-12-01")
	}
	filter.Date = meta.Date(date.Year()*10_000 + int(date.Month())*100 + date.Day())
	if filter.Movie, err = c.queryID("movieId"); err != nil {
		return filter, err
	}
	filter.Theatre, err = c.queryID("theatreId")
	return filter, err
}

// appendShowItem writes a show of a list. The catalogue knows which shows there are; what is free is the shard's.
func (s *Server) appendShowItem(dst []byte, entry *wire.ShowEntry) ([]byte, error) {
	show, ok, err := s.node.Show(fsm.ShowID(entry.ShowId))
	if err != nil {
		return dst, err
	}
	if !ok {
		return dst, errEntryGone
	}
	dst = appendString(append(dst, `{"id":`...), entry.ShowId)
	dst = appendString(append(dst, `,"movieId":`...), entry.MovieId)
	dst = appendString(append(dst, `,"movieTitle":`...), entry.MovieTitle)
	dst = appendString(append(dst, `,"theatreId":`...), entry.TheatreId)
	dst = appendString(append(dst, `,"theatreName":`...), entry.TheatreName)
	dst = appendString(append(dst, `,"screenId":`...), entry.ScreenId)
	dst = appendString(append(dst, `,"screenName":`...), entry.ScreenName)
	dst = appendTime(append(dst, `,"startsAt":`...), fsm.Time(entry.StartsAtMs))
	dst = appendTime(append(dst, `,"endsAt":`...), fsm.Time(entry.EndsAtMs))
	dst = appendString(append(dst, `,"timeZone":`...), entry.TimeZone)
	dst = appendString(append(dst, `,"currency":`...), entry.Currency)
	dst = appendInt(append(dst, `,"priceFrom":`...), entry.PriceFrom)
	dst = append(append(dst, `,"status":"`...), show.Status.String()...)
	dst = appendUint(append(dst, `","version":`...), show.Version)
	return append(appendCounts(append(dst, `,"counts":`...), show.Counts), '}'), nil
}

// appendAll makes a list's encoder of one that never leaves anything out.
func appendAll[T any](encode func([]byte, T) []byte) func([]byte, T) ([]byte, error) {
	return func(dst []byte, item T) ([]byte, error) { return encode(dst, item), nil }
}

// list answers with one page.
func list[T any](c *Call, read func(cursor string, limit int) (meta.Page[T], error), encode func([]byte, T) ([]byte, error)) error {
	limit, err := c.queryLimit()
	if err != nil {
		return err
	}
	cursor, _, err := c.query("cursor")
	if err != nil {
		return err
	}
	page, err := read(cursor, limit)
	if err != nil {
		return catalogueError(err)
	}
	dst := append(c.buffer(), `{"items":[`...)
	first := len(dst)
	for _, item := range page.Items {
		before := len(dst)
		if before > first {
			dst = append(dst, ',')
		}
		if dst, err = encode(dst, item); err == errEntryGone {
			dst = dst[:before]
		} else if err != nil {
			return err
		}
	}
	dst = append(dst, ']')
	if page.Next != "" {
		dst = appendString(append(dst, `,"nextCursor":`...), page.Next)
	}
	return c.answer(fasthttp.StatusOK, append(dst, '}'))
}
