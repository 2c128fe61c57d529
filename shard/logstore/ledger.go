package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/houseful/houseful/shard/folder"
)

// ledgerName is the file of high-water marks, beside Pebble's own.
const ledgerName = "HIGHWATER"

// The file: magic 4B | version 1B | count 4B | count × (size 8B, name length 2B, name) | crc32c 4B over all before it. Little endian.
const (
	ledgerMagic       = "HFHW"
	ledgerVersion     = 1
	ledgerHeaderBytes = 4 + 1 + 4
)

// ledger remembers how many bytes of each WAL and MANIFEST file are known to be fsynced. Pebble takes the end of such a file for the
// end of what was written, so a file cut at a record boundary, or one that is missing, opens without a word and with less in it. The
// ledger is soft: it lags by up to its interval and never runs ahead. Names leave it durably before their file is removed.
type ledger struct {
	path  string
	fatal func(error)

	// writing serialises writes of the file. Lock order: writing, then mu.
	writing sync.Mutex
	// mu guards the fields below.
	mu    sync.Mutex
	marks map[string]int64
	dirty bool
	fresh bool // there was no file

	stop chan struct{}
	done chan struct{}
}

func openLedger(dir string, fatal func(error)) (*ledger, error) {
	l := &ledger{path: filepath.Join(dir, ledgerName), fatal: fatal, marks: make(map[string]int64)}
	content, err := os.ReadFile(l.path)
	if errors.Is(err, os.ErrNotExist) {
		l.fresh = true
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("logstore: read high-water marks: %w", err)
	}
	return l, l.decode(content)
}

// start begins to write the file every interval, when it changed.
func (l *ledger) start(interval time.Duration, logger *slog.Logger) {
	l.stop, l.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(l.done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-l.stop:
				return
			case <-ticker.C:
			}
			if err := l.flush(); err != nil {
				logger.Warn("log store: high-water marks not written, will try again", "error", err)
			}
		}
	}()
}

// close ends the writer and writes the file a last time.
func (l *ledger) close() error {
	close(l.stop)
	<-l.done
	return l.flush()
}

// synced notes that the first size bytes of name are on the disk.
func (l *ledger) synced(name string, size int64) {
	if !ledgered(name) {
		return
	}
	l.mu.Lock()
	if size > l.marks[name] {
		l.marks[name] = size
		l.dirty = true
	}
	l.mu.Unlock()
}

// drop forgets name durably, before its file is removed.
func (l *ledger) drop(name string) error {
	l.mu.Lock()
	_, known := l.marks[name]
	if known {
		delete(l.marks, name)
		l.dirty = true
	}
	l.mu.Unlock()
	if !known {
		return nil
	}
	return l.flush()
}

func (l *ledger) mark(name string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.marks[name]
}

func (l *ledger) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.marks))
}

func ledgered(name string) bool {
	return strings.HasSuffix(name, ".log") || strings.HasPrefix(name, manifestPrefix)
}

// flush writes the file if something changed since the last time.
func (l *ledger) flush() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	if !l.dirty {
		l.mu.Unlock()
		return nil
	}
	content := l.encodeLocked()
	l.dirty = false
	l.mu.Unlock()
	err := writeFileDurably(l.path, content, l.fatal)
	if err != nil {
		l.mu.Lock()
		l.dirty = true
		l.mu.Unlock()
	}
	return err
}

func (l *ledger) encodeLocked() []byte {
	content := append([]byte(ledgerMagic), ledgerVersion)
	content = binary.LittleEndian.AppendUint32(content, uint32(len(l.marks)))
	for _, name := range slices.Sorted(maps.Keys(l.marks)) {
		content = binary.LittleEndian.AppendUint64(content, uint64(l.marks[name]))
		content = binary.LittleEndian.AppendUint16(content, uint16(len(name)))
		content = append(content, name...)
	}
	return binary.LittleEndian.AppendUint32(content, crc32.Checksum(content, castagnoli()))
}

func (l *ledger) decode(content []byte) error {
	bad := func(reason string) error { return corrupt(l.path, 0, "%s", reason) }
	if len(content) < ledgerHeaderBytes+4 || string(content[:4]) != ledgerMagic {
		return bad("not a file of high-water marks")
	}
	body, sum := content[:len(content)-4], binary.LittleEndian.Uint32(content[len(content)-4:])
	if crc32.Checksum(body, castagnoli()) != sum {
		return bad("checksum mismatch")
	}
	if body[4] != ledgerVersion {
		return bad(fmt.Sprintf("format version %d, this program knows %d", body[4], ledgerVersion))
	}
	count := binary.LittleEndian.Uint32(body[5:])
	for rest := body[ledgerHeaderBytes:]; count > 0; count-- {
		if len(rest) < 10 || len(rest) < 10+int(binary.LittleEndian.Uint16(rest[8:])) {
			return bad("ends inside a mark")
		}
		end := 10 + int(binary.LittleEndian.Uint16(rest[8:]))
		l.marks[string(rest[10:end])] = int64(binary.LittleEndian.Uint64(rest))
		rest = rest[end:]
	}
	return nil
}

// writeFileDurably replaces path: temporary file, fsync, rename, fsync of the directory. A failed fsync is fatal.
func writeFileDurably(path string, content []byte, fatal func(error)) error {
	temporary := path + ".tmp"
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Sync(); err != nil {
		fatal(fmt.Errorf("fsync of %s: %w", temporary, err))
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	if err := folder.Sync(filepath.Dir(path)); err != nil {
		fatal(err)
		return err
	}
	return nil
}
