package meta

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

// everyPage walks a list in pages of each size and demands the same ids every time.
func everyPage[T any](t *testing.T, want []string, id func(T) string, list func(cursor string, limit int) (Page[T], error)) {
	t.Helper()
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		cursor := ""
		for pages := 0; pages == 0 || cursor != ""; pages++ {
			page, err := list(cursor, limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Items) > limit || pages > len(want) {
				t.Fatalf("page %d of at most %d has %d items", pages, limit, len(page.Items))
			}
			for _, item := range page.Items {
				got = append(got, id(item))
			}
			cursor = page.Next
		}
		if !slices.Equal(got, want) {
			t.Errorf("in pages of %d: %q, want %q", limit, got, want)
		}
	}
	for _, cursor := range []string{"!", "aGVsbG8", encodeCursor("x", "1")} {
		if _, err := list(cursor, 1); !errors.Is(err, ErrCursor) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

// M-30
func TestSearchMoviesRanks(t *testing.T) {
	f := bornFixture(t)
	for id, title := range map[string]string{
		"1": "Dune", "2": "DUNE", "3": "Dune: Part Two", "4": "The Dune Story", "5": "Sandune", "6": "Interstellar",
		"7": "Dunedin", "8": "Re-Dune", "9": "Pathaan",
	} {
		f.do(movie(id, title))
	}
	for text, want := range map[string][]string{
		"dune": {"1", "2", "3", "7", "8", "4", "5"}, " DUNE ": {"1", "2", "3", "7", "8", "4", "5"}, "stell": {"6"}, "zzz": nil,
		"": {"1", "2", "3", "7", "6", "9", "8", "5", "4"},
	} {
		everyPage(t, want, (*wire.Movie).GetId, func(cursor string, limit int) (Page[*wire.Movie], error) {
			return f.m.SearchMovies(text, cursor, limit)
		})
	}
	f.do(movie("1", "Arrival"))
	if page, _ := f.m.SearchMovies("arr", "", 5); len(page.Items) != 1 || page.Items[0].Id != "1" {
		t.Errorf("a new title is not found: %v", page.Items)
	}
}

// M-30
func TestListsAreInOrderAndPage(t *testing.T) {
	f := bornFixture(t)
	f.catalogue()
	f.do(movie("M0", "Zulu"))
	f.do(city("C0"))
	f.do(theatre("TC0", "C0"))
	var cities, theatres, screens []string
	for i := range 5 {
		id := fmt.Sprintf("C%d", 4-i)
		f.do(city(id))
		f.do(theatre("T"+id, "C0"))
		f.do(screen("S"+id, "TC0"))
	}
	for i := range 5 {
		cities, theatres, screens = append(cities, fmt.Sprintf("C%d", i)), append(theatres, fmt.Sprintf("TC%d", i)), append(screens, fmt.Sprintf("SC%d", i))
	}
	everyPage(t, append([]string{"BLR"}, cities...), (*wire.City).GetId, f.m.Cities)
	everyPage(t, theatres, (*wire.Theatre).GetId, func(cursor string, limit int) (Page[*wire.Theatre], error) {
		return f.m.TheatresOfCity("C0", cursor, limit)
	})
	everyPage(t, screens, (*wire.Screen).GetId, func(cursor string, limit int) (Page[*wire.Screen], error) {
		return f.m.ScreensOfTheatre("TC0", cursor, limit)
	})
}

// M-30
func TestShowsOfADay(t *testing.T) {
	f := bornFixture(t)
	f.catalogue()
	f.do(movie("M2", "Arrival"))
	put := func(id string, startsAt int64, date uint32, movie string) {
		e := entry(id, 1)
		e.StartsAtMs, e.EndsAtMs, e.LocalDate, e.MovieId = startsAt, startsAt+100, date, movie
		if r := f.do(e); r.Code != CodeOK {
			t.Fatalf("show %s: %+v", id, r)
		}
	}
	put("b", 300, 20261201, "M1")
	put("a", 300, 20261201, "M1")
	put("c", 100, 20261201, "M2")
	put("d", 200, 20261202, "M1")
	put("e", 1100, 20261201, "M1") // sorts after 300 as a number, before it as a text
	list := func(filter ShowFilter) func(string, int) (Page[*wire.ShowEntry], error) {
		return func(cursor string, limit int) (Page[*wire.ShowEntry], error) { return f.m.Shows(filter, cursor, limit) }
	}
	day := ShowFilter{City: "BLR", Date: 20261201}
	everyPage(t, []string{"c", "a", "b", "e"}, (*wire.ShowEntry).GetShowId, list(day))
	day.Movie = "M1"
	everyPage(t, []string{"a", "b", "e"}, (*wire.ShowEntry).GetShowId, list(day))
	day.Theatre = "T9"
	everyPage(t, nil, (*wire.ShowEntry).GetShowId, list(day))
	everyPage(t, []string{"d"}, (*wire.ShowEntry).GetShowId, list(ShowFilter{City: "BLR", Date: 20261202}))

	movies := func(now int64) func(string, int) (Page[*wire.Movie], error) {
		return func(cursor string, limit int) (Page[*wire.Movie], error) {
			return f.m.MoviesOfCity("BLR", testTime(now), cursor, limit)
		}
	}
	everyPage(t, []string{"M2", "M1"}, (*wire.Movie).GetId, movies(150))
	everyPage(t, []string{"M1"}, (*wire.Movie).GetId, movies(200))
	everyPage(t, nil, (*wire.Movie).GetId, movies(5000))

	moved := entry("d", 2)
	moved.StartsAtMs, moved.EndsAtMs, moved.LocalDate = 250, 350, 20261201
	f.do(moved)
	everyPage(t, []string{"c", "d", "a", "b", "e"}, (*wire.ShowEntry).GetShowId, list(ShowFilter{City: "BLR", Date: 20261201}))
	everyPage(t, nil, (*wire.ShowEntry).GetShowId, list(ShowFilter{City: "BLR", Date: 20261202}))
}

func TestSpansAreReadAsTheyAreWritten(t *testing.T) {
	for text, written := range map[string]string{
		"1-4,5-8": "1-4,5-8", "1,2,3": "1,2,3", " 1 - 4 , 6 ": "1-4,6", "7-7": "7", "4294967295": "4294967295",
	} {
		spans, err := ParseSpans(text)
		if err != nil || string(AppendSpans(nil, spans)) != written {
			t.Errorf("%q: %q %v", text, AppendSpans(nil, spans), err)
		}
	}
	for _, text := range []string{"", ",", "1,", "a", "1-", "-1", "+1", "0", "1-2-3", "4294967296", "1 2"} {
		if spans, err := ParseSpans(text); !errors.Is(err, ErrSpans) {
			t.Errorf("%q was read as %v", text, spans)
		}
	}
}
