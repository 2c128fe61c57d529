package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/houseful/houseful/cmd/houseful/internal/client"
	"github.com/houseful/houseful/cmd/houseful/internal/config"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// process is what a command may touch of the process it runs in.
type process struct {
	Args    []string
	Environ []string
	Stdout  io.Writer
	Stderr  io.Writer
}

// usageError is a command line that makes no sense: the usage is shown, and the exit code is 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run does what the command line says and gives the exit code. Errors go to stderr, each with what to do about it.
func run(ctx context.Context, p process) int {
	started := false // a command began; until then every error is one of the command line
	root := newRootCommand(p, &started)
	root.SetArgs(p.Args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	for line := range strings.SplitSeq(strings.TrimRight(err.Error(), "\n"), "\n") {
		fmt.Fprintf(p.Stderr, "houseful: %s\n", line)
	}
	var usage usageError
	if !started || errors.As(err, &usage) {
		fmt.Fprintf(p.Stderr, "\n%s", command.UsageString())
		return exitUsage
	}
	return exitFailed
}

func newRootCommand(p process, started *bool) *cobra.Command {
	root := &cobra.Command{
		Use:           "houseful",
		Short:         "A seat-inventory server: is this seat, for this show, yours?",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(command *cobra.Command, _ []string) error {
			return usageError{errors.New("say what to do; houseful serve starts a server")}
		},
		PersistentPreRun: func(*cobra.Command, []string) { *started = true },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newServeCommand(p), newLoadCommand(p), newShowCommand(p), newAuditCommand(p), newVersionCommand(p),
	)
	return root
}

// remote is what every command but serve can be told: which server, how patient, and for whom the output is.
type remote struct {
	Server  string        `koanf:"server" usage:"address of the server"`
	Timeout time.Duration `koanf:"timeout" usage:"longest time to wait for one answer"`
	JSON    bool          `koanf:"json" usage:"write JSON, for programs"`
}

func defaultRemote() remote {
	return remote{Server: "http://127.0.0.1:8080", Timeout: 30 * time.Second}
}

// connect gives the client that flags and variables ask for. The caller closes it.
func (r *remote) connect(p process, flags *pflag.FlagSet) (*client.Client, error) {
	serve := config.Default()
	if err := config.Load(flags, p.Environ, "", r, append(config.Names(&serve), "config")...); err != nil {
		return nil, usageError{err}
	}
	if r.Timeout <= 0 {
		return nil, usageError{fmt.Errorf("timeout: %v is not above 0; give for example 30s", r.Timeout)}
	}
	server, err := client.New(r.Server, r.Timeout)
	if err != nil {
		return nil, usageError{fmt.Errorf("server: %w", err)}
	}
	return server, nil
}

// advise says what to do about an error of a call.
func advise(err error) error {
	if errors.Is(err, client.ErrUnreachable) {
		return fmt.Errorf("%w\nis it running (houseful serve), and is --server its address?", err)
	}
	return err
}
