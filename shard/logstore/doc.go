// Package logstore keeps what a Raft replica must not lose: its log, its term and its vote.
//
// Two stores implement raft.LogStore and raft.StableStore:
//
//   - Pebble: one database per node, shared by every data replica. Concurrent writes of all replicas share one fsync.
//   - Bolt: one raft-boltdb file, for the meta group, whose rate is low.
//
// Both promise the same:
//
//   - A write that returned nil is on the disk.
//   - A record is checked when it is read; a mismatch is a *CorruptError naming file and offset, never wrong data.
//   - On open everything is read once. A short or torn end of the newest WAL (what a crash cut off, which nobody was told about) is
//     dropped. Everything else that does not add up is an error: flipped bits, cut or missing files, indexes that do not follow each
//     other, and fewer bytes than are known to have been fsynced (ErrLost).
//   - Entries have no gaps. Deleted entries never come back, a crash included.
//   - A closed handle answers ErrClosed.
//   - A failed fsync is fatal, and so is a call that does not come back for Options.StallTimeout. Close then does not wait for it.
//
// The package imports neither shard nor fsm; of ours it imports shard/folder. Goroutines: Pebble starts a ledger writer and a watchdog
// (besides Pebble's own); Bolt a watchdog; DiskSpace none. All of them end in Close, unless the store failed.
package logstore
