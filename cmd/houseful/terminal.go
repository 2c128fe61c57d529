package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mattn/go-isatty"
)

// isTerminal reports whether a person looks at w.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	return isatty.IsTerminal(file.Fd())
}

// wantsColour reports whether colours may be written to w: it is a terminal, and nobody asked for plain text
// (no-color.org).
func wantsColour(w io.Writer, environ []string) bool {
	plain := slices.ContainsFunc(environ, func(variable string) bool {
		return variable == "TERM=dumb" || (strings.HasPrefix(variable, "NO_COLOR=") && variable != "NO_COLOR=")
	})
	return isTerminal(w) && !plain
}

// table writes aligned columns.
type table struct{ writer *tabwriter.Writer }

func newTable(w io.Writer, heads ...any) *table {
	t := &table{writer: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row(heads...)
	return t
}

func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = fmt.Sprint(cell)
	}
	fmt.Fprintln(t.writer, strings.Join(texts, "\t")) // errors come out of close
}

func (t *table) close() error { return t.writer.Flush() }
