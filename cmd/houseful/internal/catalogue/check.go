package catalogue

import (
	"fmt"
	"time"

	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

// checker collects the complaints about a document.
type checker struct {
	document *Document
	problems Problems

	zones     map[string]*time.Location // by city
	durations map[string]time.Duration  // by movie
	cities    map[string]string         // by theatre
	screens   map[string]*screenFacts   // by screen
}

// screenFacts is what the checks of shows want to know about a screen of the same file.
type screenFacts struct {
	tiers   []*wire.Tier // nil when the layout is at fault
	theatre string
}

// check finds what the server would refuse, as far as the file alone tells. References to objects that the file does
// not have are left to the server, which may have them.
func (d *Document) check() Problems {
	c := &checker{
		document: d, zones: map[string]*time.Location{}, durations: map[string]time.Duration{},
		cities: map[string]string{}, screens: map[string]*screenFacts{},
	}
	for i := range d.Cities {
		c.city(i, &d.Cities[i])
	}
	for i := range d.Movies {
		c.movie(i, &d.Movies[i])
	}
	for i := range d.Theatres {
		c.theatre(i, &d.Theatres[i])
	}
	for i := range d.Screens {
		c.screen(i, &d.Screens[i])
	}
	for i := range d.Shows {
		c.show(i, &d.Shows[i])
	}
	c.unique("cities", len(d.Cities), func(i int) string { return d.Cities[i].ID })
	c.unique("movies", len(d.Movies), func(i int) string { return d.Movies[i].ID })
	c.unique("theatres", len(d.Theatres), func(i int) string { return d.Theatres[i].ID })
	c.unique("screens", len(d.Screens), func(i int) string { return d.Screens[i].ID })
	c.unique("shows", len(d.Shows), func(i int) string { return d.Shows[i].ID })
	return c.problems
}

// complain adds a complaint, unless there are enough.
func (c *checker) complain(section string, index int, id, field, format string, args ...any) {
	if len(c.problems) < ProblemsMax {
		c.problems = append(c.problems, c.document.problem(section, index, id, field, fmt.Sprintf(format, args...)))
	}
}

// unique complains about ids that come twice.
func (c *checker) unique(section string, count int, id func(int) string) {
	first := make(map[string]int, count)
	for i := range count {
		if before, twice := first[id(i)]; twice && id(i) != "" {
			c.complain(section, i, id(i), "id", "%s[%d] has this id already", section, before)
			continue
		}
		first[id(i)] = i
	}
}

// id complains about a text that cannot be the id of an object.
func (c *checker) id(section string, index int, id, field, value string) {
	switch {
	case value == "":
		c.complain(section, index, id, field, "is needed")
	case !meta.ValidID(value):
		c.complain(section, index, id, field, "%q must be 1 to %d characters from A-Z a-z 0-9 . _ ~ -", value, meta.IDCharsMax)
	}
}

// needed complains about a text that is not there.
func (c *checker) needed(section string, index int, id, field, value string) {
	if value == "" {
		c.complain(section, index, id, field, "is needed")
	}
}

func (c *checker) city(i int, city *City) {
	c.id("cities", i, "", "id", city.ID)
	c.needed("cities", i, city.ID, "name", city.Name)
	zone, err := time.LoadLocation(city.TimeZone)
	if city.TimeZone == "" || city.TimeZone == "Local" || err != nil {
		c.complain("cities", i, city.ID, "timeZone", "%q is no IANA time zone; for example Asia/Kolkata", city.TimeZone)
		return
	}
	c.zones[city.ID] = zone
}

func (c *checker) movie(i int, movie *Movie) {
	c.id("movies", i, "", "id", movie.ID)
	c.needed("movies", i, movie.ID, "title", movie.Title)
	if movie.DurationMinutes < 1 {
		c.complain("movies", i, movie.ID, "durationMinutes", "must be at least 1")
		return
	}
	c.durations[movie.ID] = time.Duration(movie.DurationMinutes) * time.Minute
}

func (c *checker) theatre(i int, theatre *Theatre) {
	c.id("theatres", i, "", "id", theatre.ID)
	c.needed("theatres", i, theatre.ID, "name", theatre.Name)
	c.id("theatres", i, theatre.ID, "cityId", theatre.CityID)
	c.cities[theatre.ID] = theatre.CityID
}
