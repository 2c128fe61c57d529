package logstore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// openDatabase opens Pebble on files that verifyFiles has passed. Pebble answers some damage with a panic; that becomes an error.
func (p *Pebble) openDatabase() (db *pebble.DB, err error) {
	fs := &trackingFS{FS: p.options.FS, ledger: p.ledger, failure: p.failure}
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, corrupt(fs.lastRead(p.dir), 0, "pebble cannot open it: %v", r)
		}
	}()
	db, err = pebble.Open(p.dir, p.pebbleOptions(fs))
	if err == nil {
		return db, nil
	}
	err = classify(err, p.dir)
	// Where Pebble names no file, the one it read last is the one it stumbled over.
	if damage := new(CorruptError); errors.As(err, &damage) && damage.File == p.dir {
		damage.File = fs.lastRead(p.dir)
	}
	return nil, err
}

func (p *Pebble) pebbleOptions(fs *trackingFS) *pebble.Options {
	return &pebble.Options{
		FS:   fs,
		Lock: p.lock,
		// WAL sync chunks, and a checksum over the footer of tables. Raising it is a decision, so it is not FormatNewest.
		FormatMajorVersion:          pebble.FormatValueSeparation,
		MemTableSize:                uint64(p.options.MemTableBytes),
		MemTableStopWritesThreshold: memTablesMax,
		CacheSize:                   p.options.BlockCacheBytes,
		MaxOpenFiles:                openFilesMax,
		Logger:                      pebbleLogger{logger: p.options.Logger, fatal: p.fail},
		EventListener:               eventListener(p.options.Logger),
	}
}

// read hands the value of key to use, which must not keep it. pebble.ErrNotFound if there is none.
func (p *Pebble) read(key []byte, name string, replica uint64, use func([]byte) error) error {
	p.calls.RLock()
	defer p.calls.RUnlock()
	if err := p.usable(); err != nil {
		return err
	}
	call := p.watchdog.begin(name, replica)
	defer p.watchdog.end(call)
	record, closer, err := p.db.Get(key)
	if err != nil {
		return classify(err, p.dir)
	}
	if err := use(record); err != nil {
		return errors.Join(&CorruptError{File: p.dir, Reason: fmt.Sprintf("%s of replica %d", name, replica), Err: err}, closer.Close())
	}
	return closer.Close()
}

// classify gives Pebble's errors about damage our type, with the file, and the offset where Pebble says it.
func classify(err error, dir string) error {
	var system syscall.Errno
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return err
	case errors.As(err, &system) && !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("logstore: %s: %w", dir, err)
	}
	damage := &CorruptError{File: fileIn(err.Error(), dir), Reason: "pebble", Err: err}
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		damage.File, damage.Err = info.Path, info.Details
	}
	if _, block, found := strings.Cut(err.Error(), "block "); found {
		// "block OFFSET/LENGTH: ... checksum mismatch"; without a match the offset stays 0.
		_, _ = fmt.Sscanf(block, "%d/", &damage.Offset)
	}
	return damage
}

// fileIn returns the first path below dir that text names, or dir. Pebble's errors about whole files are nothing but text.
func fileIn(text, dir string) string {
	_, rest, found := strings.Cut(text, dir+string(filepath.Separator))
	if !found {
		return dir
	}
	if end := strings.IndexAny(rest, " \t\n()[]:,;\"'"); end >= 0 {
		rest = rest[:end]
	}
	return filepath.Join(dir, rest)
}

func eventListener(logger *slog.Logger) *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) { logger.Error("log store: background error", "error", err) },
		// Not fatal: whoever reads the block gets the error.
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			logger.Error("log store: corrupt table", "file", info.Path, "error", info.Details)
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) { logger.Warn("log store: writes wait", "reason", info.Reason) },
	}
}

// pebbleLogger routes Pebble's log. Fatalf means that Pebble cannot go on; its callers take for granted that it does not return.
type pebbleLogger struct {
	logger *slog.Logger
	fatal  func(error)
}

func (l pebbleLogger) Infof(format string, args ...any) { l.logger.Debug(fmt.Sprintf(format, args...)) }

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.logger.Error(fmt.Sprintf(format, args...))
}
func (l pebbleLogger) Fatalf(format string, args ...any) { l.fatal(fmt.Errorf(format, args...)) }

