package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// errUsage is wrapped by every error that a change of the flags cures.
var errUsage = errors.New("wrong usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := runMain(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// runMain runs, prints the error if there is one, and gives the exit code: 0 done, 1 failed, 2 wrong flags.
func runMain(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	err := run(ctx, args, stdin, stdout, stderr)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "houseful-bench: %v\nSee houseful-bench --help.\n", err)
		return 2
	default:
		fmt.Fprintf(stderr, "houseful-bench: %v\n", err)
		return 1
	}
}
