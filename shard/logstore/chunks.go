package logstore

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// Pebble's record format, as its package record documents it: blocks of 32 KiB with chunks that do not cross them,
//
//	crc 4B | length 2B | type 1B | [log number 4B | [synced offset 8B]] | payload
//
// little endian; the checksum covers everything from the type on, so not the length. A record is a full chunk, or a first, middle ones
// and a last. What does not fit a header at the end of a block is zero. A closed WAL ends with a header of another log number.
const (
	blockBytes          = 32 << 10
	legacyHeaderBytes   = 7
	numberedHeaderBytes = 11
	syncHeaderBytes     = 19

	chunkTypesPerFormat = 4
	numberedFull        = 5 // the first type of the numbered format: 5 full, 6 first, 7 middle, 8 last
	chunkTypeMax        = 12
)

// chunkFormat is what a file may hold.
type chunkFormat struct {
	// numbered is set for a WAL: chunks carry number, a mark ends the file, and the last byte of a record is never zero (see endMark).
	numbered bool
	number   uint32
	// tearable is set for the newest WAL, of which the first fsynced bytes are known to be on the disk; see torn.go.
	tearable bool
	fsynced  int64
}

func manifestFormat() chunkFormat         { return chunkFormat{} }
func walFormat(number uint64) chunkFormat { return chunkFormat{numbered: true, number: uint32(number)} }

func (f chunkFormat) smallestHeader() int64 { return f.pick(numberedHeaderBytes, legacyHeaderBytes) }
func (f chunkFormat) blockRemainder() int64 { return f.pick(syncHeaderBytes, legacyHeaderBytes) }
func (f chunkFormat) pick(a, b int64) int64 {
	if f.numbered {
		return a
	}
	return b
}

// fileTail says where the whole records of a file end, and whether the mark of a closed WAL follows (end is then behind it). Up to
// intact the bytes are what was written: an unfinished record may follow end.
type fileTail struct {
	end    int64
	intact int64
	closed bool
}

// chunkScan walks the chunks of one file.
type chunkScan struct {
	path    string
	content []byte
	format  chunkFormat

	at       int64  // where the next chunk begins
	record   int64  // where the record of that chunk began
	inside   bool   // whether that record is unfinished
	promised uint64 // a chunk said that so many bytes had been synced
}

// chunk is a parsed header.
type chunk struct {
	checksum   uint32
	kind       byte // 0 full, 1 first, 2 middle, 3 last
	header     int64
	end        int64
	syncedUpTo uint64
}

// scanChunks checks every chunk of content. The record that the file ends inside of is dropped if it is short: its bytes stop before
// its length does, and nothing says that they had been synced. So is what a torn write left, where format allows for one. Any other
// mismatch is a *CorruptError.
func scanChunks(path string, content []byte, format chunkFormat) (fileTail, error) {
	s := &chunkScan{path: path, content: content, format: format}
	for {
		s.skipBlockRemainder()
		if !s.inside {
			s.record = s.at
		}
		if s.atEnd() {
			return s.finish("ends inside a record", s.at)
		}
		if s.closed() {
			end := s.at + numberedHeaderBytes
			return fileTail{end: end, intact: end, closed: true}, s.checkAfterClose()
		}
		c, reason := s.parse()
		if reason != "" {
			if s.short(c) {
				return s.finish(reason, max(s.written(), s.at))
			}
			if s.torn() {
				return fileTail{end: s.record, intact: s.at}, nil
			}
			return fileTail{}, corrupt(s.path, s.at, "%s", reason)
		}
		s.promised = max(s.promised, c.syncedUpTo)
		s.inside = c.kind == 1 || c.kind == 2
		s.at = c.end
	}
}

func (s *chunkScan) size() int64 { return int64(len(s.content)) }

// blockEnd is where the block of at ends.
func (s *chunkScan) blockEnd() int64 { return s.at - s.at%blockBytes + blockBytes }

func (s *chunkScan) skipBlockRemainder() {
	end := s.blockEnd()
	if end-s.at < s.format.blockRemainder() && end < s.size() && allZero(s.content[s.at:end]) {
		s.at = end
	}
}

// atEnd reports whether nothing was written from here on.
func (s *chunkScan) atEnd() bool { return s.at >= s.size() || allZero(s.content[s.at:]) }

