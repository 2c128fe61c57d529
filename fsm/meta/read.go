package meta

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// The kinds of cursor.
const (
	cursorByID     = "i"
	cursorByTitle  = "t"
	cursorBySearch = "q"
	cursorByStart  = "s"
)

// ShowFilter selects shows. City and Date are needed.
type ShowFilter struct {
	City    string
	Date    Date   // the local date of the start
	Movie   string // "": any
	Theatre string // "": any
}

// Birth gives the birth record, nil before the birth.
func (m *Machine) Birth() *wire.Birth { return m.birth }

// Feature is the feature version that the cluster runs under.
func (m *Machine) Feature() uint32 { return m.feature }

// Node gives a node.
func (m *Machine) Node(id string) (*wire.Node, bool) { return find(m.nodes, id) }

// Nodes lists the nodes by id.
func (m *Machine) Nodes() []*wire.Node { return m.nodes.list() }

// City gives a city.
func (m *Machine) City(id string) (*wire.City, bool) { return find(m.cities, id) }

// Movie gives a movie.
func (m *Machine) Movie(id string) (*wire.Movie, bool) { return find(m.movies, id) }

// Theatre gives a theatre.
func (m *Machine) Theatre(id string) (*wire.Theatre, bool) { return find(m.theatres, id) }

// Screen gives a screen.
func (m *Machine) Screen(id string) (*wire.Screen, bool) { return find(m.screens, id) }

// ShowEntry gives a show as browsing lists it.
func (m *Machine) ShowEntry(id string) (*wire.ShowEntry, bool) {
	entry, ok := m.shows[id]
	return entry, ok
}

func find[T any](t table[T], id string) (*T, bool) {
	object, ok := t.byID[id]
	return object, ok
}

// Cities lists all cities by id.
func (m *Machine) Cities(cursor string, limit int) (Page[*wire.City], error) {
	return pageByID(m.cities, m.cities.ids, cursor, limit, (*wire.City).GetId)
}

// TheatresOfCity lists a city's theatres by id.
func (m *Machine) TheatresOfCity(city, cursor string, limit int) (Page[*wire.Theatre], error) {
	return pageByID(m.theatres, m.theatresOfCity[city], cursor, limit, (*wire.Theatre).GetId)
}

// ScreensOfTheatre lists a theatre's screens by id.
func (m *Machine) ScreensOfTheatre(theatre, cursor string, limit int) (Page[*wire.Screen], error) {
	return pageByID(m.screens, m.screensOfTheatre[theatre], cursor, limit, (*wire.Screen).GetId)
}

func pageByID[T any](t table[T], ids []string, cursor string, limit int, id func(*T) string) (Page[*T], error) {
	after, err := decodeCursor(cursorByID, cursor, 1)
	if err != nil {
		return Page[*T]{}, err
	}
	if after != nil {
		place, found := slices.BinarySearch(ids, after[0])
		if found {
			place++
		}
		ids = ids[place:]
	}
	ids = ids[:min(len(ids), PageMax+1)] // one more than a page tells that there is another
	items := make([]*T, len(ids))
	for i := range ids {
		items[i] = t.byID[ids[i]]
	}
	return paged(items, limit, func(last *T) string { return encodeCursor(cursorByID, id(last)) }), nil
}

// MoviesOfCity lists the movies that have a show in a city that is not over at now, by title and id.
func (m *Machine) MoviesOfCity(city string, now fsm.Time, cursor string, limit int) (Page[*wire.Movie], error) {
	after, err := decodeCursor(cursorByTitle, cursor, 2)
	if err != nil {
		return Page[*wire.Movie]{}, err
	}
	showing := map[string]bool{}
	for _, date := range m.days.dates[city] {
		for _, entry := range m.days.shows[dayKey{city, date}] {
			if fsm.Time(entry.EndsAtMs) > now {
				showing[entry.MovieId] = true
			}
		}
	}
	movies := make([]*wire.Movie, 0, len(showing))
	for id := range showing {
		if movie := m.movies.byID[id]; after == nil || compareTitle(movie, after[0], after[1]) > 0 {
			movies = append(movies, movie)
		}
	}
	slices.SortFunc(movies, func(a, b *wire.Movie) int { return compareTitle(a, fold(b.Title), b.Id) })
	return paged(movies, limit, func(last *wire.Movie) string {
		return encodeCursor(cursorByTitle, fold(last.Title), last.Id)
	}), nil
}

func compareTitle(movie *wire.Movie, folded, id string) int {
	return cmp.Or(strings.Compare(fold(movie.Title), folded), strings.Compare(movie.Id, id))
}

// Shows lists the shows of a city's day, by start and id.
func (m *Machine) Shows(filter ShowFilter, cursor string, limit int) (Page[*wire.ShowEntry], error) {
	after, err := decodeCursor(cursorByStart, cursor, 2)
	if err != nil {
		return Page[*wire.ShowEntry]{}, err
	}
	day := m.days.shows[dayKey{filter.City, filter.Date}]
	if after != nil {
		starts, err := strconv.ParseInt(after[0], 10, 64)
		if err != nil {
			return Page[*wire.ShowEntry]{}, ErrCursor
		}
		place, found := slices.BinarySearchFunc(day, &wire.ShowEntry{StartsAtMs: starts, ShowId: after[1]}, compareShows)
		if found {
			place++
		}
		day = day[place:]
	}
	var items []*wire.ShowEntry
	for _, entry := range day {
		if (filter.Movie != "" && entry.MovieId != filter.Movie) || (filter.Theatre != "" && entry.TheatreId != filter.Theatre) {
			continue
		}
		if items = append(items, entry); len(items) > PageMax {
			break
		}
	}
	return paged(items, limit, func(last *wire.ShowEntry) string {
		return encodeCursor(cursorByStart, strconv.FormatInt(last.StartsAtMs, 10), last.ShowId)
	}), nil
}
