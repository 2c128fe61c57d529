package logstore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/houseful/houseful/shard/folder"
)

// PebbleOptions configures OpenPebble. The zero value works.
type PebbleOptions struct {
	// Logger takes Pebble's own messages (information at debug level) and ours. Default: slog.Default().
	Logger *slog.Logger
	// Fatal ends the process with a reason that has been logged: a failed fsync, a store call that hangs. It should not return; if it
	// does (a test), the store answers ErrFailed from then on. Default: os.Exit(1).
	Fatal func(error)
	// StallTimeout is how long one store call may take before Fatal is called. Default 10 s.
	StallTimeout time.Duration
	// LedgerInterval is how often the high-water marks are written when they changed. Default 1 s.
	LedgerInterval time.Duration
	// MemTableBytes is the size of a memtable, and roughly of a WAL file. Default 16 MiB.
	MemTableBytes int
	// BlockCacheBytes bounds the cache of table blocks. Default 16 MiB.
	BlockCacheBytes int64
	// FS is the file system under the store, for fault injection. The ledger and the verification before opening always use the
	// operating system's, so FS must show the same files. Default: vfs.Default.
	FS vfs.FS
}

func (o PebbleOptions) withDefaults() PebbleOptions {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Fatal == nil {
		o.Fatal = func(error) { os.Exit(1) }
	}
	if o.StallTimeout <= 0 {
		o.StallTimeout = defaultStallTimeout
	}
	if o.LedgerInterval <= 0 {
		o.LedgerInterval = defaultLedgerInterval
	}
	if o.MemTableBytes <= 0 {
		o.MemTableBytes = defaultMemTableBytes
	}
	if o.BlockCacheBytes <= 0 {
		o.BlockCacheBytes = defaultBlockCacheBytes
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	return o
}

// Pebble is the log of one node: one Pebble database for all its data replicas. Methods may be called at once.
type Pebble struct {
	dir     string
	options PebbleOptions

	db       *pebble.DB
	lock     *pebble.Lock
	ledger   *ledger
	watchdog *watchdog

	*failure

	// calls is held for reading by every call into db and for writing by Close, so that db outlives them. It guards shut.
	calls sync.RWMutex
	shut  bool
	// mu guards the fields below.
	mu       sync.Mutex
	closed   bool
	contents map[uint64]span
	open     map[uint64]*Replica
}

// OpenPebble opens or creates the database in dir. It verifies every file before Pebble sees it and every record afterwards (see the
// package comment), so it takes as long as reading the log once. Errors: *CorruptError, ErrInUse, or what the operating system says.
func OpenPebble(dir string, options PebbleOptions) (*Pebble, error) {
	options = options.withDefaults()
	if err := folder.Make(dir, 0o755); err != nil {
		return nil, fmt.Errorf("logstore: %w", err)
	}
	lock, err := pebble.LockDirectory(dir, vfs.Default)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInUse, dir, err)
	}
	p := &Pebble{dir: dir, options: options, lock: lock, open: make(map[uint64]*Replica)}
	p.failure = newFailure(dir, options.Logger, options.Fatal)
	if err := p.start(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return p, nil
}

func (p *Pebble) start() error {
	var err error
	if p.ledger, err = openLedger(p.dir, p.fail); err != nil {
		return err
	}
	if err := verifyFiles(p.dir, p.ledger); err != nil {
		return err
	}
	if p.db, err = p.openDatabase(); err != nil {
		return err
	}
	if p.contents, err = scanDatabase(p.db, p.dir); err != nil {
		return errors.Join(err, p.closeDatabase())
	}
	p.ledger.start(p.options.LedgerInterval, p.options.Logger)
	p.watchdog = newWatchdog(p.options.StallTimeout, p.fail)
	return nil
}

