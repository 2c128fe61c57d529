package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"github.com/houseful/houseful/shard/folder"
)

// BoltOptions configures OpenBolt. The zero value works.
type BoltOptions struct {
	// Logger takes the reason of a fatal error. Default: slog.Default().
	Logger *slog.Logger
	// Fatal ends the process; see PebbleOptions.Fatal. Default: os.Exit(1).
	Fatal func(error)
	// StallTimeout is how long one store call may take before Fatal is called. Default 10 s.
	StallTimeout time.Duration
	// KeepFrom is as in ReplicaOptions.
	KeepFrom func() uint64
}

func (o BoltOptions) withDefaults() BoltOptions {
	common := PebbleOptions{Logger: o.Logger, Fatal: o.Fatal, StallTimeout: o.StallTimeout}.withDefaults()
	o.Logger, o.Fatal, o.StallTimeout = common.Logger, common.Fatal, common.StallTimeout
	return o
}

// Bolt is the log and the stable store of the meta group: a raft-boltdb file, and beside it one with the number of the last transaction
// that may have been acknowledged (see boltMark). Entries carry a checksum behind their Extensions and stable values one behind the
// value; standard tools for raft-boltdb read the rest as ever. Contract as Replica's.
type Bolt struct {
	window
	path    string
	options BoltOptions

	store    *raftboltdb.BoltStore
	mark     *boltMark
	watchdog *watchdog

	*failure

	// calls is held for reading by every call into store and for writing by Close, so that store outlives them. It guards shut.
	calls sync.RWMutex
	shut  bool
}

var (
	_ raft.LogStore          = (*Bolt)(nil)
	_ raft.MonotonicLogStore = (*Bolt)(nil)
	_ raft.StableStore       = (*Bolt)(nil)
)

// boltReplica stands for the replica in checksums; a file holds one.
const boltReplica = 0

// boltLockTimeout bounds the wait for bbolt's file lock, which the lock on the mark should make free at once.
const boltLockTimeout = time.Second

// trailerBytes is what an entry and a stable value carry more: version 1B | crc32c 4B.
const trailerBytes = stableHeaderBytes

// OpenBolt opens or creates the file at path and reads it once: bbolt trusts its pages, so their structure is checked before bbolt sees
// it, and every record afterwards. Errors: *CorruptError, ErrInUse, or what the operating system says.
func OpenBolt(path string, options BoltOptions) (*Bolt, error) {
	b := &Bolt{path: path, options: options.withDefaults()}
	b.failure = newFailure(path, b.options.Logger, b.options.Fatal)
	if err := createBolt(path, b.fail); err != nil {
		return nil, err
	}
	mark, err := openBoltMark(path, b.fail)
	if err != nil {
		return nil, err
	}
	b.mark = mark
	if err := b.start(); err != nil {
		return nil, errors.Join(err, mark.close())
	}
	return b, nil
}

func (b *Bolt) start() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = corrupt(b.path, 0, "bbolt cannot open it: %v", r)
		}
	}()
	contents, err := verifyBolt(b.path)
	if err != nil {
		return err
	}
	if err := b.mark.check(contents); err != nil {
		return err
	}
	if b.store, err = openBoltStore(b.path); err != nil {
		return err
	}
	if err := b.scan(contents); err != nil {
		return errors.Join(err, b.store.Close())
	}
	// Opening was a transaction.
	if err := b.mark.advance(); err != nil {
		return errors.Join(err, b.store.Close())
	}
	b.window = newWindow(contents.span, b.options.KeepFrom)
	b.watchdog = newWatchdog(b.options.StallTimeout, b.fail)
	return nil
}

func openBoltStore(path string) (*raftboltdb.BoltStore, error) {
	store, err := raftboltdb.New(raftboltdb.Options{
		Path: path,
		// The free list is stored, and verifyBolt holds it against the tree: that finds references to pages of old.
		BoltOptions:             &bbolt.Options{Timeout: boltLockTimeout, FreelistType: bbolt.FreelistMapType},
		MsgpackUseNewTimeFormat: true,
	})
	if err != nil {
		return nil, fmt.Errorf("logstore: open %s: %w", path, err)
	}
	return store, nil
}

