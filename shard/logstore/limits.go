package logstore

import "time"

// Limits of what a store takes.
const (
	// entryMaxBytes bounds Data and Extensions of one entry. The shard packs at most 1 MiB; configurations are far smaller.
	entryMaxBytes = 16 << 20
	// stableKeyMaxBytes bounds a stable key; raft uses three short ones.
	stableKeyMaxBytes = 256
	// stableValueMaxBytes bounds a stable value; raft stores a term or a server id.
	stableValueMaxBytes = 64 << 10
	// replicasMax bounds the replicas of one node.
	replicasMax = 4096
)

// Defaults of Pebble.
const (
	defaultMemTableBytes   = 16 << 20
	defaultBlockCacheBytes = 16 << 20
	defaultStallTimeout    = 10 * time.Second
	defaultLedgerInterval  = time.Second
	// memTablesMax is how many memtables may wait for a flush before writers do.
	memTablesMax = 4
	// openFilesMax bounds table files held open.
	openFilesMax = 256
)

// Limits of the free-space check and the cache.
const (
	// DiskCheckInterval is how old a free-space figure may be before DiskSpace asks the file system again.
	DiskCheckInterval = 250 * time.Millisecond
	// logOverheadBytes is charged to the cache for an entry besides Data and Extensions.
	logOverheadBytes = 128
)
