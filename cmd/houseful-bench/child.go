package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// errChildEnded is wrapped when a process that the run needs has ended by itself.
var errChildEnded = errors.New("ended by itself")

// child is a process of this run. It is ended by its own process id: asked first, killed when it does not listen.
type child struct {
	name    string
	command *exec.Cmd
	ask     func() error // asks the process to end
	output  *tail
	ended   chan struct{} // closed when the process is gone and err is set
	err     error
}

// startChild starts a process and keeps the end of what it prints.
func startChild(name string, command *exec.Cmd) (*child, error) {
	c := &child{name: name, command: command, output: &tail{}, ended: make(chan struct{})}
	c.ask = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.Stdout, command.Stderr = c.output, c.output
	command.WaitDelay = echoStopGrace // for a grandchild that keeps the output open
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting the %s: %w", name, err)
	}
	go func() {
		c.err = command.Wait()
		close(c.ended)
	}()
	return c, nil
}

// pid gives the process id.
func (c *child) pid() int { return c.command.Process.Pid }

// failure says how the process ended, when nobody asked it to; nil while it runs.
func (c *child) failure() error {
	select {
	case <-c.ended:
		return fmt.Errorf("the %s %w (%v): %s", c.name, errChildEnded, c.command.ProcessState, c.output)
	default:
		return nil
	}
}

// stop asks the process to end and waits; it reports a process that had to be killed or did not end well.
func (c *child) stop(grace time.Duration) error {
	_ = c.ask() // it may be gone; what follows finds out
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.ended:
		if c.err != nil {
			return fmt.Errorf("the %s did not end well: %w: %s", c.name, c.err, c.output)
		}
		return nil
	case <-timer.C:
		_ = c.command.Process.Kill()
		<-c.ended // killed: within WaitDelay
		return fmt.Errorf("the %s did not end within %v and was killed", c.name, grace)
	}
}

// tail is an io.Writer that keeps the last childOutputMax bytes.
type tail struct {
	mutex sync.Mutex // guards kept
	kept  []byte
}

// Write never fails.
func (t *tail) Write(text []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.kept = append(t.kept, text...)
	if excess := len(t.kept) - childOutputMax; excess > 0 {
		t.kept = append(t.kept[:0], t.kept[excess:]...)
	}
	return len(text), nil
}

// String gives what was kept.
func (t *tail) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return string(bytes.TrimSpace(t.kept))
}
