package snapshot

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/hashicorp/raft"

	"github.com/houseful/houseful/shard/folder"
)

const (
	// RetainMin is the fewest snapshots a store keeps: the newest may rot.
	RetainMin = 2

	folderMode = 0o750
	fileMode   = 0o640
)

// ErrNotFound says that no snapshot has that id.
var ErrNotFound = errors.New("no such snapshot")

// ErrSync says that an fsync failed: the disk must not be trusted any more. See Options.Fatal.
var ErrSync = errors.New("snapshot fsync failed")

// Options are a store's settings. The zero value is usable.
type Options struct {
	// Retain is how many snapshots are kept; less than RetainMin means RetainMin.
	Retain int
	// Logger is told of rotten files. nil: slog's default.
	Logger *slog.Logger
	// Fatal is told of an fsync that failed, which also fails the call that needed it. The kernel may have dropped what it could not
	// write and says so once, so, as after a failed fsync of a log, the disk must not be trusted and the process has to end. The
	// snapshot in question is not listed, or, where it was its folder's fsync, may be gone after a crash; older ones are kept. nil:
	// nobody is told.
	Fatal func(error)
}

// Store is a folder of snapshots of one replica. Its methods may be called by many goroutines at once.
type Store struct {
	folder string
	retain int
	logger *slog.Logger
	fatal  func(error)

	// What fsyncs, for tests to fail.
	syncFile   func(*os.File) error
	syncFolder func(path string) error

	keepFrom atomic.Uint64
	newest   atomic.Uint64

	mu sync.Mutex // held while files are published, set aside or removed
}

var _ raft.SnapshotStore = (*Store)(nil)

// Open opens or makes the folder and removes what a crash left half written.
func Open(path string, options Options) (*Store, error) {
	s := &Store{
		folder: path, retain: max(options.Retain, RetainMin), logger: options.Logger, fatal: options.Fatal,
		syncFile: (*os.File).Sync, syncFolder: folder.Sync,
	}
	if s.logger == nil {
		s.logger = slog.Default()
	}
	if s.fatal == nil {
		s.fatal = func(error) {}
	}
	if err := folder.Make(path, folderMode); err != nil {
		return nil, fmt.Errorf("open snapshots: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.removeTemporary(); err != nil {
		return nil, fmt.Errorf("open snapshots: %w", err)
	}
	if err := s.tidy(); err != nil {
		return nil, fmt.Errorf("open snapshots: %w", err)
	}
	return s, nil
}

// Create begins a snapshot. It is visible once the sink is closed.
func (s *Store) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, _ raft.Transport,
) (raft.SnapshotSink, error) {
	if version != 1 {
		return nil, fmt.Errorf("create snapshot: %w: raft snapshot version %d", ErrFormat, version)
	}
	n := name{index: index, term: term, takenAt: uint64(time.Now().UnixMilli())}
	h := header{
		version: version, index: index, term: term, configurationIndex: configurationIndex,
		configuration: raft.EncodeConfiguration(configuration),
	}
	path := filepath.Join(s.folder, n.id()+suffixTemporary)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return nil, fmt.Errorf("create snapshot: %w", err)
	}
	sink := &Sink{store: s, file: file, id: n.id(), index: index, frame: make([]byte, 0, frameBytesMax), sum: xxhash.New()}
	if _, err := file.Write(h.encode()); err != nil {
		return nil, errors.Join(fmt.Errorf("create snapshot: %w", err), sink.Cancel())
	}
	return sink, nil
}

// synced passes on what an fsync gave, after it told of a failure.
func (s *Store) synced(err error) error {
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrSync, err)
		s.fatal(fmt.Errorf("snapshots in %s: %w", s.folder, err))
	}
	return err
}

// List gives the readable snapshots, newest first. One whose header or trailer is rotten is logged and left out;
// Damaged names it.
func (s *Store) List() ([]*raft.SnapshotMeta, error) {
	names, err := s.names(suffixSnapshot)
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	metas := make([]*raft.SnapshotMeta, 0, len(names))
	for _, n := range names {
		meta, err := s.readMeta(n)
		switch {
		case errors.Is(err, os.ErrNotExist): // let go of since the folder was read
		case err != nil:
			s.logger.Error("snapshot is unreadable", "error", err)
		default:
			metas = append(metas, meta)
		}
	}
	return metas, nil
}

// Open gives a snapshot to read. Close the reader when done.
func (s *Store) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	r, err := s.OpenReader(id)
	if err != nil {
		return nil, nil, err
	}
	meta := r.Meta()
	return &meta, r, nil
}

// OpenReader is Open with our own type.
func (s *Store) OpenReader(id string) (*Reader, error) {
	n, ok := parseName(id)
	if !ok {
		return nil, fmt.Errorf("open snapshot %q: %w", id, ErrNotFound)
	}
	file, err := os.Open(s.path(n, suffixSnapshot))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open snapshot %q: %w", id, ErrNotFound)
	} else if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	r, err := newReader(file)
	if err == nil {
		err = r.checkName(n)
	}
	if err == nil {
		r.meta.Size, err = payloadSize(file)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open snapshot: %w", err), file.Close())
	}
	return r, nil
}

// KeepFrom is the first log index that must be kept: the one after the previous snapshot, so that the newest may be
// lost. It is 1 while there are fewer than two snapshots.
func (s *Store) KeepFrom() uint64 { return s.keepFrom.Load() }

// Newest is the index of the newest snapshot file, readable or not; 0 when there is none.
func (s *Store) Newest() uint64 { return s.newest.Load() }

// Damaged describes every snapshot file whose header or trailer cannot be read, and those set aside by Quarantine.
func (s *Store) Damaged() ([]string, error) {
	names, err := s.names(suffixSnapshot)
	if err != nil {
		return nil, err
	}
	var damaged []string
	for _, n := range names {
		if _, err := s.readMeta(n); err != nil && !errors.Is(err, os.ErrNotExist) {
			damaged = append(damaged, err.Error())
		}
	}
	rotten, err := s.names(suffixRotten)
	if err != nil {
		return nil, err
	}
	for _, n := range rotten {
		damaged = append(damaged, s.path(n, suffixRotten)+": set aside")
	}
	return damaged, nil
}

func (s *Store) readMeta(n name) (*raft.SnapshotMeta, error) {
	r, err := s.OpenReader(n.id())
	if errors.Is(err, ErrNotFound) {
		return nil, os.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	meta := r.Meta()
	return &meta, r.Close()
}
