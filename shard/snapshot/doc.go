// Package snapshot keeps a replica's snapshots: one checksummed file each, written whole or not at all.
//
// A [Store] is a raft.SnapshotStore. It differs from raft's own file store in what a rotten disk can do: every frame
// carries its checksum and place, a reader hands out nothing it has not verified, and an unreadable snapshot is
// reported and set aside instead of hiding an older good one. [Store.KeepFrom] says how far back the log must reach so
// that the newest snapshot may be lost.
//
// File format, version 1; integers are big endian, CRC is CRC-32C:
//
//	header   magic "HFSNAP\r\n" | version u32 | length u32 | meta | CRC u32 over all before it
//	meta     raft version u32 | index u64 | term u64 | configuration index u64 | configuration (raft's encoding)
//	frame    length u32, 1 to 65,536 | CRC u32 over number u64, length and payload | payload
//	trailer  0 u32 | frames u64 | payload bytes u64 | xxHash64 of the payload u64 | CRC u32 over all of the trailer before it
//
// Nothing follows the trailer. A file is written under a ".tmp" name, synced, renamed and its folder synced; what a
// crash leaves under ".tmp" is removed when the store is opened. A file found rotten is renamed to ".rotten" by
// Quarantine and kept for the operator until newer snapshots push it out.
//
// The package starts no goroutine. Of ours it imports shard/folder alone.
package snapshot