// scan reads every record through raft-boltdb.
func (b *Bolt) scan(contents *boltContents) error {
	for index := contents.span.first; contents.span.holds(index); index++ {
		var log raft.Log
		if err := b.readLog(index, &log); err != nil {
			return &CorruptError{File: b.path, Offset: contents.offsets[index], Reason: fmt.Sprintf("entry %d", index), Err: err}
		}
	}
	for key, offset := range contents.stable {
		if _, err := b.readStable([]byte(key)); err != nil {
			return &CorruptError{File: b.path, Offset: offset, Reason: fmt.Sprintf("stable value %q", key), Err: err}
		}
	}
	return nil
}

// Close closes the file. It waits for calls in flight. A store that failed is left as it is, see Pebble.Close.
func (b *Bolt) Close() error {
	if _, err := b.window.close(b.set); err != nil {
		return err
	}
	return b.unless(func() error {
		b.calls.Lock()
		defer b.calls.Unlock()
		b.shut = true
		call := b.watchdog.begin("Close", boltReplica)
		err := errors.Join(b.store.Close(), b.mark.close())
		b.watchdog.end(call)
		b.watchdog.close()
		return err
	})
}

// enter admits one call into the store; the caller ends it with leave.
func (b *Bolt) enter(name string) (*watchedCall, error) {
	b.calls.RLock()
	err := b.Err()
	if b.shut {
		err = ErrClosed
	}
	if err != nil {
		b.calls.RUnlock()
		return nil, err
	}
	return b.watchdog.begin(name, boltReplica), nil
}

func (b *Bolt) leave(call *watchedCall) {
	b.watchdog.end(call)
	b.calls.RUnlock()
}

// GetLog reads one entry: raft.ErrLogNotFound outside the log, *CorruptError if the stored bytes do not match their checksum.
func (b *Bolt) GetLog(index uint64, log *raft.Log) error {
	if held, err := b.holds(index); err != nil {
		return err
	} else if !held {
		return raft.ErrLogNotFound
	}
	call, err := b.enter("GetLog")
	if err != nil {
		return err
	}
	defer b.leave(call)
	if err = b.readLog(index, log); err == nil {
		return nil
	}
	// As with Replica: gone for good, or gone wrong.
	if held, closed := b.holds(index); closed != nil {
		return closed
	} else if !held {
		return raft.ErrLogNotFound
	}
	return &CorruptError{File: b.path, Offset: locateEntry(b.path, index), Reason: fmt.Sprintf("entry %d", index), Err: err}
}

// readLog reads and checks one entry. The codec under raft-boltdb may panic on damaged bytes.
func (b *Bolt) readLog(index uint64, log *raft.Log) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errMismatch, r)
		}
	}()
	var stored raft.Log
	if err := b.store.GetLog(index, &stored); err != nil {
		return err
	}
	cut := len(stored.Extensions) - trailerBytes
	if cut < 0 || stored.Index != index {
		return fmt.Errorf("%w: entry without a checksum, or another's", errMismatch)
	}
	trailer := stored.Extensions[cut:]
	stored.Extensions = stored.Extensions[:cut:cut]
	if cut == 0 {
		stored.Extensions = nil
	}
	if trailer[0] != recordVersion {
		return fmt.Errorf("entry has format version %d, this program knows %d", trailer[0], recordVersion)
	}
	if binary.LittleEndian.Uint32(trailer[1:]) != logChecksum(&stored) {
		return fmt.Errorf("%w: log record", errMismatch)
	}
	*log = stored
	return nil
}

// logChecksum is the checksum that the record of log would have in Pebble.
func logChecksum(log *raft.Log) uint32 {
	record, key := make([]byte, logRecordSize(log)), logKey(boltReplica, log.Index)
	putLogRecord(record, key[:], log)
	return binary.LittleEndian.Uint32(record[1:])
}

// stableChecksum is the checksum that the record of value would have in Pebble.
func stableChecksum(key, value []byte) uint32 {
	record := make([]byte, stableHeaderBytes+len(value))
	putStableRecord(record, stableKey(boltReplica, key), value)
	return binary.LittleEndian.Uint32(record[1:])
}

// StoreLog stores one entry; see StoreLogs.
func (b *Bolt) StoreLog(log *raft.Log) error { return b.StoreLogs([]*raft.Log{log}) }

