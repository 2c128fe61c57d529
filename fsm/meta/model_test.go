package meta

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// model is the catalogue as plain maps, written to be obvious.
type model struct {
	cities   map[string]*wire.City
	movies   map[string]*wire.Movie
	theatres map[string]*wire.Theatre
	screens  map[string]*wire.Screen
	shows    map[string]*wire.ShowEntry
}

func newModel() *model {
	return &model{
		map[string]*wire.City{},
		map[string]*wire.Movie{},
		map[string]*wire.Theatre{},
		map[string]*wire.Screen{},
		map[string]*wire.ShowEntry{},
	}
}

func modelPut[T any, M interface {
	*T
	proto.Message
}](objects map[string]M, id string, object M,
) Result {
	old, exists := objects[id]
	if exists && proto.Equal(old, object) {
		return Result{}
	}
	objects[id] = object
	return Result{Created: !exists, Changed: true}
}

// do is the rules again.
func (m *model) do(body any) Result {
	switch body := body.(type) {
	case *wire.City:
		return modelPut(m.cities, body.Id, body)
	case *wire.Movie:
		return modelPut(m.movies, body.Id, body)
	case *wire.Theatre:
		if m.cities[body.CityId] == nil {
			return Result{Code: CodeCityNotFound}
		}
		return modelPut(m.theatres, body.Id, body)
	case *wire.Screen:
		if m.theatres[body.TheatreId] == nil {
			return Result{Code: CodeTheatreNotFound}
		}
		return modelPut(m.screens, body.Id, body)
	case *wire.RemoveShowEntry:
		if old := m.shows[body.ShowId]; old == nil || old.Revision > body.Revision {
			return Result{}
		}
		delete(m.shows, body.ShowId)
		return Result{Changed: true}
	}
	e := body.(*wire.ShowEntry)
	old := m.shows[e.ShowId]
	switch {
	case old != nil && old.Revision >= e.Revision:
		return Result{}
	case m.cities[e.CityId] == nil:
		return Result{Code: CodeCityNotFound}
	case m.theatres[e.TheatreId] == nil:
		return Result{Code: CodeTheatreNotFound}
	case m.screens[e.ScreenId] == nil:
		return Result{Code: CodeScreenNotFound}
	case m.movies[e.MovieId] == nil:
		return Result{Code: CodeMovieNotFound}
	}
	m.shows[e.ShowId] = e
	return Result{Created: old == nil, Changed: true}
}

func drawBody(t *rapid.T) any {
	id := func(kind string) string { return fmt.Sprintf("%s%d", kind, rapid.IntRange(0, 3).Draw(t, kind)) }
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		c := city(id("C"))
		c.State = rapid.SampledFrom([]string{"", "KA"}).Draw(t, "state")
		return c
	case 1:
		m := movie(id("M"), rapid.SampledFrom([]string{"Dune", "dune", "Arrival"}).Draw(t, "title"))
		if rapid.Bool().Draw(t, "rated") {
			m.RatingHundredths = proto.Uint32(uint32(rapid.IntRange(0, 2).Draw(t, "rating")))
		}
		return m
	case 2, 3:
		return theatre(id("T"), id("C"))
	case 4, 5:
		return screen(id("S"), id("T"))
	case 6:
		return &wire.RemoveShowEntry{ShowId: id("show"), Revision: uint64(rapid.IntRange(0, 6).Draw(t, "revision"))}
	}
	e := entry(id("show"), uint64(rapid.IntRange(1, 6).Draw(t, "revision")))
	e.CityId, e.TheatreId, e.ScreenId, e.MovieId = id("C"), id("T"), id("S"), id("M")
	e.LocalDate = uint32(20261201 + rapid.IntRange(0, 2).Draw(t, "day"))
	e.StartsAtMs = int64(rapid.IntRange(1, 3).Draw(t, "starts"))
	e.EndsAtMs = e.StartsAtMs + 1
	return e
}

// Every command comes twice with others between: one answer, one effect, the same as the model's; snapshots and
// retries at random in between. Lists say what the model says.
func TestMachineAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := &fixture{t: t, m: New(), at: testStart}
		f.do(testBirth(2))
		m := newModel()
		type sent struct {
			command *wire.MetaCommand
			answer  Result
		}
		var past []sent
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			f.at += fsm.Time(rapid.IntRange(0, 3000).Draw(rt, "ms"))
			switch {
			case len(past) > 0 && rapid.IntRange(0, 3).Draw(rt, "again") == 0:
				again := rapid.SampledFrom(past).Draw(rt, "which")
				want := again.answer
				got := *f.apply(again.command)[0]
				if f.at > want.Now.Add(fsm.CommandLifeMax) {
					want = Result{Code: CodeCommandTooLate, Now: f.at}
				}
				if got != want {
					rt.Fatalf("again: %+v, first %+v", got, want)
				}
			case rapid.IntRange(0, 9).Draw(rt, "restore") == 0:
				f.m = mustRestore(t, snapshotOf(t, f.m))
			default:
				body := drawBody(rt)
				want := m.do(body)
				want.Now = f.at
				command := f.command(body)
				if got := *f.apply(command)[0]; got != want {
					rt.Fatalf("%v: %+v, want %+v", body, got, want)
				}
				past = append(past, sent{command, want})
			}
			if report := f.m.Audit(); !report.OK {
				rt.Fatalf("audit: %q", report.Problems)
			}
			m.compare(rt, f.m)
		}
		if !bytes.Equal(snapshotOf(t, f.m), snapshotOf(t, mustRestore(t, snapshotOf(t, f.m)))) {
			rt.Fatal("a snapshot of a restored machine is another")
		}
	})
}

func (m *model) compare(t *rapid.T, machine *Machine) {
	if got := machine.Capture(); len(got.cities) != len(m.cities) || len(got.movies) != len(m.movies) || len(got.shows) != len(m.shows) {
		t.Fatalf("%d cities, %d movies, %d shows", len(got.cities), len(got.movies), len(got.shows))
	}
	for city := range m.cities {
		var theatres []string
		for _, id := range slices.Sorted(maps.Keys(m.theatres)) {
			if m.theatres[id].CityId == city {
				theatres = append(theatres, id)
			}
		}
		page, _ := machine.TheatresOfCity(city, "", PageMax)
		if got := idsOf(page.Items, (*wire.Theatre).GetId); !slices.Equal(got, theatres) {
			t.Fatalf("theatres of %s: %q, want %q", city, got, theatres)
		}
		for date := uint32(20261201); date <= 20261203; date++ {
			var shows []*wire.ShowEntry
			for _, e := range m.shows {
				if e.CityId == city && e.LocalDate == date {
					shows = append(shows, e)
				}
			}
			slices.SortFunc(shows, func(a, b *wire.ShowEntry) int {
				if a.StartsAtMs != b.StartsAtMs {
					return int(a.StartsAtMs - b.StartsAtMs)
				}
				return strings.Compare(a.ShowId, b.ShowId)
			})
			page, _ := machine.Shows(ShowFilter{City: city, Date: Date(date)}, "", PageMax)
			if got, want := idsOf(page.Items, (*wire.ShowEntry).GetShowId), idsOf(shows, (*wire.ShowEntry).GetShowId); !slices.Equal(got, want) {
				t.Fatalf("shows of %s on %d: %q, want %q", city, date, got, want)
			}
		}
	}
}

func idsOf[T any](items []T, id func(T) string) []string {
	var ids []string
	for _, item := range items {
		ids = append(ids, id(item))
	}
	return ids
}
