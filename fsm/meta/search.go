package meta

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/houseful/houseful/fsm/wire"
)

// How well a title matches, best first.
const (
	matchWhole = iota
	matchStart
	matchWord
	matchInside
	matchRanks
)

// rank says how well a folded title matches a folded text; false when it does not.
func rank(title, text string) (int, bool) {
	place := strings.Index(title, text)
	switch {
	case place < 0:
		return 0, false
	case title == text:
		return matchWhole, true
	case place == 0:
		return matchStart, true
	}
	for ; place >= 0; place = nextIndex(title, text, place) {
		if before, _ := utf8.DecodeLastRuneInString(title[:place]); !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return matchWord, true
		}
	}
	return matchInside, true
}

// nextIndex is the place of the next occurrence after the one at place, -1 for none.
func nextIndex(title, text string, place int) int {
	next := strings.Index(title[place+1:], text)
	if next < 0 {
		return -1
	}
	return place + 1 + next
}

// SearchMovies lists the movies whose title contains text, whatever the case: whole titles first, then beginnings,
// then beginnings of a word, then the rest, each by title and id. An empty text lists all movies.
func (m *Machine) SearchMovies(text, cursor string, limit int) (Page[*wire.Movie], error) {
	after, err := decodeCursor(cursorBySearch, cursor, 3)
	if err != nil {
		return Page[*wire.Movie]{}, err
	}
	first := 0 // the rank of the last page's last movie
	var last indexedTitle
	if after != nil {
		if first, err = strconv.Atoi(after[0]); err != nil || first < 0 || first >= matchRanks {
			return Page[*wire.Movie]{}, ErrCursor
		}
		last = indexedTitle{after[1], &wire.Movie{Id: after[2]}}
	}
	text = fold(strings.TrimSpace(text))
	var found [matchRanks][]*wire.Movie
	for _, title := range m.titles.sorted {
		rank, ok := rank(title.folded, text)
		if !ok || rank < first || (after != nil && rank == first && compareTitles(title, last) <= 0) {
			continue
		}
		found[rank] = append(found[rank], title.movie)
	}
	movies := slices.Concat(found[:]...)
	return paged(movies, limit, func(last *wire.Movie) string {
		title := fold(last.Title)
		rank, _ := rank(title, text)
		return encodeCursor(cursorBySearch, strconv.Itoa(rank), title, last.Id)
	}), nil
}
