package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// writeText prints the report for a person.
func (r *report) writeText(out io.Writer) error {
	var text strings.Builder
	for _, w := range r.Workloads {
		w.write(&text, &r.Config)
	}
	for _, c := range r.Comparisons {
		fmt.Fprintf(&text, "%s: %s\n", c.Name, c.Ratio)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// write prints one workload: a table of both sides, the ratio, and the outcomes.
func (w *workloadReport) write(text *strings.Builder, cfg *config) {
	loop := "closed loop"
	if w.OpenLoopRate > 0 {
		loop = fmt.Sprintf("open loop at %s/s", count(w.OpenLoopRate))
	}
	fmt.Fprintf(text, "%s: %s, connections: %d, %d rounds of %v on each side\n\n",
		w.Name, loop, w.Connections, cfg.Rounds, cfg.Duration/time.Duration(cfg.Rounds))
	table := tabwriter.NewWriter(text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tdone/s\tp50\tp90\tp99\tp99.9\tmax\tserver CPU\tclient CPU\tanswer\t")
	w.Houseful.write(table, sideReal)
	w.Echo.write(table, sideEcho)
	if w.Idle != nil {
		fmt.Fprintf(table, "fsync\t\t%s\t\t\t\t\n", w.Idle.Fsync.columns())
	}
	_ = table.Flush() // a strings.Builder takes everything
	text.WriteByte('\n')
	if w.OpenLoopRate == 0 {
		fmt.Fprintf(text, "of the echo: %s\n", w.Ratio)
	}
	if w.CPURatio > 0 {
		fmt.Fprintf(text, "of the echo by processor time, client included: %.3f\n", w.CPURatio)
	}
	if w.Idle != nil {
		fmt.Fprintf(text, "idle hold: p50 is %.2f fsyncs of this disk (bar: under %.0f)\n", w.Idle.Ratio, w.Idle.Bar)
	}
	w.Houseful.writeOutcomes(text, sideReal)
	w.Echo.writeOutcomes(text, sideEcho)
	for _, note := range w.Notes {
		fmt.Fprintf(text, "note: %s\n", note)
	}
	text.WriteByte('\n')
}

// write prints the rows of a side: one for a single step, else one for each under the common figures.
func (s *sideReport) write(table io.Writer, kind sideKind) {
	latencies := "\t\t\t\t"
	if len(s.Steps) == 1 {
		latencies = s.Steps[0].Latencies.columns()
	}
	fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s B\t\n", kind, count(s.DonePerSecond), latencies,
		duration(s.ServerMicrosPerRequest), duration(s.ClientMicrosPerRequest), count(s.AnswerBytesMean))
	if len(s.Steps) == 1 {
		return
	}
	for _, step := range s.Steps {
		fmt.Fprintf(table, "%s %s\t\t%s\t\t\t\t\n", kind, step.Name, step.Latencies.columns())
	}
}

// writeOutcomes keeps what is certain apart from what is not.
func (s *sideReport) writeOutcomes(text *strings.Builder, kind sideKind) {
	o := s.Outcomes
	fmt.Fprintf(text, "%s: done %s · refused %s · not applied %s · unknown %s", kind, count(float64(o.Done)),
		codes(o.Refused), codes(o.NotApplied), codes(o.Unknown))
	if s.Unsent > 0 {
		fmt.Fprintf(text, " · never sent %s", count(float64(s.Unsent)))
	}
	text.WriteByte('\n')
}

// columns gives the latencies as cells.
func (l latencyReport) columns() string {
	cells := make([]string, 0, 5)
	for _, value := range []float64{l.P50, l.P90, l.P99, l.P999, l.Max} {
		cells = append(cells, duration(value))
	}
	return strings.Join(cells, "\t")
}

// String gives the median and how far the rounds lie apart.
func (s spread) String() string {
	return fmt.Sprintf("%.3f (rounds from %.3f to %.3f)", s.Median, s.Min, s.Max)
}

// duration prints microseconds with three figures; "-" when there are none.
func duration(microseconds float64) string {
	switch {
	case microseconds <= 0:
		return "-"
	case microseconds < 1000:
		return strconv.FormatFloat(microseconds, 'f', precision(microseconds), 64) + "µs"
	case microseconds < 1e6:
		return strconv.FormatFloat(microseconds/1e3, 'f', precision(microseconds/1e3), 64) + "ms"
	default:
		return strconv.FormatFloat(microseconds/1e6, 'f', precision(microseconds/1e6), 64) + "s"
	}
}

// precision gives the decimals that make three figures.
func precision(value float64) int {
	switch {
	case value < 10:
		return 2
	case value < 100:
		return 1
	default:
		return 0
	}
}

// count prints a whole number with its thousands apart.
func count(value float64) string {
	digits := strconv.FormatFloat(value, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// codes prints counts by code, the total first.
func codes(counts map[string]int64) string {
	total := sum(counts)
	if total == 0 {
		return "0"
	}
	parts := make([]string, 0, len(counts))
	for code, n := range counts {
		parts = append(parts, code+" "+count(float64(n)))
	}
	slices.Sort(parts)
	return count(float64(total)) + " (" + strings.Join(parts, ", ") + ")"
}
