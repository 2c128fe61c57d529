package meta

import (
	"fmt"
	"maps"
	"slices"

	"github.com/houseful/houseful/fsm"
)

// problemsMax is the most problems that an audit words.
const problemsMax = 100

// Audit recomputes every index from scratch and checks every reference. It must not run beside Apply and takes time
// in proportion to the catalogue; that of a Capture leaves the indexes out and may run beside Apply.
func (m *Machine) Audit() *fsm.AuditReport {
	report := m.Capture().Audit()
	fresh := New()
	fresh.birth = m.birth
	for _, movie := range m.movies.list() {
		fresh.titles.add(movie)
	}
	for _, theatre := range m.theatres.list() {
		fresh.theatresOfCity.move(theatre.Id, "", theatre.CityId)
	}
	for _, screen := range m.screens.list() {
		fresh.screensOfTheatre.move(screen.Id, "", screen.TheatreId)
	}
	for _, entry := range m.Capture().sortedShows() {
		fresh.days.add(entry)
	}
	note := problems{report}
	note.unless(slices.Equal(m.titles.sorted, fresh.titles.sorted), "the index of titles is not that of the movies")
	note.unless(maps.EqualFunc(m.theatresOfCity, fresh.theatresOfCity, slices.Equal), "the theatres of a city are not what the theatres say")
	note.unless(maps.EqualFunc(m.screensOfTheatre, fresh.screensOfTheatre, slices.Equal), "the screens of a theatre are not what the screens say")
	note.unless(maps.EqualFunc(m.days.shows, fresh.days.shows, slices.Equal), "the shows of a day are not what the shows say")
	note.unless(maps.EqualFunc(m.days.dates, fresh.days.dates, slices.Equal), "the days of a city are not what the shows say")
	for _, ids := range []struct {
		what    string
		sorted  []string
		objects int
	}{
		{"nodes", m.nodes.ids, len(m.nodes.byID)},
		{"cities", m.cities.ids, len(m.cities.byID)},
		{"movies", m.movies.ids, len(m.movies.byID)},
		{"theatres", m.theatres.ids, len(m.theatres.byID)},
		{"screens", m.screens.ids, len(m.screens.byID)},
	} {
		note.unless(slices.IsSorted(ids.sorted) && len(ids.sorted) == ids.objects, "the order of the "+ids.what+" is not theirs")
	}
	note.unless(len(m.answers.byID) == len(m.answers.queue), "answers are kept without an end")
	return report
}

// Audit checks every reference and every object of a view, and gives its digest.
func (c *Capture) Audit() *fsm.AuditReport {
	report := &fsm.AuditReport{OK: true, Digest: c.Digest(), Now: c.now, Shows: len(c.shows)}
	note := problems{report}
	cities, movies, theatres, screens := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, city := range c.cities {
		cities[city.Id] = true
		note.unless(CheckCity(city) == nil, "city "+city.Id+" is broken")
	}
	for _, movie := range c.movies {
		movies[movie.Id] = true
		note.unless(CheckMovie(movie) == nil, "movie "+movie.Id+" is broken")
	}
	for _, theatre := range c.theatres {
		theatres[theatre.Id] = true
		note.unless(CheckTheatre(theatre) == nil && cities[theatre.CityId], "theatre "+theatre.Id+" is broken or in no city")
	}
	for _, screen := range c.screens {
		screens[screen.Id] = true
		note.unless(CheckScreen(screen) == nil && theatres[screen.TheatreId], "screen "+screen.Id+" is broken or in no theatre")
	}
	for _, e := range c.sortedShows() {
		note.unless(checkShowEntry(e) == nil, "show "+e.ShowId+" is broken")
		note.unless(cities[e.CityId] && movies[e.MovieId] && theatres[e.TheatreId] && screens[e.ScreenId],
			"show "+e.ShowId+" names something that is not there")
	}
	if c.birth != nil {
		note.unless(checkBirth(c.birth) == nil, "the birth record is broken")
	} else {
		note.unless(len(c.cities)+len(c.movies)+len(c.nodes)+len(c.shows) == 0, "there are objects before the birth")
	}
	return report
}

// problems collects what is wrong.
type problems struct{ report *fsm.AuditReport }

func (p problems) unless(fine bool, problem string) {
	switch {
	case fine:
		return
	case len(p.report.Problems) < problemsMax-1:
		p.report.Problems = append(p.report.Problems, problem)
	case p.report.OK || len(p.report.Problems) == problemsMax-1:
		p.report.Problems = append(p.report.Problems, fmt.Sprintf("more than %d problems", problemsMax-1))
	}
	p.report.OK = false
}