func (s *chunkScan) closed() bool {
	if !s.format.numbered || s.inside || s.size()-s.at < numberedHeaderBytes {
		return false
	}
	return bytes.Equal(s.content[s.at:s.at+numberedHeaderBytes], endOfWAL(uint64(s.format.number)))
}

func endOfWAL(number uint64) []byte {
	mark := make([]byte, numberedHeaderBytes)
	mark[6] = numberedFull
	binary.LittleEndian.PutUint32(mark[legacyHeaderBytes:], uint32(number)+1)
	return mark
}

func (s *chunkScan) checkAfterClose() error {
	if end := s.at + numberedHeaderBytes; !allZero(s.content[end:]) {
		return corrupt(s.path, end, "bytes follow the mark of the end")
	}
	return nil
}

// finish ends the scan before the unfinished record, unless more than the intact bytes had been synced. A sync may end inside of a record
// that was being written, so one that goes on behind it was not acknowledged by it.
func (s *chunkScan) finish(reason string, intact int64) (fileTail, error) {
	if s.promised > uint64(intact) {
		return fileTail{}, lost(s.path, s.at, "%s, although %d bytes had been synced", reason, s.promised)
	}
	return fileTail{end: s.record, intact: intact}, nil
}

// written is where the bytes of the file end. After a power failure the rest may read as zeros. In a WAL that is told apart from data,
// see endMark.
func (s *chunkScan) written() int64 {
	written := s.size()
	for s.format.numbered && written > s.at && s.content[written-1] == 0 {
		written--
	}
	return written
}

// parse reads and checks the chunk at s.at; a reason says what is wrong with it.
func (s *chunkScan) parse() (c chunk, reason string) {
	b := s.content[s.at:min(s.blockEnd(), s.size())]
	c.end = s.at + s.format.smallestHeader()
	if int64(len(b)) < s.format.smallestHeader() {
		return c, "chunk header cut off"
	}
	c.checksum = binary.LittleEndian.Uint32(b)
	length, kind := int64(binary.LittleEndian.Uint16(b[4:])), b[6]
	if kind == 0 || kind > chunkTypeMax || (kind >= numberedFull) != s.format.numbered {
		return c, "unknown chunk type"
	}
	c.kind = (kind - 1) % chunkTypesPerFormat
	c.header = []int64{legacyHeaderBytes, numberedHeaderBytes, syncHeaderBytes}[(kind-1)/chunkTypesPerFormat]
	c.end = s.at + c.header + length
	switch {
	case c.end > s.blockEnd():
		// No torn write does that: chunks end with their block. Not even a short one may pass.
		c.end = 0
		return c, "chunk longer than its block"
	case int64(len(b)) < c.header+length:
		return c, "chunk cut off"
	case s.format.numbered && binary.LittleEndian.Uint32(b[legacyHeaderBytes:]) != s.format.number:
		return c, "chunk of another log"
	case chunkChecksum(b[6:c.header+length]) != c.checksum:
		return c, "checksum mismatch"
	case (c.kind == 2 || c.kind == 3) != s.inside:
		return c, "chunk out of order"
	}
	if c.header == syncHeaderBytes {
		c.syncedUpTo = binary.LittleEndian.Uint64(b[numberedHeaderBytes:])
	}
	return c, ""
}

// short reports whether the bytes of the bad chunk c stop before its length does. A length with a flipped bit looks the same, but then
// the checksum, which does not cover it, fits some of the bytes that are there.
func (s *chunkScan) short(c chunk) bool {
	written := s.written()
	if c.end <= written {
		return false
	}
	if written-s.at <= legacyHeaderBytes {
		return true
	}
	sum, table := uint32(0), castagnoli()
	for rest := s.content[s.at+6 : min(s.blockEnd(), s.size())]; len(rest) > 0; rest = rest[1:] {
		sum = crc32.Update(sum, table, rest[:1])
		if maskChecksum(sum) == c.checksum {
			return false
		}
	}
	return true
}

func chunkChecksum(b []byte) uint32 { return maskChecksum(crc32.Checksum(b, castagnoli())) }

// maskChecksum is LevelDB's, so that checksums of data that holds checksums keep their strength.
func maskChecksum(sum uint32) uint32 { return (sum>>15 | sum<<17) + 0xa282ead8 }

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
