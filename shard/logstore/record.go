package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/hashicorp/raft"
)

// A log record, little endian:
//
//	version 1B | crc32c 4B | term 8B | appendedAt 8B (ns since 1970; 0 = none) | type 1B | extensions length 4B | extensions | data
//
// A stable record is
//
//	version 1B | crc32c 4B | value
//
// The checksum covers the whole key in the database (see key.go), so replica, kind and index or stable key, and all of the record but
// itself.
const (
	recordVersion     = 1
	logHeaderBytes    = 1 + 4 + 8 + 8 + 1 + 4
	stableHeaderBytes = 1 + 4
)

// errMismatch is the cause inside a CorruptError of a record; the caller adds file and offset.
var errMismatch = errors.New("checksum mismatch")

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func recordChecksum(key, record []byte) uint32 {
	table := castagnoli()
	sum := crc32.Update(0, table, key)
	sum = crc32.Update(sum, table, record[:1])
	return crc32.Update(sum, table, record[5:])
}

func appendedNanos(at time.Time) uint64 {
	if at.IsZero() {
		return 0
	}
	return uint64(at.UnixNano())
}

func logRecordSize(log *raft.Log) int { return logHeaderBytes + len(log.Extensions) + len(log.Data) }

func checkLogSize(log *raft.Log) error {
	if len(log.Data)+len(log.Extensions) > entryMaxBytes {
		return fmt.Errorf("%w: entry %d has %d bytes", ErrTooLarge, log.Index, len(log.Data)+len(log.Extensions))
	}
	return nil
}

// putLogRecord encodes log into dst, which has logRecordSize bytes; key is where it will be.
func putLogRecord(dst, key []byte, log *raft.Log) {
	dst[0] = recordVersion
	binary.LittleEndian.PutUint64(dst[5:], log.Term)
	binary.LittleEndian.PutUint64(dst[13:], appendedNanos(log.AppendedAt))
	dst[21] = byte(log.Type)
	binary.LittleEndian.PutUint32(dst[22:], uint32(len(log.Extensions)))
	n := copy(dst[logHeaderBytes:], log.Extensions)
	copy(dst[logHeaderBytes+n:], log.Data)
	binary.LittleEndian.PutUint32(dst[1:], recordChecksum(key, dst))
}

// checkLogRecord verifies a record without building the entry.
func checkLogRecord(record, key []byte) error {
	if len(record) < logHeaderBytes {
		return fmt.Errorf("%w: log record of %d bytes", errMismatch, len(record))
	}
	if binary.LittleEndian.Uint32(record[1:]) != recordChecksum(key, record) {
		return fmt.Errorf("%w: log record", errMismatch)
	}
	if record[0] != recordVersion {
		return fmt.Errorf("log record has format version %d, this program knows %d", record[0], recordVersion)
	}
	if uint64(binary.LittleEndian.Uint32(record[22:])) > uint64(len(record)-logHeaderBytes) {
		return fmt.Errorf("%w: extensions longer than the record", errMismatch)
	}
	return nil
}

// getLogRecord verifies and decodes record, found under key, into log; log owns its bytes afterwards.
func getLogRecord(record, key []byte, log *raft.Log) error {
	if err := checkLogRecord(record, key); err != nil {
		return err
	}
	body := append([]byte(nil), record[logHeaderBytes:]...)
	extensions := int(binary.LittleEndian.Uint32(record[22:]))
	*log = raft.Log{Index: binary.BigEndian.Uint64(key[keyPrefixBytes:]), Term: binary.LittleEndian.Uint64(record[5:]), Type: raft.LogType(record[21])}
	if nanos := binary.LittleEndian.Uint64(record[13:]); nanos != 0 {
		log.AppendedAt = time.Unix(0, int64(nanos))
	}
	if extensions > 0 {
		log.Extensions = body[:extensions:extensions]
	}
	if data := body[extensions:]; len(data) > 0 {
		log.Data = data
	}
	return nil
}

func checkStableSize(key, value []byte) error {
	if len(key) == 0 || len(key) > stableKeyMaxBytes || len(value) > stableValueMaxBytes {
		return fmt.Errorf("%w: stable key of %d bytes, value of %d", ErrTooLarge, len(key), len(value))
	}
	return nil
}

// putStableRecord encodes value into dst; key is where it will be.
func putStableRecord(dst, key, value []byte) {
	dst[0] = recordVersion
	copy(dst[stableHeaderBytes:], value)
	binary.LittleEndian.PutUint32(dst[1:], recordChecksum(key, dst))
}

// getStableRecord verifies record, found under key, and returns its value, which aliases record.
func getStableRecord(record, key []byte) ([]byte, error) {
	if len(record) < stableHeaderBytes {
		return nil, fmt.Errorf("%w: stable record of %d bytes", errMismatch, len(record))
	}
	if binary.LittleEndian.Uint32(record[1:]) != recordChecksum(key, record) {
		return nil, fmt.Errorf("%w: stable record", errMismatch)
	}
	if record[0] != recordVersion {
		return nil, fmt.Errorf("stable record has format version %d, this program knows %d", record[0], recordVersion)
	}
	return record[stableHeaderBytes:], nil
}

func uint64Value(value uint64) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], value)
	return b[:]
}

func valueUint64(value, key []byte) (uint64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("logstore: stable value %q has %d bytes, not the 8 of a number", key, len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}
