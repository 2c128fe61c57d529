package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const longHelp = `Puts load on a Houseful server over HTTP, and measures an empty HTTP handler (the echo) beside it: same client, same
connections, same sizes, in alternating rounds. The ratio of the two is what the server costs on this machine.

Workloads, comma separated; several take turns on the same server:
  hold           hold seats, spread over --shows shows (also: spread)
  hot            hold seats of one show; when its seats run out, of the next one
  hold-confirm   hold, then confirm that booking
  seats          GET the seat map of a show with --show-seats seats
  seats-etag     the same with If-None-Match: answered 304
  delta          GET availability since an older version
  idle           hold over one connection, against one fsync of the disk`

// run is the program: it parses args and does what they say. Errors that wrap errUsage are wrong flags.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	root := newCommand(stdin, stdout, stderr)
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// newCommand builds the command line.
func newCommand(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	cfg := defaultConfig()
	root := &cobra.Command{
		Use:               "houseful-bench [flags]",
		Short:             "Load and side-by-side benchmark for a Houseful server",
		Long:              longHelp,
		Example:           "  houseful-bench --start --workload hold,hot\n  houseful-bench --server http://127.0.0.1:8080 --workload seats --json",
		Args:              noArguments,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(command *cobra.Command, _ []string) error {
			if err := cfg.validate(); err != nil {
				return err
			}
			return bench(command.Context(), cfg, stdout, stderr)
		},
	}
	addFlags(root.Flags(), &cfg)
	root.SetHelpCommand(&cobra.Command{Hidden: true})
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w: %w", errUsage, err) })
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(&cobra.Command{
		Use:    echoCommand,
		Short:  "Serve canned answers on an inherited listener (started by the benchmark itself)",
		Args:   noArguments,
		Hidden: true,
		RunE: func(command *cobra.Command, _ []string) error {
			return serveEcho(command.Context(), stdin)
		},
	})
	return root
}

// noArguments refuses words that belong to no flag.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%w: %q belongs to no flag", errUsage, args[0])
	}
	return nil
}

// addFlags binds the flags to the configuration; its values are the defaults.
func addFlags(flags *pflag.FlagSet, c *config) {
	flags.SortFlags = false
	flags.StringVar(&c.Server, "server", c.Server, "`URL` of a running server (default "+defaultServer+")")
	flags.BoolVar(&c.Start, "start", c.Start, "start a server on an empty data directory, and end it afterwards")
	flags.StringVar(&c.Binary, "houseful", c.Binary, "the `FILE` to start; default: houseful beside this program, or built from the module here")
	flags.StringArrayVar(&c.ServerArgs, "server-arg", c.ServerArgs, "one more `ARG` for the started server; repeatable")
	flags.IntVar(&c.ServerPID, "server-pid", c.ServerPID, "process behind --server, to count its processor time; known with --start")
	flags.StringVar(&c.Directory, "dir", c.Directory, "`DIR` on the disk to measure: the started server's data and the fsync probe live in a temporary folder of it (default: the system's)")
	flags.BoolVar(&c.AllowRemote, "allow-remote", c.AllowRemote, "let --server be another machine")
	flags.StringVar(&c.Key, "key", c.Key, "API `KEY` to send, for a server that asks for one")

	flags.StringSliceVarP(&c.Workloads, "workload", "w", c.Workloads, "what to run: "+strings.Join(workloadNames(), ", "))
	flags.IntVarP(&c.Connections, "connections", "c", c.Connections, "connections, each with one request under way")
	flags.Float64Var(&c.Rate, "rate", c.Rate, "open loop: requests per second, latency counted from the intended send time; 0: closed loop")
	flags.DurationVarP(&c.Duration, "duration", "d", c.Duration, "measured time of a workload on each side")
	flags.DurationVar(&c.Warmup, "warmup", c.Warmup, "unmeasured time before it, on each side")
	flags.IntVar(&c.Rounds, "rounds", c.Rounds, "rounds that the duration is split into; server and echo take turns")

	flags.IntVar(&c.Seats, "seats", c.Seats, "seats a hold asks for")
	flags.IntVar(&c.Shows, "shows", c.Shows, "shows that holds are spread over")
	flags.IntVar(&c.ShowSeats, "show-seats", c.ShowSeats, "seats of a show")
	flags.IntVar(&c.HotSeats, "hot-seats", c.HotSeats, "seats of the hot show")
	flags.BoolVar(&c.IdempotencyKeys, "idempotency-keys", c.IdempotencyKeys, "send an Idempotency-Key with every hold")
	flags.StringVar(&c.AcceptEncoding, "accept-encoding", c.AcceptEncoding, "send this Accept-Encoding with every request")
	flags.BoolVar(&c.JSON, "json", c.JSON, "print the whole result as JSON")
}
