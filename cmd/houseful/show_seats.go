package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/houseful/houseful/cmd/houseful/internal/client"
	"github.com/houseful/houseful/cmd/houseful/internal/config"
	"github.com/houseful/houseful/fsm/meta"
)

// seatMap is what the grid needs of the answer of GET /shows/{id}/seats.
type seatMap struct {
	ShowID  string `json:"showId"`
	Version uint64 `json:"version"`
	AsOf    string `json:"asOf"`
	Counts  census `json:"counts"`
	Seats   []struct {
		Row    string `json:"row"`
		Number int    `json:"number"`
		Tier   string `json:"tier"`
		Price  int64  `json:"price"`
		Status string `json:"status"`
	} `json:"seats"`
}

// showHead is what the grid needs to know about the show itself.
type showHead struct {
	Currency string `json:"currency"`
	Status   string `json:"status"`
}

// showLayout is what the grid needs of the answer of GET /shows/{id}/layout: where the aisles are.
type showLayout struct {
	Rows []struct {
		Row   string `json:"row"`
		Seats string `json:"seats"` // 1-4,5-8: a comma is an aisle
	} `json:"rows"`
}

// aisles gives the seats that have an aisle before them, by row and number.
func (l *showLayout) aisles() (map[string]map[int]bool, error) {
	aisles := make(map[string]map[int]bool, len(l.Rows))
	for _, row := range l.Rows {
		blocks, err := meta.ParseSpans(row.Seats)
		if err != nil {
			return nil, fmt.Errorf("row %s of the layout: %w", row.Row, err)
		}
		aisles[row.Row] = make(map[int]bool, len(blocks))
		for _, block := range blocks[1:] {
			aisles[row.Row][int(block.First)] = true
		}
	}
	return aisles, nil
}

// seatMark is how a status looks: a letter everywhere, a colour (SGR) on a terminal.
type seatMark struct {
	letter, colour, word string
}

var seatMarks = map[string]seatMark{
	"AVAILABLE": {".", "32", "available"},
	"HELD":      {"h", "33", "held"},
	"BOOKED":    {"B", "31", "booked"},
	"BLOCKED":   {"x", "90", "blocked"},
}

func newShowSeatsCommand(p process) *cobra.Command {
	server := defaultRemote()
	command := &cobra.Command{
		Use:   "seats SHOW",
		Short: "Draw a show's seats",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			connection, err := server.connect(p, command.Flags())
			if err != nil {
				return err
			}
			defer connection.Close()
			return advise(showSeats(command.Context(), connection, p, args[0], server.JSON))
		},
	}
	config.Register(command.Flags(), &server)
	return command
}

func showSeats(ctx context.Context, server *client.Client, p process, id string, asJSON bool) error {
	var raw json.RawMessage
	if err := server.Get(ctx, showPath(id, "/seats"), &raw); err != nil {
		return err
	}
	if asJSON {
		return writeRaw(p.Stdout, raw)
	}
	var seats seatMap
	if err := json.Unmarshal(raw, &seats); err != nil {
		return fmt.Errorf("the seat map is not what was expected: %w", err)
	}
	var show showHead
	if err := server.Get(ctx, showPath(id, ""), &show); err != nil {
		return err
	}
	var layout showLayout
	if err := server.Get(ctx, showPath(id, "/layout"), &layout); err != nil {
		return err
	}
	aisles, err := layout.aisles()
	if err != nil {
		return err
	}
	return drawSeats(p.Stdout, &seats, show, aisles, wantsColour(p.Stdout, p.Environ))
}

// writeRaw writes the server's JSON as it is, indented.
func writeRaw(w io.Writer, raw json.RawMessage) error {
	var indented bytes.Buffer
	if err := json.Indent(&indented, raw, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, indented.String())
	return err
}

// drawSeats draws a line a row. A seat stands in the column of its number, so that rows of different length line up; a
// bar is an aisle.
func drawSeats(w io.Writer, seats *seatMap, show showHead, aisles map[string]map[int]bool, colour bool) error {
	last, rowWidth := 0, 0
	for _, seat := range seats.Seats {
		last, rowWidth = max(last, seat.Number), max(rowWidth, len(seat.Row))
	}
	cell := len(strconv.Itoa(last)) + 1
	var b strings.Builder
	fmt.Fprintf(&b, "Show %s, %s, version %d of %s\n\n", seats.ShowID, show.Status, seats.Version, seats.AsOf)
	fmt.Fprintf(&b, "%*s", rowWidth, "")
	for number := 1; number <= last; number++ {
		fmt.Fprintf(&b, "%*d", cell, number)
	}
	row, column := "", 0
	for i, seat := range seats.Seats {
		if i == 0 || seat.Row != row {
			row, column = seat.Row, 0
			fmt.Fprintf(&b, "\n%-*s", rowWidth, row)
		}
		gap := ""
		if aisles[row][seat.Number] {
			gap = "|"
		}
		fmt.Fprintf(&b, "%-*s%s", cell*(seat.Number-column)-1, gap, seatMarks[seat.Status].paint(colour))
		column = seat.Number
		if i+1 == len(seats.Seats) || seats.Seats[i+1].Row != row {
			fmt.Fprintf(&b, "%*s  %s %s", cell*(last-column), "", seat.Tier, money(seat.Price, show.Currency))
		}
	}
	drawLegend(&b, seats.Counts, colour)
	_, err := io.WriteString(w, b.String())
	return err
}

// drawLegend says what the letters mean, and how many there are of each.
func drawLegend(b *strings.Builder, counts census, colour bool) {
	fmt.Fprintf(b, "\n\n")
	for _, part := range []struct {
		status string
		count  int
	}{{"AVAILABLE", counts.Available}, {"HELD", counts.Held}, {"BOOKED", counts.Booked}, {"BLOCKED", counts.Blocked}} {
		mark := seatMarks[part.status]
		fmt.Fprintf(b, "%s %s %d   ", mark.paint(colour), mark.word, part.count)
	}
	fmt.Fprintf(b, "of %d\n", counts.Total)
}

func (m seatMark) paint(colour bool) string {
	if m.letter == "" {
		return "?" // a status that this version does not know
	}
	if !colour {
		return m.letter
	}
	return "\x1b[" + m.colour + "m" + m.letter + "\x1b[0m"
}