// trackingFS tells the ledger what is fsynced, ends the process on a failed fsync, and does not recycle WAL files: in a recycled file
// the rest of an older log follows the end, so that a record cut off by a crash looks like a rotten one. (Measured on ext4: a commit's
// fdatasync costs 0.19 ms in a fresh file with space reserved, 0.14 ms in a recycled one.) Where the process
// survives a failure of the store nothing is changed on the disk any more: Pebble takes for granted that Fatalf does not return, and
// would go on, to the removal of files that are needed.
type trackingFS struct {
	vfs.FS
	ledger  *ledger
	failure *failure
	read    atomic.Pointer[string]
}

func (fs *trackingFS) Unwrap() vfs.FS { return fs.FS }

func (fs *trackingFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.failure.refusal(); err != nil {
		return nil, err
	}
	file, err := fs.FS.Create(name, category)
	if err != nil {
		fs.lostWAL(name, err)
	}
	return fs.wrap(file, name, err)
}

// lostWAL ends the store when a log file could not be made or written. Pebble panics then, with its locks in a state that
// turns the panic into a crash without a reason.
func (fs *trackingFS) lostWAL(name string, err error) {
	if strings.HasSuffix(name, walSuffix) {
		fs.failure.fail(fmt.Errorf("write %s: %w", name, err))
	}
}

// walSuffix ends the names of Pebble's log files.
const walSuffix = ".log"

// Link refuses after a failure.
func (fs *trackingFS) Link(oldName, newName string) error {
	if err := fs.failure.refusal(); err != nil {
		return err
	}
	return fs.FS.Link(oldName, newName)
}

// Rename refuses after a failure.
func (fs *trackingFS) Rename(oldName, newName string) error {
	if err := fs.failure.refusal(); err != nil {
		return err
	}
	return fs.FS.Rename(oldName, newName)
}

// RemoveAll refuses after a failure. Pebble uses it for folders, which the ledger does not know.
func (fs *trackingFS) RemoveAll(name string) error {
	if err := fs.failure.refusal(); err != nil {
		return err
	}
	return fs.FS.RemoveAll(name)
}

// Open notes the name, for errors of opening the database.
func (fs *trackingFS) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	fs.read.Store(&name)
	return fs.FS.Open(name, options...)
}

func (fs *trackingFS) lastRead(dir string) string {
	if name := fs.read.Load(); name != nil {
		return *name
	}
	return dir
}

func (fs *trackingFS) OpenDir(name string) (vfs.File, error) {
	file, err := fs.FS.OpenDir(name)
	return fs.wrap(file, name, err)
}

func (fs *trackingFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, options ...vfs.OpenOption) (vfs.File, error) {
	file, err := fs.FS.OpenReadWrite(name, category, options...)
	return fs.wrap(file, name, err)
}

func (fs *trackingFS) wrap(file vfs.File, name string, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &trackedFile{File: file, fs: fs, path: name, name: fs.PathBase(name)}, nil
}

// ReuseForWrite creates a new file instead, as the contract of vfs.FS allows.
func (fs *trackingFS) ReuseForWrite(oldName, newName string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.Remove(oldName); err != nil {
		fs.lostWAL(newName, err)
		return nil, err
	}
	return fs.Create(newName, category)
}

// Remove takes a file off the ledger first, so that no ledger asks for a file that is gone on purpose.
func (fs *trackingFS) Remove(name string) error {
	if err := fs.failure.refusal(); err != nil {
		return err
	}
	if err := fs.ledger.drop(fs.PathBase(name)); err != nil {
		return err
	}
	return fs.FS.Remove(name)
}

// trackedFile counts what was written and reports it once synced. One goroutine writes; only it syncs.
type trackedFile struct {
	vfs.File
	fs      *trackingFS
	path    string
	name    string
	written int64
}

func (f *trackedFile) Write(b []byte) (int, error) {
	if err := f.fs.failure.refusal(); err != nil {
		return 0, err
	}
	n, err := f.File.Write(b)
	f.written += int64(n)
	if err != nil {
		f.fs.lostWAL(f.path, err)
	}
	return n, err
}

func (f *trackedFile) Sync() error { return f.synced(f.File.Sync) }

func (f *trackedFile) SyncData() error { return f.synced(f.File.SyncData) }

func (f *trackedFile) synced(sync func() error) error {
	if err := f.fs.failure.refusal(); err != nil {
		return err
	}
	if err := sync(); err != nil {
		// What the kernel could not write it may drop and report once; a second fsync would lie.
		f.fs.failure.fail(fmt.Errorf("fsync of %s: %w", f.path, err))
		return err
	}
	f.fs.ledger.synced(f.name, f.written)
	return nil
}
