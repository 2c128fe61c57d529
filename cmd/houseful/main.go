package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // shows are dated in their city's time zone, whatever the machine has installed
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for a stop. After it, signals mean again what they mean to any program: the second one
	// ends the process at once. What was acknowledged is on disk by then.
	context.AfterFunc(ctx, stop)
	code := run(ctx, process{Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr})
	stop()
	os.Exit(code)
}
