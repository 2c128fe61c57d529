package meta

import (
	"bytes"

	"github.com/houseful/houseful/fsm/wire"
)

// Every put checks everything first and only then writes.

func (m *Machine) beBorn(birth *wire.Birth) *Result {
	if m.birth != nil {
		if bytes.Equal(appendBirth(nil, m.birth), appendBirth(nil, birth)) {
			return &Result{}
		}
		return &Result{Code: CodeAlreadyBorn}
	}
	if refusal := checkBirth(birth); refusal != nil {
		return refusal
	}
	m.birth, m.feature = birth, birth.FeatureVersion
	for _, node := range birth.Nodes {
		m.nodes.put(node.Id, node)
	}
	for _, group := range birth.Groups {
		for _, voter := range group.Voters {
			m.nextReplica = max(m.nextReplica, voter.Number+1)
		}
	}
	return &Result{Created: true, Changed: true}
}

func (m *Machine) raiseFeature(raise *wire.RaiseFeature) *Result {
	switch {
	case raise.Version < m.feature:
		return invalid("version", "a feature version never goes back")
	case raise.Version == m.feature:
		return &Result{}
	}
	m.feature = raise.Version
	return &Result{Changed: true}
}

func (m *Machine) putNode(node *wire.Node) *Result {
	if refusal := checkNode(node); refusal != nil {
		return refusal
	}
	return putIn(&m.nodes, node.Id, node, appendNode, NodesMax, "nodes")
}

func (m *Machine) putCity(city *wire.City) *Result {
	if refusal := CheckCity(city); refusal != nil {
		return refusal
	}
	return putIn(&m.cities, city.Id, city, appendCity, CitiesMax, "cities")
}

func (m *Machine) putMovie(movie *wire.Movie) *Result {
	if refusal := CheckMovie(movie); refusal != nil {
		return refusal
	}
	old := m.movies.byID[movie.Id]
	result := putIn(&m.movies, movie.Id, movie, appendMovie, MoviesMax, "movies")
	if result.Changed {
		if old != nil {
			m.titles.remove(old)
		}
		m.titles.add(movie)
	}
	return result
}

func (m *Machine) putTheatre(theatre *wire.Theatre) *Result {
	if refusal := CheckTheatre(theatre); refusal != nil {
		return refusal
	}
	if m.cities.byID[theatre.CityId] == nil {
		return &Result{Code: CodeCityNotFound}
	}
	old := m.theatres.byID[theatre.Id]
	result := putIn(&m.theatres, theatre.Id, theatre, appendTheatre, TheatresMax, "theatres")
	if result.Changed {
		m.theatresOfCity.move(theatre.Id, old.GetCityId(), theatre.CityId)
	}
	return result
}

func (m *Machine) putScreen(screen *wire.Screen) *Result {
	if refusal := CheckScreen(screen); refusal != nil {
		return refusal
	}
	if m.theatres.byID[screen.TheatreId] == nil {
		return &Result{Code: CodeTheatreNotFound}
	}
	old := m.screens.byID[screen.Id]
	result := putIn(&m.screens, screen.Id, screen, appendScreen, ScreensMax, "screens")
	if result.Changed {
		m.screensOfTheatre.move(screen.Id, old.GetTheatreId(), screen.TheatreId)
	}
	return result
}

// putIn creates or replaces an object, unless the same one is there.
func putIn[T any](t *table[T], id string, object *T, encode func([]byte, *T) []byte, limit int, what string) *Result {
	old, exists := t.byID[id]
	if exists && bytes.Equal(encode(nil, old), encode(nil, object)) {
		return &Result{}
	}
	if !exists && len(t.byID) >= limit {
		return full(what)
	}
	t.put(id, object)
	return &Result{Created: !exists, Changed: true}
}

// putShowEntry takes the newest revision of a show, in whatever order and however often they come.
func (m *Machine) putShowEntry(entry *wire.ShowEntry) *Result {
	if refusal := checkShowEntry(entry); refusal != nil {
		return refusal
	}
	old := m.shows[entry.ShowId]
	switch {
	case old != nil && old.Revision >= entry.Revision:
		return &Result{}
	case m.cities.byID[entry.CityId] == nil:
		return &Result{Code: CodeCityNotFound}
	case m.theatres.byID[entry.TheatreId] == nil:
		return &Result{Code: CodeTheatreNotFound}
	case m.screens.byID[entry.ScreenId] == nil:
		return &Result{Code: CodeScreenNotFound}
	case m.movies.byID[entry.MovieId] == nil:
		return &Result{Code: CodeMovieNotFound}
	case old == nil && len(m.shows) >= ShowEntriesMax:
		return full("shows")
	}
	if old != nil {
		m.days.remove(old)
	}
	m.shows[entry.ShowId] = entry
	m.days.add(entry)
	return &Result{Created: old == nil, Changed: true}
}

func (m *Machine) removeShowEntry(remove *wire.RemoveShowEntry) *Result {
	old := m.shows[remove.ShowId]
	if old == nil || old.Revision > remove.Revision {
		return &Result{}
	}
	m.days.remove(old)
	delete(m.shows, remove.ShowId)
	return &Result{Changed: true}
}
