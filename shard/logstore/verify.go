package logstore

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

const (
	manifestPrefix = "MANIFEST-"
	manifestMarker = "manifest"
)

// walFile is one WAL file of the directory.
type walFile struct {
	name   string
	number uint64
}

// verifyFiles checks what Pebble would read as less than it is. Of a WAL, Pebble drops everything from the first mismatch on, unless a
// later chunk promises that it had been synced; of the MANIFEST always; and files that are missing it does not miss. Table files need
// no check here: they are never written twice, their size is in the MANIFEST and their blocks carry checksums.
func verifyFiles(dir string, l *ledger) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("logstore: %w", err)
	}
	wals, holdsData := survey(entries)
	if l.fresh {
		if holdsData {
			return corrupt(l.path, 0, "the file is missing, so it cannot be told whether the log is whole")
		}
		l.dirty = true
		return l.flush()
	}
	if err := verifyManifest(dir, l, holdsData); err != nil {
		return err
	}
	for _, name := range l.names() {
		isWAL := func(w walFile) bool { return w.name == name }
		if strings.HasSuffix(name, ".log") && !slices.ContainsFunc(wals, isWAL) {
			return lost(filepath.Join(dir, name), 0, "the file is missing, %d bytes of it were fsynced", l.mark(name))
		}
	}
	for i, file := range wals {
		if err := verifyWAL(filepath.Join(dir, file.name), file, i == len(wals)-1, l); err != nil {
			return err
		}
	}
	return nil
}

func lost(file string, offset int64, format string, args ...any) error {
	damage := corrupt(file, offset, format, args...)
	damage.Lost = true
	return damage
}

// survey returns the WAL files in order, and whether there are files that exist only after the first MANIFEST was in force.
func survey(entries []os.DirEntry) (wals []walFile, holdsData bool) {
	for _, entry := range entries {
		name := entry.Name()
		if number, _, ok := wal.ParseLogFilename(name); ok {
			wals = append(wals, walFile{name: name, number: uint64(number)})
			holdsData = true
		}
		if strings.HasSuffix(name, ".sst") {
			holdsData = true
		}
	}
	slices.SortFunc(wals, func(a, b walFile) int { return cmp.Compare(a.number, b.number) })
	return wals, holdsData
}

func verifyManifest(dir string, l *ledger, holdsData bool) error {
	current, err := atomicfs.ReadMarker(vfs.Default, dir, manifestMarker)
	if err != nil {
		return corrupt(dir, 0, "marker of the current MANIFEST: %v", err)
	}
	if current == "" {
		// Before the first MANIFEST is in force, a crash leaves nothing worth keeping.
		if holdsData || len(l.names()) > 0 {
			return lost(filepath.Join(dir, "marker.manifest"), 0, "the marker that names the current MANIFEST is missing")
		}
		return nil
	}
	path := filepath.Join(dir, current)
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return lost(path, 0, "the file is missing")
	}
	if err != nil {
		return fmt.Errorf("logstore: %w", err)
	}
	tail, err := scanChunks(path, content, manifestFormat())
	if err != nil {
		return err
	}
	return checkMark(path, tail, l.mark(current))
}

// checkMark holds what a file contains against what was once fsynced.
func checkMark(path string, tail fileTail, mark int64) error {
	if tail.intact < mark {
		return lost(path, tail.end, "whole records end here, %d bytes were fsynced", mark)
	}
	return nil
}

// verifyWAL checks one WAL file. A cut-off or torn end is only possible in the newest one, and is then tidied up: the record goes and
// the mark of a clean end comes, because this file will soon not be the newest and then has to be whole.
func verifyWAL(path string, file walFile, newest bool, l *ledger) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("logstore: %w", err)
	}
	format := walFormat(file.number)
	if newest {
		format = format.mayBeTorn(l.mark(file.name))
	}
	tail, err := scanChunks(path, content, format)
	if err != nil {
		return err
	}
	if err := checkMark(path, tail, l.mark(file.name)); err != nil {
		return err
	}
	if tail.closed {
		return nil
	}
	if !newest {
		return lost(path, tail.end, "the file ends here without the mark of its end, although newer ones follow")
	}
	return closeWAL(path, tail.end, file.number)
}

// closeWAL cuts path off at end, which is the end of a record, and writes the mark that Pebble ends a WAL with.
func closeWAL(path string, end int64, number uint64) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("logstore: %w", err)
	}
	var mark []byte
	if room := blockBytes - end%blockBytes; room < syncHeaderBytes {
		mark = make([]byte, room)
	}
	err = file.Truncate(end)
	if err == nil {
		_, err = file.WriteAt(append(mark, endOfWAL(number)...), end)
	}
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("logstore: drop the unfinished last record of %s: %w", path, err)
	}
	return nil
}
