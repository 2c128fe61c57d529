package logstore

import "encoding/binary"

// Pebble hands the kernel up to a megabyte of WAL and fsyncs it once. Until that came back nobody was told, and a power failure may leave
// any of its pages on the disk and others not: those read as zeros, or end where the page ended before, while later ones hold data.
// etcd's wal knows the same case (decoder.isTornEntry) and tells it from rot in the same way: a sector is written whole or not at all, so
// a torn write leaves one that is all zero, and a flipped bit does not.

// sectorBytes is what a disk writes whole. Larger sectors and pages are made of such.
const sectorBytes = 512

// mayBeTorn says that nobody knows of the bytes behind the fsynced ones whether they were acknowledged.
func (f chunkFormat) mayBeTorn(fsynced int64) chunkFormat {
	f.tearable, f.fsynced = true, fsynced
	return f
}

// torn reports whether the mismatch at s.at is what an fsync that never came back left behind. An fsync covers whole chunks, so a bad
// chunk that begins before the end of a covered part is rot.
func (s *chunkScan) torn() bool {
	if !s.format.tearable || max(s.format.fsynced, s.promisedLater()) > s.at {
		return false
	}
	for at := s.at; at < s.size(); {
		end := min(at-at%sectorBytes+sectorBytes, s.size())
		if allZero(s.content[at:end]) {
			return true
		}
		at = end
	}
	return false
}

// promisedLater returns the most bytes that a sound chunk behind s.at says were fsynced. The length of the bad chunk is not to be
// relied on, so one is looked for at every byte.
func (s *chunkScan) promisedLater() (most int64) {
	later := *s
	for later.at = s.at + 1; later.at+syncHeaderBytes <= s.size(); later.at++ {
		header := s.content[later.at:]
		if binary.LittleEndian.Uint32(header[legacyHeaderBytes:]) != s.format.number {
			continue
		}
		later.inside = header[6] == chunkTypeMax || header[6] == chunkTypeMax-1
		if c, reason := later.parse(); reason == "" {
			most = max(most, int64(c.syncedUpTo))
		}
	}
	return most
}
