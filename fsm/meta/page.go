package meta

import (
	"encoding/base64"
	"errors"
	"strings"
)

// ErrCursor says that a text is not the cursor of a page of this list.
var ErrCursor = errors.New("not a cursor of this list")

// Page is one page of a list. Next is the cursor of the next page, "" at the end.
type Page[T any] struct {
	Items []T
	Next  string
}

// A cursor names the last item of a page by its place in the list's order, so that a page begins right after it
// whatever was added or removed meanwhile. It starts with the kind of list, so that one list refuses another's.
const cursorSeparator = "\x00"

func encodeCursor(kind string, parts ...string) string {
	text := kind + cursorSeparator + strings.Join(parts, cursorSeparator)
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// decodeCursor gives the parts back; nil for the first page.
func decodeCursor(kind, cursor string, parts int) ([]string, error) {
	if cursor == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, ErrCursor
	}
	fields := strings.Split(string(text), cursorSeparator)
	if len(fields) != parts+1 || fields[0] != kind {
		return nil, ErrCursor
	}
	return fields[1:], nil
}

// paged cuts a page out of ordered items: at most limit of those that come after the cursor. place gives an item's
// place in the order.
func paged[T any](items []T, limit int, next func(last T) string) Page[T] {
	limit = min(max(limit, 1), PageMax)
	if len(items) <= limit {
		return Page[T]{Items: items}
	}
	items = items[:limit:limit]
	return Page[T]{Items: items, Next: next(items[limit-1])}
}
