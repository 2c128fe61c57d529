package shard

import (
	"encoding/binary"
	"math/bits"

	"github.com/houseful/houseful/fsm"
)

// entryFormat is the only value of wire.Entry's format that machines accept.
const entryFormat = 1

// Tags of wire.Entry: field number << 3, plus the wire type. A test holds encodeEntry to the generated code.
const (
	wireVarint = 0
	wireBytes  = 2

	tagFormat   = 1<<3 + wireVarint
	tagTime     = 2<<3 + wireVarint
	tagCommands = 3<<3 + wireBytes
)

const (
	varintBytesMax = binary.MaxVarintLen64
	// entryHeadBytesMax bounds format and time.
	entryHeadBytesMax = 2 + 1 + varintBytesMax
	// commandHeadBytesMax bounds what frames one command.
	commandHeadBytesMax = 1 + varintBytesMax
)

// encodeEntry writes a wire.Entry in one allocation of its exact size. Raft keeps the bytes, so they are never pooled.
func encodeEntry[R any](at fsm.Time, waiters []*waiter[R]) []byte {
	size := 2 + 1 + varintBytes(uint64(at))
	for _, w := range waiters {
		size += commandEntryBytes(len(w.command))
	}
	entry := make([]byte, 0, size)
	entry = append(entry, tagFormat, entryFormat, tagTime)
	entry = binary.AppendUvarint(entry, uint64(at))
	for _, w := range waiters {
		entry = append(entry, tagCommands)
		entry = binary.AppendUvarint(entry, uint64(len(w.command)))
		entry = append(entry, w.command...)
	}
	return entry
}

// commandEntryBytes is what a command adds to an entry.
func commandEntryBytes(commandBytes int) int {
	return 1 + varintBytes(uint64(commandBytes)) + commandBytes
}

func varintBytes(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }
