package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/raft"
)

const (
	suffixSnapshot  = ".snap"
	suffixTemporary = ".tmp"
	suffixRotten    = ".rotten"
)

// name is what a file's name says: it orders snapshots even when a header cannot be read.
type name struct {
	index, term, takenAt uint64
}

func (n name) id() string { return fmt.Sprintf("%020d-%020d-%013d", n.index, n.term, n.takenAt) }

func parseName(id string) (name, bool) {
	var n name
	if _, err := fmt.Sscanf(id, "%d-%d-%d", &n.index, &n.term, &n.takenAt); err != nil || n.id() != id {
		return name{}, false
	}
	return n, true
}

func (n name) newerFirst(other name) int {
	return cmp.Or(cmp.Compare(other.index, n.index), cmp.Compare(other.term, n.term), cmp.Compare(other.takenAt, n.takenAt))
}

func (s *Store) path(n name, suffix string) string { return filepath.Join(s.folder, n.id()+suffix) }

// names gives the files with a suffix, newest first. Foreign files are ignored.
func (s *Store) names(suffix string) ([]name, error) {
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return nil, err
	}
	var names []name
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), suffix)
		if !ok {
			continue
		}
		if n, ok := parseName(id); ok {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, name.newerFirst)
	return names, nil
}

// Quarantine sets a snapshot aside: it is no longer listed, and kept for the operator to look at.
func (s *Store) Quarantine(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := parseName(id)
	if !ok {
		return fmt.Errorf("quarantine snapshot %q: %w", id, ErrNotFound)
	}
	if err := os.Rename(s.path(n, suffixSnapshot), s.path(n, suffixRotten)); err != nil {
		return fmt.Errorf("quarantine snapshot: %w", err)
	}
	return errors.Join(s.synced(s.syncFolder(s.folder)), s.tidy())
}

// QuarantineDamaged sets aside every snapshot newer than keep whose header or trailer cannot be read, and all when
// keep is empty.
func (s *Store) QuarantineDamaged(keep string) error {
	names, err := s.names(suffixSnapshot)
	if err != nil {
		return err
	}
	for _, n := range names {
		if n.id() == keep {
			return nil
		}
		if _, err := s.readMeta(n); err != nil {
			if err := s.Quarantine(n.id()); err != nil {
				return err
			}
		}
	}
	return nil
}

// publish makes a finished temporary file visible. Older snapshots go only after it is known to stay.
func (s *Store) publish(temporary, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Rename(temporary, filepath.Join(s.folder, id+suffixSnapshot)); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	if err := s.synced(s.syncFolder(s.folder)); err != nil {
		return err
	}
	return s.tidy()
}

// tidy removes snapshots beyond those to retain and recomputes what the log must keep. Two snapshots of one index
// count once, so that the log reaches back to a truly older one. The caller holds mu.
func (s *Store) tidy() error {
	names, err := s.names(suffixSnapshot)
	if err != nil {
		return err
	}
	var kept []name
	for _, n := range names {
		repeated := len(kept) > 0 && kept[len(kept)-1].index == n.index && s.readable(kept[len(kept)-1])
		if !repeated && len(kept) < s.retain {
			kept = append(kept, n)
			continue
		}
		if err := os.Remove(s.path(n, suffixSnapshot)); err != nil {
			return err
		}
	}
	newest, keepFrom := uint64(0), uint64(1)
	if len(kept) > 0 {
		newest = kept[0].index
	}
	if len(kept) > 1 {
		keepFrom = kept[1].index + 1
	}
	// Each stored once: they are read without the lock, and never say less than holds.
	s.newest.Store(newest)
	s.keepFrom.Store(keepFrom)
	return s.removeOldRotten(kept)
}

func (s *Store) readable(n name) bool {
	_, err := s.readMeta(n)
	return err == nil
}

// removeOldRotten removes set-aside files that are older than all kept snapshots.
func (s *Store) removeOldRotten(kept []name) error {
	if len(kept) < s.retain {
		return nil
	}
	rotten, err := s.names(suffixRotten)
	if err != nil {
		return err
	}
	for _, n := range rotten {
		if n.index < kept[len(kept)-1].index {
			if err := os.Remove(s.path(n, suffixRotten)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) removeTemporary() error {
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), suffixTemporary) {
			if err := os.Remove(filepath.Join(s.folder, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// meta turns a header into raft's description. Size is filled in from the trailer.
func (h *header) meta(path string) (meta raft.SnapshotMeta, err error) {
	defer func() {
		if r := recover(); r != nil { // raft panics on a configuration it cannot decode
			err = fmt.Errorf("%w: %s: offset %d: configuration: %v", ErrRotten, path, headerFixedBytes+metaFixedBytes, r)
		}
	}()
	return raft.SnapshotMeta{
		Version: h.version, Index: h.index, Term: h.term,
		ConfigurationIndex: h.configurationIndex,
		Configuration:      raft.DecodeConfiguration(h.configuration),
	}, nil
}

// checkName gives the snapshot its id, and refuses a file whose name belongs to another snapshot.
func (r *Reader) checkName(n name) error {
	if r.meta.Index != n.index || r.meta.Term != n.term {
		return fmt.Errorf("%w: %s: offset 0: the header is of index %d, term %d", ErrRotten, r.file.Name(), r.meta.Index, r.meta.Term)
	}
	r.meta.ID = n.id()
	return nil
}

// payloadSize reads the trailer at the end of the file.
func payloadSize(file *os.File) (int64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	at := info.Size() - trailerBytes
	if at < 0 {
		return 0, fmt.Errorf("%w: %s: offset %d: no trailer", ErrRotten, file.Name(), info.Size())
	}
	var data [trailerBytes]byte
	if _, err := file.ReadAt(data[:], at); err != nil {
		return 0, fmt.Errorf("%s: offset %d: %w", file.Name(), at, noEOF(err))
	}
	t, err := decodeTrailer(data[:])
	if err != nil {
		return 0, fmt.Errorf("%w: %s: offset %d: no trailer", ErrRotten, file.Name(), at)
	}
	return int64(t.payloadBytes), nil
}
