package logstore

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// failure is why a store cannot be used any more. It has one for good once the disk cannot be trusted or hangs.
type failure struct {
	logger *slog.Logger
	path   string
	fatal  func(error)

	once     sync.Once
	set      chan struct{} // closed when there is a reason
	why      error         // read it after set is closed
	survived chan struct{} // closed when fatal returned, which it should not
}

func newFailure(path string, logger *slog.Logger, fatal func(error)) *failure {
	return &failure{logger: logger, path: path, fatal: fatal, set: make(chan struct{}), survived: make(chan struct{})}
}

// Err returns the reason for which the store failed, or nil.
func (f *failure) Err() error {
	select {
	case <-f.set:
		return f.why
	default:
		return nil
	}
}

// fail records the first fatal reason, logs it and ends the process.
func (f *failure) fail(reason error) {
	if !errors.Is(reason, ErrFailed) {
		reason = fmt.Errorf("%w: %w", ErrFailed, reason)
	}
	first := false
	f.once.Do(func() { f.why, first = reason, true; close(f.set) })
	if first {
		f.logger.Error("the log store failed, the process has to end", "path", f.path, "reason", reason)
		f.fatal(reason)
		close(f.survived)
	}
}

// refusal returns the reason if the process goes on although the store failed.
func (f *failure) refusal() error {
	select {
	case <-f.survived:
		return f.why
	default:
		return nil
	}
}

// unless runs shut and returns what it says, or the reason as soon as the store has failed: shut may then wait for the disk for ever, and
// its goroutine is left behind like those of the store. The process is ending.
func (f *failure) unless(shut func() error) error {
	if err := f.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- shut() }()
	select {
	case err := <-done:
		return err
	case <-f.set:
		return f.why
	}
}
