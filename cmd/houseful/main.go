package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // shows are dated in their city's time zone, whatever the machine has installed
)

// exitSignal plus its number is the exit code of a process that a signal ended, as shells write it.
const exitSignal = 128

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go stopOnSignals(signals, cancel)
	os.Exit(run(ctx, process{Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}))
}

// stopOnSignals asks for a stop at the first signal and ends the process at the second. What was acknowledged is on
// disk by then. It lives as long as the process.
func stopOnSignals(signals <-chan os.Signal, stop context.CancelFunc) {
	<-signals
	stop()
	second := <-signals
	fmt.Fprintf(os.Stderr, "houseful: %v again: stopping at once\n", second)
	code := exitSignal
	if number, ok := second.(syscall.Signal); ok {
		code += int(number)
	}
	os.Exit(code)
}
