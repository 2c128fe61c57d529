package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

var errDisk = errors.New("injected disk error")

// A failed fsync is told, fails the snapshot and lets no older one go.
func TestFailedSyncIsFatal(t *testing.T) {
	for what, spoil := range map[string]func(*Store){
		"file":   func(s *Store) { s.syncFile = func(*os.File) error { return errDisk } },
		"folder": func(s *Store) { s.syncFolder = func(string) error { return errDisk } },
	} {
		t.Run(what, func(t *testing.T) {
			var told []error
			s, err := Open(filepath.Join(t.TempDir(), "snapshots"), Options{Fatal: func(err error) { told = append(told, err) }})
			if err != nil {
				t.Fatal(err)
			}
			take(t, s, 10, []byte("state"))
			take(t, s, 20, []byte("state"))
			spoil(s)
			sink := begin(t, s, 30)
			if err := sink.Close(); !errors.Is(err, ErrSync) || !errors.Is(err, errDisk) {
				t.Errorf("closed with %v", err)
			}
			if len(told) != 1 || !errors.Is(told[0], errDisk) {
				t.Errorf("told %v", told)
			}
			if s.KeepFrom() != 11 || s.Newest() != 20 {
				t.Errorf("keep from %d, newest %d", s.KeepFrom(), s.Newest())
			}
			metas, err := s.List()
			if err != nil || metas[len(metas)-1].Index != 10 {
				t.Errorf("an older snapshot went: %v", err)
			}
		})
	}
}

// What the log must keep never shows less than holds, not for a moment: a compaction may ask at any time.
func TestBoundsNeverFallBack(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	take(t, s, 10, []byte("state"))
	take(t, s, 20, []byte("state"))
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if newest, keepFrom := s.Newest(), s.KeepFrom(); newest != 20 || keepFrom != 11 {
					t.Errorf("newest %d, keep from %d", newest, keepFrom)
					return
				}
			}
		})
	}
	for range 3000 {
		s.mu.Lock()
		err := s.tidy()
		s.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	readers.Wait()
}

func begin(t *testing.T, s *Store, index uint64) *Sink {
	t.Helper()
	sink, err := s.Create(1, index, 1, configuration, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sink.Write([]byte("state")); err != nil {
		t.Fatal(err)
	}
	return sink.(*Sink)
}
