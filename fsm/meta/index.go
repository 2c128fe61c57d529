package meta

import (
	"cmp"
	"slices"
	"strings"

	"github.com/houseful/houseful/fsm/wire"
)

// table is the objects of a kind, and their ids in order.
type table[T any] struct {
	byID map[string]*T
	ids  []string // ascending
}

func newTable[T any]() table[T] { return table[T]{byID: map[string]*T{}} }

func (t *table[T]) put(id string, object *T) {
	if _, exists := t.byID[id]; !exists {
		t.ids = insertID(t.ids, id)
	}
	t.byID[id] = object
}

// list gives the objects in the order of their ids.
func (t *table[T]) list() []*T {
	objects := make([]*T, len(t.ids))
	for i, id := range t.ids {
		objects[i] = t.byID[id]
	}
	return objects
}

func insertID(ids []string, id string) []string {
	place, found := slices.BinarySearch(ids, id)
	if found {
		return ids
	}
	return slices.Insert(ids, place, id)
}

// groups are the ids of objects by what they belong to, in order.
type groups map[string][]string

// move takes id out of from ("": it is new) and puts it into to.
func (g groups) move(id, from, to string) {
	if from != "" && from != to {
		place, found := slices.BinarySearch(g[from], id)
		if !found {
			panic("meta: an object is not where it belongs")
		}
		if g[from] = slices.Delete(g[from], place, place+1); len(g[from]) == 0 {
			delete(g, from)
		}
	}
	g[to] = insertID(g[to], id)
}

// dayKey is a city's day.
type dayKey struct {
	city string
	date Date
}

// dayIndex finds the shows of a city's day, by start and id, and the days of a city in order.
type dayIndex struct {
	shows map[dayKey][]*wire.ShowEntry
	dates map[string][]Date
}

func newDayIndex() dayIndex {
	return dayIndex{shows: map[dayKey][]*wire.ShowEntry{}, dates: map[string][]Date{}}
}

func compareShows(a, b *wire.ShowEntry) int {
	return cmp.Or(cmp.Compare(a.StartsAtMs, b.StartsAtMs), strings.Compare(a.ShowId, b.ShowId))
}

func (d *dayIndex) add(entry *wire.ShowEntry) {
	key := dayKey{entry.CityId, Date(entry.LocalDate)}
	day := d.shows[key]
	if len(day) == 0 {
		place, _ := slices.BinarySearch(d.dates[key.city], key.date)
		d.dates[key.city] = slices.Insert(d.dates[key.city], place, key.date)
	}
	place, found := slices.BinarySearchFunc(day, entry, compareShows)
	if found {
		panic("meta: a show is indexed twice")
	}
	d.shows[key] = slices.Insert(day, place, entry)
}

func (d *dayIndex) remove(entry *wire.ShowEntry) {
	key := dayKey{entry.CityId, Date(entry.LocalDate)}
	day := d.shows[key]
	place, found := slices.BinarySearchFunc(day, entry, compareShows)
	if !found {
		panic("meta: a show is not on its day")
	}
	if day = slices.Delete(day, place, place+1); len(day) > 0 {
		d.shows[key] = day
		return
	}
	delete(d.shows, key)
	dates := d.dates[key.city]
	place, _ = slices.BinarySearch(dates, key.date)
	if dates = slices.Delete(dates, place, place+1); len(dates) > 0 {
		d.dates[key.city] = dates
		return
	}
	delete(d.dates, key.city)
}

// titleIndex is the movies by title, whatever its case, and id.
type titleIndex struct {
	sorted []indexedTitle
}

type indexedTitle struct {
	folded string
	movie  *wire.Movie
}

func fold(title string) string { return strings.ToLower(title) }

func compareTitles(a, b indexedTitle) int {
	return cmp.Or(strings.Compare(a.folded, b.folded), strings.Compare(a.movie.Id, b.movie.Id))
}

func (t *titleIndex) add(movie *wire.Movie) {
	title := indexedTitle{fold(movie.Title), movie}
	place, found := slices.BinarySearchFunc(t.sorted, title, compareTitles)
	if found {
		panic("meta: a movie is indexed twice")
	}
	t.sorted = slices.Insert(t.sorted, place, title)
}

func (t *titleIndex) remove(movie *wire.Movie) {
	place, found := slices.BinarySearchFunc(t.sorted, indexedTitle{fold(movie.Title), movie}, compareTitles)
	if !found {
		panic("meta: a movie is not under its title")
	}
	t.sorted = slices.Delete(t.sorted, place, place+1)
}
