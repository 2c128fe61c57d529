package logstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/houseful/houseful/shard/logstore/storetest"
)

// newestWAL returns the WAL of a store that was not closed, with records of one and of several chunks, and the offsets at which records
// end.
func newestWAL(t *testing.T) (content []byte, number uint64, ends []int64) {
	t.Helper()
	dir := memoryDir(t)
	s, err := openPebbleStore(t, dir)
	must(t, err)
	defer s.Close()
	next := uint64(1)
	for _, size := range []int{10, 300, 40_000, 5, 32_700, 20_000, 120} {
		logs := storetest.Entries(next, 1, 1)
		for i := range size {
			logs[0].Data = append(logs[0].Data, byte(i*31+size))
		}
		must(t, s.StoreLogs(logs))
		next++
		entries, err := os.ReadDir(dir)
		must(t, err)
		wals, _ := survey(entries)
		newest := wals[len(wals)-1]
		content, err = os.ReadFile(filepath.Join(dir, newest.name))
		must(t, err)
		number = newest.number
		ends = append(ends, int64(len(content)))
	}
	return content, number, ends
}

// M-41: every single bit of a WAL, that of the last record too, which Pebble alone takes for the end of the log.
func TestScanChunksFindsEveryFlippedBit(t *testing.T) {
	content, number, ends := newestWAL(t)
	whole, err := scanChunks("wal", content, walFormat(number))
	if err != nil || whole.end != ends[len(ends)-1] || whole.closed {
		t.Fatalf("sound file: %+v, %v", whole, err)
	}
	flipped := append([]byte(nil), content...)
	for at := range content {
		if at > 700 && at < len(content)-400 && at%blockBytes > 40 && at%997 != 0 {
			continue // payload of long records, by samples
		}
		for bit := range 8 {
			flipped[at] ^= 1 << bit
			tail, err := scanChunks("wal", flipped, walFormat(number))
			var damage *CorruptError
			if err == nil && tail == whole && !pads(content, at) || err == nil && tail != whole || err != nil && !errors.As(err, &damage) {
				t.Fatalf("bit %d of byte %d of %d: %+v, %v", bit, at, len(content), tail, err)
			}
			flipped[at] ^= 1 << bit
		}
	}
}

// pads reports whether a byte is in the zeros that fill a block, where it means nothing.
func pads(content []byte, at int) bool {
	end := min(at-at%blockBytes+blockBytes, len(content))
	return end-at < syncHeaderBytes && allZero(content[at:end])
}

// A WAL cut anywhere ends with the last record that is whole, and so does one whose rest reads as zeros.
func TestScanChunksDropsShortRecord(t *testing.T) {
	content, number, ends := newestWAL(t)
	check := func(cut int, damaged []byte) {
		t.Helper()
		var want int64
		for _, end := range ends {
			if end <= int64(cut) {
				want = end
			}
		}
		tail, err := scanChunks("wal", damaged, walFormat(number))
		if err != nil || tail.closed || tail.end != want {
			t.Fatalf("cut to %d: %+v, %v, want end %d", cut, tail, err, want)
		}
	}
	for cut := range content {
		if cut > 700 && cut < len(content)-400 && cut%blockBytes > 40 && cut%997 != 0 {
			continue
		}
		check(cut, content[:cut])
		zeroed := append([]byte(nil), content...)
		clear(zeroed[cut:])
		if cut == 0 || content[cut-1] != 0 {
			check(cut, zeroed)
		}
	}
}

// What closeWAL makes of an unclean end is a clean one for Pebble too, at every place in a block.
func TestCloseWAL(t *testing.T) {
	content, number, ends := newestWAL(t)
	for _, end := range ends {
		path := filepath.Join(memoryDir(t), "000042.log")
		must(t, os.WriteFile(path, content[:end], 0o644))
		must(t, closeWAL(path, end, number))
		closed, err := os.ReadFile(path)
		must(t, err)
		tail, err := scanChunks(path, closed, walFormat(number))
		if err != nil || !tail.closed || tail.end != int64(len(closed)) {
			t.Fatalf("end %d: %+v, %v", end, tail, err)
		}
		closed[len(closed)-1] ^= 1
		if tail, err := scanChunks(path, closed, walFormat(number)); err == nil && tail.closed {
			t.Fatalf("a damaged mark of the end passed: %+v", tail)
		}
	}
}

// The text of an error has what an operator needs.
func TestCorruptErrorText(t *testing.T) {
	content, number, ends := newestWAL(t)
	content[ends[1]-3] ^= 4
	_, err := scanChunks("/data/000004.log", content, walFormat(number))
	if err == nil || !strings.Contains(err.Error(), "/data/000004.log") || !strings.Contains(err.Error(), "offset") {
		t.Fatalf("got %v", err)
	}
	var damage *CorruptError
	if !errors.As(err, &damage) || damage.Offset != ends[0] {
		t.Fatalf("got %+v, want the record at %d", damage, ends[0])
	}
}
