package logstore

import "encoding/binary"

// Keys of the shared database: replica id 8B big endian | kind 1B | log index 8B big endian, or the stable key.
const (
	kindLog    byte = 1
	kindStable byte = 2
	kindEnd    byte = 3 // above every kind: the exclusive end of a replica's keys

	keyPrefixBytes = 9
	logKeyBytes    = keyPrefixBytes + 8
)

func putLogKey(dst []byte, replica, index uint64) {
	binary.BigEndian.PutUint64(dst, replica)
	dst[8] = kindLog
	binary.BigEndian.PutUint64(dst[keyPrefixBytes:], index)
}

func logKey(replica, index uint64) [logKeyBytes]byte {
	var key [logKeyBytes]byte
	putLogKey(key[:], replica, index)
	return key
}

func prefixKey(replica uint64, kind byte) [keyPrefixBytes]byte {
	var key [keyPrefixBytes]byte
	binary.BigEndian.PutUint64(key[:], replica)
	key[8] = kind
	return key
}

func stableKey(replica uint64, key []byte) []byte {
	prefix := prefixKey(replica, kindStable)
	return append(prefix[:], key...)
}
