package logstore

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/wal"

	"github.com/houseful/houseful/shard/logstore/storetest"
)

// tornBytes is a page, what the kernel writes back in any order.
const tornBytes = 4096

// tornWAL returns the image of a crashed store whose last record took many pages, the name of its newest WAL, and where that record began.
// The ledger covers what lies before it.
func tornWAL(t *testing.T) (files image, name string, last int) {
	t.Helper()
	dir := memoryDir(t)
	s, err := openPebbleStore(t, dir)
	must(t, err)
	defer s.Close()
	must(t, s.SetUint64([]byte("CurrentTerm"), 1))
	must(t, s.StoreLogs(storetest.Entries(1, 5, 1)))
	must(t, s.database.ledger.flush())
	entries, err := os.ReadDir(dir)
	must(t, err)
	wals, _ := survey(entries)
	name = wals[len(wals)-1].name
	before, err := os.Stat(filepath.Join(dir, name))
	must(t, err)
	ledger, err := os.ReadFile(filepath.Join(dir, ledgerName))
	must(t, err)
	logs := storetest.Entries(6, 1, 1)
	for i := range 70_000 {
		logs[0].Data = append(logs[0].Data, byte(i*31+1)|1)
	}
	must(t, s.StoreLogs(logs))
	files = readImage(t, dir)
	files[ledgerName] = ledger
	return files, name, int(before.Size())
}

// tearPages reads the pages behind from as zeros where lost says so; the page that from is in keeps what it had.
func tearPages(content []byte, from int, lost func(page int) bool) []byte {
	torn := bytes.Clone(content)
	for page := from / tornBytes; page*tornBytes < len(torn); page++ {
		if lost(page) {
			clear(torn[max(page*tornBytes, from):min((page+1)*tornBytes, len(torn))])
		}
	}
	return torn
}

// M-41: a power failure may leave any of the pages of a write whose fsync had not come back. The record was not acknowledged and is dropped.
func TestTornWriteIsDropped(t *testing.T) {
	files, name, last := tornWAL(t)
	content := files[name]
	number := walNumber(t, name)
	format := walFormat(number).mayBeTorn(int64(last))
	check := func(what string, torn []byte) {
		t.Helper()
		tail, err := scanChunks(name, torn, format)
		if err != nil || tail.closed || tail.end != int64(last) {
			t.Fatalf("%s: %+v, %v, want end %d", what, tail, err, last)
		}
	}
	first, pages := last/tornBytes, len(content)/tornBytes+1
	for only := first; only < pages; only++ {
		check("one page lost", tearPages(content, last, func(page int) bool { return page == only }))
		check("one page written", tearPages(content, last, func(page int) bool { return page != only }))
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		lost := random.Uint64N(1<<(pages-first)-1) + 1
		check("pages lost", tearPages(content, last, func(page int) bool { return lost>>(page-first)&1 == 1 }))
	}
}

// The store opens without the torn record, and again after that.
func TestTornWriteOpens(t *testing.T) {
	files, name, last := tornWAL(t)
	dir := filepath.Join(memoryDir(t), "torn")
	for _, only := range []int{last / tornBytes, last/tornBytes + 1, last/tornBytes + 9} {
		files.write(t, dir, name, tearPages(files[name], last, func(page int) bool { return page == only }))
		for range 2 {
			s, err := openPebbleStore(t, dir)
			must(t, err)
			must(t, expected{logs: storetest.Entries(1, 5, 1), term: 1}.holds(s))
			must(t, s.Close())
		}
	}
}

// What is known to have been fsynced is no torn write, whatever it reads as: by the ledger, or by what a later chunk says.
func TestSyncedZerosAreNotTorn(t *testing.T) {
	files, name, last := tornWAL(t)
	content := files[name]
	torn := tearPages(content, last, func(page int) bool { return page == last/tornBytes+2 })
	var damage *CorruptError
	if tail, err := scanChunks(name, torn, walFormat(walNumber(t, name)).mayBeTorn(int64(len(content)))); !errors.As(err, &damage) {
		t.Fatalf("below the mark of the ledger: %+v, %v", tail, err)
	}
	dir := filepath.Join(memoryDir(t), "rotten")
	files.write(t, dir, "", nil)
	s, err := openPebbleStore(t, dir)
	must(t, err)
	logs := storetest.Entries(7, 2, 1)
	logs[0].Data = bytes.Repeat([]byte{7}, 4*sectorBytes)
	must(t, s.StoreLogs(logs[:1]))
	must(t, s.StoreLogs(logs[1:]))
	newest := readImage(t, dir)
	must(t, s.Close())
	for file, content := range newest {
		if filepath.Ext(file) != ".log" || walNumber(t, file) <= walNumber(t, name) {
			continue
		}
		clear(content[:2*sectorBytes]) // of the first record, whose fsync the second one's chunk promises
		if tail, err := scanChunks(file, content, walFormat(walNumber(t, file)).mayBeTorn(0)); !errors.As(err, &damage) {
			t.Fatalf("promised by a later chunk: %+v, %v", tail, err)
		}
		return
	}
	t.Fatal("no newer WAL")
}

// A flipped bit leaves no empty sector, so it stays an error where a torn write would not be one.
func TestFlippedBitIsNotTorn(t *testing.T) {
	content, number, _ := newestWAL(t)
	format := walFormat(number).mayBeTorn(0)
	whole, err := scanChunks("wal", content, format)
	must(t, err)
	for at := range content {
		if at > 700 && at < len(content)-400 && at%blockBytes > 40 && at%997 != 0 {
			continue // payload of long records, by samples
		}
		for bit := range 8 {
			content[at] ^= 1 << bit
			if tail, err := scanChunks("wal", content, format); err == nil && (tail != whole || !pads(content, at)) {
				t.Fatalf("bit %d of byte %d of %d: %+v", bit, at, len(content), tail)
			}
			content[at] ^= 1 << bit
		}
	}
}

func walNumber(t *testing.T, name string) uint64 {
	t.Helper()
	number, _, ok := wal.ParseLogFilename(name)
	if !ok {
		t.Fatalf("%s is no WAL", name)
	}
	return uint64(number)
}
