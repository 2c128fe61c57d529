package snapshot

import (
	"errors"
	"fmt"
	"os"

	"github.com/cespare/xxhash/v2"
)

// ErrSinkClosed says that a sink was written to after Close, Cancel or a failed write.
var ErrSinkClosed = errors.New("snapshot sink closed")

// Sink writes one snapshot. Nothing of it is visible before Close returned nil. Not safe for use by many goroutines.
type Sink struct {
	store *Store
	file  *os.File
	id    string
	index uint64

	frame  []byte
	wrote  trailer
	sum    *xxhash.Digest
	closed bool
}

// ID names the snapshot for Open.
func (s *Sink) ID() string { return s.id }

// Write adds payload.
func (s *Sink) Write(p []byte) (int, error) {
	if s.closed {
		return 0, ErrSinkClosed
	}
	for rest := p; len(rest) > 0; {
		n := min(frameBytesMax-len(s.frame), len(rest))
		s.frame = append(s.frame, rest[:n]...)
		rest = rest[n:]
		if len(s.frame) == frameBytesMax {
			if err := s.flush(); err != nil {
				return len(p) - len(rest), err
			}
		}
	}
	return len(p), nil
}

// Close makes the snapshot durable and visible, and lets go of those that are too many. On error nothing is visible, but after
// an ErrSync of the folder, of which nobody knows.
func (s *Sink) Close() error {
	if s.closed {
		return nil
	}
	if err := s.finish(); err != nil {
		return errors.Join(fmt.Errorf("write snapshot %s: %w", s.file.Name(), err), s.Cancel())
	}
	s.closed = true
	if err := s.store.publish(s.file.Name(), s.id); err != nil {
		return fmt.Errorf("publish snapshot %s: %w", s.id, err)
	}
	return nil
}

// Cancel drops the snapshot. After Close it does nothing.
func (s *Sink) Cancel() error {
	if s.closed {
		return nil
	}
	s.closed = true
	closeErr := s.file.Close()
	if errors.Is(closeErr, os.ErrClosed) {
		closeErr = nil
	}
	return errors.Join(closeErr, os.Remove(s.file.Name()))
}

func (s *Sink) finish() error {
	if err := s.flush(); err != nil {
		return err
	}
	s.wrote.sum = s.sum.Sum64()
	if _, err := s.file.Write(s.wrote.encode()); err != nil {
		return err
	}
	if err := s.store.synced(s.store.syncFile(s.file)); err != nil {
		return err
	}
	return s.file.Close()
}

func (s *Sink) flush() error {
	if len(s.frame) == 0 {
		return nil
	}
	head := frameHead(s.wrote.frames, s.frame)
	if _, err := s.file.Write(head[:]); err != nil {
		return err
	}
	if _, err := s.file.Write(s.frame); err != nil {
		return err
	}
	_, _ = s.sum.Write(s.frame) // never fails
	s.wrote.frames++
	s.wrote.payloadBytes += uint64(len(s.frame))
	s.frame = s.frame[:0]
	return nil
}
