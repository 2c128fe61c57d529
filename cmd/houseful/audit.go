package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/houseful/houseful/cmd/houseful/internal/client"
	"github.com/houseful/houseful/cmd/houseful/internal/config"
)

// errAudit makes a failed audit an exit code that a script can see.
var errAudit = errors.New("the audit found what should not be; keep the data folder as it is and see docs/OPERATIONS.md")

// showAudit is the answer of GET /shows/{id}/audit.
type showAudit struct {
	OK       bool     `json:"ok"`
	Version  uint64   `json:"version"`
	Digest   string   `json:"digest"`
	Counts   census   `json:"counts"`
	Problems []string `json:"problems"`
}

// nodeAudit is the answer of GET /audit.
type nodeAudit struct {
	OK     bool `json:"ok"`
	Groups []struct {
		ID       string   `json:"id"`
		OK       bool     `json:"ok"`
		Digest   string   `json:"digest"`
		AsOf     string   `json:"asOf"`
		Shows    int      `json:"shows"`
		Bookings int      `json:"bookings"`
		Counts   census   `json:"counts"`
		Problems []string `json:"problems"`
	} `json:"groups"`
}

// digestCharsShown is how much of a digest a person needs to compare two.
const digestCharsShown = 16

func newShowAuditCommand(p process) *cobra.Command {
	server, consistency := defaultRemote(), ""
	command := &cobra.Command{
		Use:   "audit SHOW",
		Short: "Recompute a show from scratch and compare",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			path := showPath(args[0], "/audit")
			if consistency != "" {
				path += "?consistency=" + url.QueryEscape(consistency)
			}
			return runAudit(command, p, &server, path, func(w io.Writer, raw json.RawMessage) (bool, error) {
				var audit showAudit
				if err := json.Unmarshal(raw, &audit); err != nil {
					return false, err
				}
				return audit.OK, writeShowAudit(w, args[0], &audit)
			})
		},
	}
	config.Register(command.Flags(), &server)
	command.Flags().StringVar(&consistency, "consistency", "", "local audits the replica of the node that is asked")
	return command
}

func newAuditCommand(p process) *cobra.Command {
	server := defaultRemote()
	command := &cobra.Command{
		Use:   "audit",
		Short: "Recompute everything a node holds from scratch and compare",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runAudit(command, p, &server, "/api/v1/audit", func(w io.Writer, raw json.RawMessage) (bool, error) {
				var audit nodeAudit
				if err := json.Unmarshal(raw, &audit); err != nil {
					return false, err
				}
				return audit.OK, writeNodeAudit(w, &audit)
			})
		},
	}
	config.Register(command.Flags(), &server)
	return command
}

// runAudit asks for an audit and writes it. An audit that is not ok is errAudit.
func runAudit(
	command *cobra.Command, p process, server *remote, path string, write func(io.Writer, json.RawMessage) (bool, error),
) error {
	connection, err := server.connect(p, command.Flags())
	if err != nil {
		return err
	}
	defer connection.Close()
	raw, err := fetch(command.Context(), connection, path)
	if err != nil {
		return advise(err)
	}
	out := p.Stdout
	if server.JSON {
		if err := writeRaw(p.Stdout, raw); err != nil {
			return err
		}
		out = io.Discard
	}
	ok, err := write(out, raw)
	if err == nil && !ok {
		err = errAudit
	}
	return err
}

func fetch(ctx context.Context, server *client.Client, path string) (json.RawMessage, error) {
	var raw json.RawMessage
	err := server.Get(ctx, path, &raw)
	return raw, err
}

func writeShowAudit(w io.Writer, id string, audit *showAudit) error {
	table := newTable(w, "SHOW", "AUDIT", "VERSION", "AVAILABLE", "HELD", "BOOKED", "BLOCKED", "SEATS", "DIGEST")
	c := audit.Counts
	table.row(id, verdict(audit.OK), audit.Version, c.Available, c.Held, c.Booked, c.Blocked, c.Total, shorten(audit.Digest))
	if err := table.close(); err != nil {
		return err
	}
	return writeProblems(w, audit.Problems)
}

func writeNodeAudit(w io.Writer, audit *nodeAudit) error {
	table := newTable(w, "GROUP", "AUDIT", "SHOWS", "BOOKINGS", "AVAILABLE", "HELD", "BOOKED", "BLOCKED", "DIGEST")
	var problems []string
	for _, group := range audit.Groups {
		c := group.Counts
		table.row(group.ID, verdict(group.OK), group.Shows, group.Bookings, c.Available, c.Held, c.Booked, c.Blocked,
			shorten(group.Digest))
		for _, problem := range group.Problems {
			problems = append(problems, "group "+group.ID+": "+problem)
		}
	}
	if err := table.close(); err != nil {
		return err
	}
	return writeProblems(w, problems)
}

func writeProblems(w io.Writer, problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(problems, "\n"))
	return err
}

func verdict(ok bool) string {
	if ok {
		return "ok"
	}
	return "FAILED"
}

func shorten(digest string) string { return digest[:min(digestCharsShown, len(digest))] }