// Replica opens the log of one replica; an unknown id gets an empty one. Only one handle per replica may be open (ErrInUse).
func (p *Pebble) Replica(id uint64, options ReplicaOptions) (*Replica, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if p.open[id] != nil {
		return nil, fmt.Errorf("%w: replica %d", ErrInUse, id)
	}
	if _, known := p.contents[id]; !known && len(p.contents) >= replicasMax {
		return nil, fmt.Errorf("logstore: this node holds %d replicas, the most there may be", replicasMax)
	}
	r := &Replica{window: newWindow(p.contents[id], options.KeepFrom), store: p, id: id}
	p.contents[id] = r.span
	p.open[id] = r
	return r, nil
}

// Replicas returns the ids of all replicas with data or an open handle, in order.
func (p *Pebble) Replicas() []uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := make([]uint64, 0, len(p.contents))
	for id := range p.contents {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// DeleteReplica durably drops the log and the stable values of a replica. Its handle must be closed (ErrInUse).
func (p *Pebble) DeleteReplica(id uint64) error {
	// A handle keeps others out. Not the lock: the write may hang.
	r, err := p.Replica(id, ReplicaOptions{})
	if err != nil {
		return err
	}
	start, end := prefixKey(id, 0), prefixKey(id, kindEnd)
	err = p.commit("DeleteReplica", id, 0, func(batch *pebble.Batch) error {
		return batch.DeleteRange(start[:], end[:], nil)
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, id)
	if err == nil {
		delete(p.contents, id)
	}
	_, _ = r.shut()
	return err
}

// Close closes all handles and the database, waiting for calls in flight, and writes the high-water marks. A store that failed is left as
// it is, files open and goroutines running, because Pebble may wait for ever for the disk; the process is ending. Close then returns the
// reason, at once, and also where the store fails while it waits.
func (p *Pebble) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	p.closed = true
	for _, r := range p.open {
		_, _ = r.window.shut() // one that is closed already is as good
	}
	p.mu.Unlock()
	return p.unless(func() error {
		p.calls.Lock()
		defer p.calls.Unlock()
		p.shut = true
		call := p.watchdog.begin("Close", 0)
		err := errors.Join(p.closeDatabase(), p.ledger.close(), p.lock.Close())
		p.watchdog.end(call)
		p.watchdog.close()
		return err
	})
}

// closeDatabase turns Pebble's panics into errors: after a failed write its state is not sound.
func (p *Pebble) closeDatabase() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("logstore: close %s: %v", p.dir, r)
		}
	}()
	return p.db.Close()
}

// usable says whether db may be called; calls is held.
func (p *Pebble) usable() error {
	if p.shut {
		return ErrClosed
	}
	return p.Err()
}

// endMark ends every batch in the WAL with a byte that is not zero, so that a record whose end never reached the disk (it reads as
// zeros, or is not there) cannot be mistaken for a whole one.
const endMark = 0xA5

// commit applies the batch that fill makes and returns once it is fsynced. Pebble groups concurrent commits into one fsync.
func (p *Pebble) commit(name string, replica uint64, size int, fill func(*pebble.Batch) error) (err error) {
	p.calls.RLock()
	defer p.calls.RUnlock()
	if err := p.usable(); err != nil {
		return err
	}
	call := p.watchdog.begin(name, replica)
	defer p.watchdog.end(call)
	defer func() {
		// Pebble panics where it cannot go on, for example when a new WAL file cannot be created.
		if r := recover(); r != nil {
			p.fail(fmt.Errorf("%s of replica %d: %v", name, replica, r))
			err = p.Err()
		}
	}()
	batch := p.db.NewBatchWithSize(size)
	defer batch.Close()
	err = fill(batch)
	if err == nil {
		err = batch.LogData([]byte{endMark}, nil)
	}
	if err == nil {
		err = batch.Commit(pebble.Sync)
	}
	if err != nil {
		return fmt.Errorf("logstore: %s of replica %d: %w", name, replica, err)
	}
	return p.Err()
}
