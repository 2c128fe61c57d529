package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/houseful/houseful/cmd/houseful/internal/catalogue"
	"github.com/houseful/houseful/cmd/houseful/internal/config"
)

// loadReport is what load says at the end.
type loadReport struct {
	File    string                               `json:"file"`
	DryRun  bool                                 `json:"dryRun,omitempty"`
	Objects map[string]map[catalogue.Outcome]int `json:"objects"` // by kind and outcome
	Seconds float64                              `json:"seconds"`
}

// checked is the outcome of an object in a dry run.
const checked catalogue.Outcome = "checked"

func newLoadCommand(p process) *cobra.Command {
	server, dryRun := defaultRemote(), false
	command := &cobra.Command{
		Use:   "load FILE.yaml",
		Short: "Write a catalogue from one file to a server",
		Long: "Write a catalogue from one file to a server. The file has the lists cities, movies, theatres, screens and\n" +
			"shows; an object has an id and the fields that the API's PUT takes. Everything is checked before anything is\n" +
			"sent, and loading a file again changes nothing.",
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return load(command, p, args[0], server, dryRun)
		},
	}
	config.Register(command.Flags(), &server)
	command.Flags().BoolVar(&dryRun, "dry-run", false, "check the file, send nothing")
	return command
}

func load(command *cobra.Command, p process, path string, server remote, dryRun bool) error {
	connection, err := server.connect(p, command.Flags())
	if err != nil {
		return err
	}
	defer connection.Close()
	began := time.Now()
	document, err := catalogue.Open(path)
	if err != nil {
		return err
	}
	report := loadReport{File: path, DryRun: dryRun, Objects: map[string]map[catalogue.Outcome]int{}}
	if dryRun {
		for _, item := range document.Items() {
			report.add(item, checked)
		}
		return report.write(p, server.JSON)
	}
	progress := newLoadProgress(p, document.Items(), server.JSON)
	err = catalogue.Load(command.Context(), connection, document, catalogue.Options{
		Done: func(item catalogue.Item, outcome catalogue.Outcome) {
			report.add(item, outcome)
			progress.done(item)
		},
	})
	progress.close()
	if err != nil {
		return advise(err)
	}
	report.Seconds = time.Since(began).Seconds()
	return report.write(p, server.JSON)
}

func (r *loadReport) add(item catalogue.Item, outcome catalogue.Outcome) {
	if r.Objects[item.Kind] == nil {
		r.Objects[item.Kind] = map[catalogue.Outcome]int{}
	}
	r.Objects[item.Kind][outcome]++
}

func (r *loadReport) write(p process, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(p.Stdout).Encode(r)
	}
	table := newTable(p.Stdout, "KIND", "OUTCOME", "COUNT")
	for _, kind := range []string{"city", "movie", "theatre", "screen", "show"} {
		for _, outcome := range slices.Sorted(maps.Keys(r.Objects[kind])) {
			table.row(kind, outcome, r.Objects[kind][outcome])
		}
	}
	return table.close()
}

// loadProgress shows on a terminal how far a load is; elsewhere it shows nothing.
type loadProgress struct {
	container *mpb.Progress
	bars      map[string]*mpb.Bar // by kind
}

func newLoadProgress(p process, items []catalogue.Item, asJSON bool) *loadProgress {
	progress := &loadProgress{bars: map[string]*mpb.Bar{}}
	if asJSON || !isTerminal(p.Stderr) {
		return progress
	}
	progress.container = mpb.New(mpb.WithOutput(p.Stderr), mpb.WithWidth(40))
	counts := map[string]int64{}
	var kinds []string
	for _, item := range items {
		if counts[item.Kind]++; counts[item.Kind] == 1 {
			kinds = append(kinds, item.Kind)
		}
	}
	for _, kind := range kinds {
		progress.bars[kind] = progress.container.AddBar(counts[kind],
			mpb.PrependDecorators(decor.Name(fmt.Sprintf("%-8s", kind))),
			mpb.AppendDecorators(decor.CountersNoUnit("%d / %d"), decor.OnComplete(decor.Name(""), " done")))
	}
	return progress
}

func (l *loadProgress) done(item catalogue.Item) {
	if bar := l.bars[item.Kind]; bar != nil {
		bar.Increment()
	}
}

// close ends the display; bars that are not full stay as they are.
func (l *loadProgress) close() {
	if l.container == nil {
		return
	}
	for _, bar := range l.bars {
		bar.Abort(false)
	}
	l.container.Wait()
}