// StoreLogs is as Replica.StoreLogs.
func (b *Bolt) StoreLogs(logs []*raft.Log) error {
	return b.append(logs, func() error {
		sealed := make([]*raft.Log, len(logs))
		for i, log := range logs {
			entry := *log
			entry.Extensions = append(entry.Extensions[:len(entry.Extensions):len(entry.Extensions)], recordVersion)
			entry.Extensions = binary.LittleEndian.AppendUint32(entry.Extensions, logChecksum(log))
			sealed[i] = &entry
		}
		return b.write("StoreLogs", func() error { return b.store.StoreLogs(sealed) })
	})
}

// DeleteRange is as Replica.DeleteRange.
func (b *Bolt) DeleteRange(min, max uint64) error {
	return b.delete(min, max, func(min, max uint64) error {
		return b.write("DeleteRange", func() error { return b.store.DeleteRange(min, max) })
	})
}

// write commits one transaction and raises the mark behind it, before anybody is told. A crash in between leaves a file that is ahead
// of its mark, which is in order.
func (b *Bolt) write(name string, commit func() error) error {
	call, err := b.enter(name)
	if err != nil {
		return err
	}
	defer b.leave(call)
	if err = commit(); err == nil {
		err = b.mark.advance()
	}
	switch {
	case err != nil && !errors.Is(err, syscall.ENOSPC):
		// bbolt does not tell a failed fsync from a failed write. Neither leaves a disk that can be trusted.
		b.fail(fmt.Errorf("%s in %s: %w", name, b.path, err))
	case err != nil:
		return fmt.Errorf("logstore: %s in %s: %w", name, b.path, err)
	}
	return b.Err()
}

// Set stores a stable value and returns when it is fsynced.
func (b *Bolt) Set(key, value []byte) error {
	if _, err := b.current(); err != nil {
		return err
	}
	if err := checkStableSize(key, value); err != nil {
		return err
	}
	sealed := append(value[:len(value):len(value)], recordVersion)
	sealed = binary.LittleEndian.AppendUint32(sealed, stableChecksum(key, value))
	return b.write("Set", func() error { return b.store.Set(key, sealed) })
}

// Get returns a copy of a stable value, or ErrKeyNotFound.
func (b *Bolt) Get(key []byte) ([]byte, error) {
	if _, err := b.current(); err != nil {
		return nil, err
	}
	call, err := b.enter("Get")
	if err != nil {
		return nil, err
	}
	defer b.leave(call)
	value, err := b.readStable(key)
	switch {
	case errors.Is(err, raftboltdb.ErrKeyNotFound):
		return nil, ErrKeyNotFound
	case err != nil:
		return nil, &CorruptError{File: b.path, Reason: fmt.Sprintf("stable value %q", key), Err: err}
	}
	return value, nil
}

func (b *Bolt) readStable(key []byte) ([]byte, error) {
	sealed, err := b.store.Get(key)
	if err != nil {
		return nil, err
	}
	cut := len(sealed) - trailerBytes
	if cut < 0 {
		return nil, fmt.Errorf("%w: stable value without a checksum", errMismatch)
	}
	value, trailer := sealed[:cut:cut], sealed[cut:]
	if trailer[0] != recordVersion {
		return nil, fmt.Errorf("stable value has format version %d, this program knows %d", trailer[0], recordVersion)
	}
	if binary.LittleEndian.Uint32(trailer[1:]) != stableChecksum(key, value) {
		return nil, fmt.Errorf("%w: stable value", errMismatch)
	}
	return value, nil
}

// SetUint64 is Set for a number.
func (b *Bolt) SetUint64(key []byte, value uint64) error { return b.Set(key, uint64Value(value)) }

// GetUint64 is Get for a number; ErrKeyNotFound if there is none.
func (b *Bolt) GetUint64(key []byte) (uint64, error) {
	value, err := b.Get(key)
	if err != nil {
		return 0, err
	}
	return valueUint64(value, key)
}

// createBolt makes an empty file at path if there is none: complete under another name first, so that path is never half made.
func createBolt(path string, fatal func(error)) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(boltMarkPath(path)); err == nil {
		return lost(path, 0, "the file is missing, its mark is not")
	}
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("logstore: %w", err)
	}
	store, err := openBoltStore(temporary)
	if err != nil {
		return err
	}
	if err := store.Close(); err != nil {
		return fmt.Errorf("logstore: create %s: %w", path, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("logstore: create %s: %w", path, err)
	}
	if err := folder.Sync(parentDir(path)); err != nil {
		fatal(err)
		return err
	}
	return nil
}
