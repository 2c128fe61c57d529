package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/houseful/houseful/shard/folder"
)

// boltMark is a file with the number of a bbolt transaction: those up to it may have been acknowledged. It is written and fsynced after
// a transaction and before its caller is told, so
//
//	acknowledged ≤ mark ≤ what the file holds,
//
// and a file that holds less has lost something. bbolt alone cannot tell: with its newest meta page damaged or stale it opens as it was
// one transaction earlier.
//
// The file has two slots, written in turn, each within one disk sector and so written whole or not at all:
//
//	magic 4B | version 1B | zero 3B | transaction 8B | crc32c 4B   (little endian)
type boltMark struct {
	path string
	file *os.File
	data *os.File // the bbolt file, to read its meta pages
	db   string

	// mu guards the fields below.
	mu       sync.Mutex
	value    uint64
	slot     int64
	pageSize int64
	fatal    func(error)
}

const (
	boltMarkMagic     = "HFTX"
	boltMarkVersion   = 1
	boltMarkBytes     = 4 + 1 + 3 + 8 + 4
	boltMarkSlotBytes = 4096
)

func boltMarkPath(path string) string { return path + ".mark" }

func parentDir(path string) string { return filepath.Dir(path) }

// openBoltMark opens or creates the mark of the bbolt file at path and locks it, against a second process.
func openBoltMark(path string, fatal func(error)) (*boltMark, error) {
	m := &boltMark{path: boltMarkPath(path), db: path, fatal: fatal}
	var err error
	if m.file, err = os.OpenFile(m.path, os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return nil, fmt.Errorf("logstore: %w", err)
	}
	if err := syscall.Flock(int(m.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrInUse, m.path, err), m.file.Close())
	}
	if m.data, err = os.Open(path); err != nil {
		return nil, errors.Join(fmt.Errorf("logstore: %w", err), m.file.Close())
	}
	if err := m.load(); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *boltMark) load() error {
	content, err := os.ReadFile(m.path)
	if err != nil {
		return fmt.Errorf("logstore: %w", err)
	}
	for slot := range int64(2) {
		offset := slot * boltMarkSlotBytes
		if int64(len(content)) < offset+boltMarkBytes {
			if !allZero(content[min(offset, int64(len(content))):]) {
				return corrupt(m.path, offset, "mark cut off")
			}
			continue
		}
		value, err := m.parse(content[offset:offset+boltMarkBytes], offset)
		if err != nil {
			return err
		}
		if value > m.value {
			m.value, m.slot = value, 1-slot
		}
	}
	return nil
}

func (m *boltMark) parse(b []byte, offset int64) (uint64, error) {
	switch {
	case allZero(b):
		return 0, nil
	case string(b[:4]) != boltMarkMagic || crc32.Checksum(b[:16], castagnoli()) != binary.LittleEndian.Uint32(b[16:]):
		return 0, corrupt(m.path, offset, "checksum mismatch")
	case b[4] != boltMarkVersion:
		return 0, corrupt(m.path, offset, "format version %d, this program knows %d", b[4], boltMarkVersion)
	}
	return binary.LittleEndian.Uint64(b[8:]), nil
}

// check holds what the file has against the mark. Only an empty file may be without one: its maker was interrupted.
func (m *boltMark) check(contents *boltContents) error {
	m.pageSize = contents.pageSize
	switch {
	case m.value == 0 && !contents.empty():
		return corrupt(m.path, 0, "the mark is missing, so it cannot be told whether the log is whole")
	case contents.transaction < m.value:
		return lost(m.db, contents.metaOffset, "the newest transaction is %d, %d may have been acknowledged", contents.transaction, m.value)
	}
	return nil
}

// advance raises the mark to the newest transaction and returns when it is fsynced.
func (m *boltMark) advance() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	newest, err := m.newestTransaction()
	if err != nil || newest <= m.value {
		return err
	}
	b := make([]byte, boltMarkBytes)
	copy(b, boltMarkMagic)
	b[4] = boltMarkVersion
	binary.LittleEndian.PutUint64(b[8:], newest)
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(b[:16], castagnoli()))
	if _, err := m.file.WriteAt(b, m.slot*boltMarkSlotBytes); err != nil {
		return err
	}
	first := m.value == 0
	if err := m.file.Sync(); err != nil {
		m.fatal(fmt.Errorf("fsync of %s: %w", m.path, err))
		return err
	}
	if first {
		if err := folder.Sync(filepath.Dir(m.path)); err != nil {
			m.fatal(err)
			return err
		}
	}
	m.value, m.slot = newest, 1-m.slot
	return nil
}

// newestTransaction reads the meta pages, as raft-boltdb does not say. They are written with pwrite, so a read sees them whole or the
// checksum says otherwise, and then the transaction in hand is another one's.
func (m *boltMark) newestTransaction() (uint64, error) {
	var newest uint64
	page := make([]byte, boltPageHeaderBytes+boltMetaBytes)
	for slot := range int64(2) {
		if _, err := m.data.ReadAt(page, slot*m.pageSize); err != nil {
			return 0, err
		}
		meta, reason := parseBoltMeta(page)
		if reason == "" {
			newest = max(newest, meta.transaction)
		}
	}
	return newest, nil
}

func (m *boltMark) close() error { return errors.Join(m.data.Close(), m.file.Close()) }
