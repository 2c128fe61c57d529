package logstore

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"
)

// ReplicaOptions configures a handle. The zero value works.
type ReplicaOptions struct {
	// KeepFrom returns the first index that compaction must leave (the one after the *previous* snapshot's last, so that a rotten
	// newest snapshot is survivable); 0 keeps everything. It shortens deletions of a prefix that leave a rest. A deletion of the whole
	// log is not shortened: raft does that after it installed a snapshot, and then the old entries are of no use. So raft's
	// TrailingLogs must be at least 1, or a compaction could look like that. nil keeps nothing back. It is called on raft's goroutines
	// and must be short.
	KeepFrom func() uint64
}

// Replica is the log and the stable store of one replica: raft.LogStore, raft.MonotonicLogStore and raft.StableStore. Every method may
// be called at once with every other; appends and cuts of the suffix wait for each other, compaction of a prefix for nobody.
type Replica struct {
	window
	store *Pebble
	id    uint64
}

var (
	_ raft.LogStore          = (*Replica)(nil)
	_ raft.MonotonicLogStore = (*Replica)(nil)
	_ raft.StableStore       = (*Replica)(nil)
)

// ID returns the replica id.
func (r *Replica) ID() uint64 { return r.id }

// Close makes the handle refuse further calls; the data stays. It waits for an append in flight, unless the store has failed: that one
// may hang for ever.
func (r *Replica) Close() error {
	p := r.store
	held, err := r.window.close(p.set)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, r.id)
	p.contents[r.id] = held
	return nil
}

// GetLog reads one entry: raft.ErrLogNotFound outside the log, *CorruptError if the stored bytes do not match their checksum.
func (r *Replica) GetLog(index uint64, log *raft.Log) error {
	if held, err := r.holds(index); err != nil {
		return err
	} else if !held {
		return raft.ErrLogNotFound
	}
	key := logKey(r.id, index)
	err := r.store.read(key[:], "GetLog", r.id, func(record []byte) error {
		return getLogRecord(record, key[:], log)
	})
	if !errors.Is(err, pebble.ErrNotFound) {
		return err
	}
	// A deletion may have run meanwhile. The window shrinks first, so an index still inside it should have been there.
	if held, err := r.holds(index); err != nil {
		return err
	} else if held {
		return corrupt(r.store.dir, 0, "entry %d of replica %d is missing", index, r.id)
	}
	return raft.ErrLogNotFound
}

// StoreLog stores one entry; see StoreLogs.
func (r *Replica) StoreLog(log *raft.Log) error { return r.StoreLogs([]*raft.Log{log}) }

// StoreLogs appends entries, all or none, and returns when they are fsynced. They must follow the last one and each other without a
// gap (ErrGap); into an empty log they may start anywhere. Entries are copied. An error other than ErrGap, ErrTooLarge and ErrClosed
// leaves it unknown whether they are stored.
func (r *Replica) StoreLogs(logs []*raft.Log) error {
	return r.append(logs, func() error {
		const perEntry, perBatch = logKeyBytes + 16, 64
		size := perBatch
		for _, log := range logs {
			size += perEntry + logRecordSize(log)
		}
		return r.store.commit("StoreLogs", r.id, size, func(batch *pebble.Batch) error {
			for _, log := range logs {
				op := batch.SetDeferred(logKeyBytes, logRecordSize(log))
				putLogKey(op.Key, r.id, log.Index)
				putLogRecord(op.Value, op.Key, log)
				if err := op.Finish(); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// DeleteRange deletes the entries from min to max, both included, durably: they do not come back. The range must cover the start or
// the end of the log (ErrRange); what lies outside the log is ignored. See ReplicaOptions.KeepFrom for what it leaves.
func (r *Replica) DeleteRange(min, max uint64) error {
	return r.delete(min, max, func(min, max uint64) error {
		start, end := logKey(r.id, min), logKey(r.id, max)
		return r.store.commit("DeleteRange", r.id, 0, func(batch *pebble.Batch) error {
			// The end is exclusive; one byte more is the smallest key after it. Tombstones of prefixes all start at index 0, so that a
			// newer one covers the older ones and Pebble drops those.
			return batch.DeleteRange(start[:], append(end[:], 0), nil)
		})
	})
}

// Set stores a stable value and returns when it is fsynced.
func (r *Replica) Set(key, value []byte) error {
	if _, err := r.current(); err != nil {
		return err
	}
	if err := checkStableSize(key, value); err != nil {
		return err
	}
	return r.store.commit("Set", r.id, 0, func(batch *pebble.Batch) error {
		op := batch.SetDeferred(keyPrefixBytes+len(key), stableHeaderBytes+len(value))
		copy(op.Key, stableKey(r.id, key))
		putStableRecord(op.Value, op.Key, value)
		return op.Finish()
	})
}

// Get returns a copy of a stable value, or ErrKeyNotFound.
func (r *Replica) Get(key []byte) ([]byte, error) {
	if _, err := r.current(); err != nil {
		return nil, err
	}
	value := []byte{}
	at := stableKey(r.id, key)
	err := r.store.read(at, "Get", r.id, func(record []byte) error {
		stored, err := getStableRecord(record, at)
		value = append(value, stored...)
		return err
	})
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrKeyNotFound
	}
	if err != nil {
		return nil, err
	}
	return value, nil
}

// SetUint64 is Set for a number.
func (r *Replica) SetUint64(key []byte, value uint64) error { return r.Set(key, uint64Value(value)) }

// GetUint64 is Get for a number; ErrKeyNotFound if there is none.
func (r *Replica) GetUint64(key []byte) (uint64, error) {
	value, err := r.Get(key)
	if err != nil {
		return 0, err
	}
	return valueUint64(value, key)
}

// String names the replica in errors and logs.
func (r *Replica) String() string { return fmt.Sprintf("replica %d in %s", r.id, r.store.dir) }
