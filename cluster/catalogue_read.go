package cluster

import (
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

// The reads of the catalogue come from this node's replica. What they return must not be changed. A cursor is ""
// for the first page, then Page.Next; any other text is meta.ErrCursor. limit is 1 to meta.PageMax. Until the node has
// been ready once, the lists are ErrNotReady and nothing is there.

// City gives a city.
func (n *Node) City(id string) (*wire.City, bool) { return findMeta(n, id, (*meta.Machine).City) }

// Movie gives a movie.
func (n *Node) Movie(id string) (*wire.Movie, bool) { return findMeta(n, id, (*meta.Machine).Movie) }

// Theatre gives a theatre.
func (n *Node) Theatre(id string) (*wire.Theatre, bool) {
	return findMeta(n, id, (*meta.Machine).Theatre)
}

// Screen gives a screen.
func (n *Node) Screen(id string) (*wire.Screen, bool) { return findMeta(n, id, (*meta.Machine).Screen) }

// ShowEntry gives a show as browsing lists it.
func (n *Node) ShowEntry(id string) (*wire.ShowEntry, bool) {
	return findMeta(n, id, (*meta.Machine).ShowEntry)
}

// Cities lists all cities by id.
func (n *Node) Cities(cursor string, limit int) (meta.Page[*wire.City], error) {
	return listMeta(n, func(m *meta.Machine) (meta.Page[*wire.City], error) { return m.Cities(cursor, limit) })
}

// SearchMovies lists the movies whose title contains text, whatever the case: whole titles first, then beginnings,
// then beginnings of a word, then the rest, each by title. An empty text lists all movies by title.
func (n *Node) SearchMovies(text, cursor string, limit int) (meta.Page[*wire.Movie], error) {
	return listMeta(n, func(m *meta.Machine) (meta.Page[*wire.Movie], error) {
		return m.SearchMovies(text, cursor, limit)
	})
}

// MoviesOfCity lists the movies that have a show in a city that is not over, by title. ErrCityNotFound.
func (n *Node) MoviesOfCity(city, cursor string, limit int) (meta.Page[*wire.Movie], error) {
	return listMeta(n, func(m *meta.Machine) (meta.Page[*wire.Movie], error) {
		if _, ok := m.City(city); !ok {
			return meta.Page[*wire.Movie]{}, ErrCityNotFound
		}
		return m.MoviesOfCity(city, n.clock.Now(), cursor, limit)
	})
}

// TheatresOfCity lists a city's theatres by id. ErrCityNotFound.
func (n *Node) TheatresOfCity(city, cursor string, limit int) (meta.Page[*wire.Theatre], error) {
	return listMeta(n, func(m *meta.Machine) (meta.Page[*wire.Theatre], error) {
		if _, ok := m.City(city); !ok {
			return meta.Page[*wire.Theatre]{}, ErrCityNotFound
		}
		return m.TheatresOfCity(city, cursor, limit)
	})
}

// ScreensOfTheatre lists a theatre's screens by id. ErrTheatreNotFound.
func (n *Node) ScreensOfTheatre(theatre, cursor string, limit int) (meta.Page[*wire.Screen], error) {
	return listMeta(n, func(m *meta.Machine) (meta.Page[*wire.Screen], error) {
		if _, ok := m.Theatre(theatre); !ok {
			return meta.Page[*wire.Screen]{}, ErrTheatreNotFound
		}
		return m.ScreensOfTheatre(theatre, cursor, limit)
	})
}

// BrowseShows lists the shows of a city's local date, by start and id. filter.Movie and filter.Theatre may be empty.
// ErrCityNotFound.
func (n *Node) BrowseShows(filter meta.ShowFilter, cursor string, limit int) (meta.Page[*wire.ShowEntry], error) {
	return listMeta(n, func(m *meta.Machine) (meta.Page[*wire.ShowEntry], error) {
		if _, ok := m.City(filter.City); !ok {
			return meta.Page[*wire.ShowEntry]{}, ErrCityNotFound
		}
		return m.Shows(filter, cursor, limit)
	})
}

// readMeta runs fn beside other reads of the catalogue and never beside a write. It must be short. The meta group
// must be open.
func (n *Node) readMeta(fn func(*meta.Machine)) {
	n.meta.group.Read(func() { fn(n.meta.machine) })
}

func findMeta[T any](n *Node, id string, find func(*meta.Machine, string) (*T, bool)) (object *T, ok bool) {
	if n.serving() == nil {
		return nil, false
	}
	n.readMeta(func(m *meta.Machine) { object, ok = find(m, id) })
	return object, ok
}

func listMeta[T any](n *Node, list func(*meta.Machine) (meta.Page[T], error)) (page meta.Page[T], err error) {
	if n.serving() == nil {
		return page, n.notReady()
	}
	n.readMeta(func(m *meta.Machine) { page, err = list(m) })
	return page, err
}
