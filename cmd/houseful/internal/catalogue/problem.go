package catalogue

import (
	"fmt"
	"strings"
)

// Problem is one complaint about a catalogue.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // 1-based; 0 is unknown
	Path    string `json:"path,omitempty"` // for example screens[2].rows[0].seats
	ID      string `json:"id,omitempty"`   // of the object
	Message string `json:"message"`
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Path != "" {
		b.WriteString(": " + p.Path)
	}
	if p.ID != "" {
		b.WriteString(" (" + p.ID + ")")
	}
	return b.String() + ": " + p.Message
}

// Problems is the error of a catalogue whose content is at fault: every complaint, one a line.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}
