package main

import (
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/houseful/houseful/cmd/houseful/internal/config"
)

func newServeCommand(p process) *cobra.Command {
	settings := config.Default()
	file := struct {
		Config string `koanf:"config" usage:"YAML file with these settings, one name: value a line"`
	}{}
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run a server",
		Long: "Run a server until SIGINT or SIGTERM, then finish what is in flight and stop. A second signal stops it at once.\n\n" +
			"Each setting below may also be given as a variable (data-dir: HOUSEFUL_DATA_DIR) or in the file that --config\n" +
			"names. A flag beats the variable, the variable beats the file.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			flags := command.Flags()
			remote := defaultRemote()
			known := append(config.Names(&settings), config.Names(&remote)...)
			if err := config.Load(flags, p.Environ, "", &file, known...); err != nil {
				return usageError{err}
			}
			known = append(config.Names(&remote), config.Names(&file)...)
			if err := config.Load(flags, p.Environ, file.Config, &settings, known...); err != nil {
				return usageError{err}
			}
			if err := settings.Validate(); err != nil {
				return usageError{err}
			}
			return serve(command.Context(), settings, newLogger(settings, p.Stderr))
		},
	}
	command.Flags().SortFlags = false // as in the struct: what most people want first
	config.Register(command.Flags(), &settings)
	config.Register(command.Flags(), &file)
	return command
}

// newLogger gives the server's log. The settings are valid.
func newLogger(settings config.Serve, stderr io.Writer) *slog.Logger {
	level, err := config.ParseLevel(settings.LogLevel)
	if err != nil {
		panic(fmt.Sprintf("serve: settings were not validated: %v", err))
	}
	options := &slog.HandlerOptions{Level: level}
	if settings.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(stderr, options))
	}
	return slog.New(slog.NewTextHandler(stderr, options))
}

// tuneProcess sets what belongs to the process and not to a node.
func tuneProcess(settings config.Serve, logger *slog.Logger) {
	runtime.GOMAXPROCS(settings.Procs())
	if settings.GCPercent > 0 {
		debug.SetGCPercent(settings.GCPercent)
	}
	// The Go runtime raises the soft limit of open files to the hard one by itself. What it cannot raise is worth a
	// word before connections are refused.
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Cur < openFilesWanted {
		logger.Warn("few files may be open at once, so few connections; raise the hard limit (ulimit -Hn)",
			"limit", limit.Cur, "wanted", openFilesWanted)
	}
}

// openFilesWanted leaves room for ten thousand connections beside the node's own files.
const openFilesWanted = 16_384
