package logstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/houseful/houseful/shard/logstore/storetest"
)

// boltImage makes the files of a store whose log takes branch pages and an overflow page.
func boltImage(t *testing.T) (image, expected) {
	t.Helper()
	dir := memoryDir(t)
	s, err := openBoltTest(t, dir)
	must(t, err)
	want := fill(t, s, func() {})
	more := storetest.Entries(18, 60, 3)
	more[7].Data = append(more[7].Data, make([]byte, 9000)...)
	must(t, s.StoreLogs(more))
	want.logs = append(want.logs, more...)
	last := storetest.Entries(78, 1, 3)
	must(t, s.StoreLogs(last))
	want.logs = append(want.logs, last...)
	files := readImage(t, dir)
	must(t, s.Close())
	return files, want
}

// M-41: damage at every page of the meta group's file, and of its mark, is an error naming file and offset, or has no effect. The last
// acknowledged entry included, which bbolt alone loses to one flipped bit.
func TestBoltDamage(t *testing.T) {
	files, want := boltImage(t)
	random := newRandom(t)
	dir := filepath.Join(memoryDir(t), "store")
	open := func() (storetest.Store, error) { return openBoltTest(t, dir) }
	opened := 0
	for name, content := range files {
		for _, d := range boltDamages(content, random) {
			files.write(t, dir, name, d.content)
			if err := want.verdict(dir, open); err != nil {
				t.Errorf("%s, %s (%d bytes): %v", name, d.what, len(content), err)
			}
			opened++
		}
	}
	t.Logf("%d damaged stores opened", opened)
}

// boltDamages adds the headers of every page to the sample that damages takes.
func boltDamages(content []byte, random *rand.Rand) []damage {
	const perFile, page, header = 120, 4096, 32
	all := damages(content, perFile, random)
	for start := 0; start < len(content); start += page {
		for at := start; at < min(start+header, len(content)); at++ {
			flipped := append([]byte(nil), content...)
			flipped[at] ^= 1 << random.IntN(8)
			all = append(all, damage{what: "bit flipped in the head of a page", content: flipped})
		}
	}
	return all
}

// The measured trap: the newest meta page is damaged, or is the one of an earlier transaction, with a sound checksum.
func TestBoltStaleMetaPage(t *testing.T) {
	dir := memoryDir(t)
	path := filepath.Join(dir, "raft.db")
	s, err := openBoltTest(t, dir)
	must(t, err)
	must(t, s.StoreLogs(storetest.Entries(1, 3, 1)))
	before, err := os.ReadFile(path)
	must(t, err)
	must(t, s.StoreLogs(storetest.Entries(4, 2, 1)))
	must(t, s.Close())
	after, err := os.ReadFile(path)
	must(t, err)
	meta, reason := parseBoltMeta(after)
	if reason != "" {
		t.Fatal(reason)
	}
	pages := 0
	for page := range int64(2) {
		stale := append([]byte(nil), after...)
		at := page * meta.pageSize
		copy(stale[at:at+meta.pageSize], before[at:at+meta.pageSize])
		if bytes.Equal(stale, after) {
			continue // not written since
		}
		pages++
		must(t, os.WriteFile(path, stale, 0o644))
		if _, err := openBoltTest(t, dir); !errors.Is(err, ErrLost) {
			t.Fatalf("stale meta page %d: %v", page, err)
		}
	}
	if pages == 0 {
		t.Fatal("no meta page was written")
	}
	must(t, os.WriteFile(path, before, 0o644))
	if _, err := openBoltTest(t, dir); !errors.Is(err, ErrLost) {
		t.Fatalf("the whole file as it was earlier: %v", err)
	}
}

// A crash between the transaction and its mark leaves the file ahead of the mark: no alarm, and the entry, which nobody was told of, may
// stay.
func TestBoltCrashBeforeMark(t *testing.T) {
	dir := memoryDir(t)
	s, err := openBoltTest(t, dir)
	must(t, err)
	must(t, s.StoreLogs(storetest.Entries(1, 3, 1)))
	mark, err := os.ReadFile(boltMarkPath(filepath.Join(dir, "raft.db")))
	must(t, err)
	must(t, s.StoreLogs(storetest.Entries(4, 1, 1)))
	must(t, s.Close())
	must(t, os.WriteFile(boltMarkPath(filepath.Join(dir, "raft.db")), mark, 0o644))
	s, err = openBoltTest(t, dir)
	must(t, err)
	defer s.Close()
	must(t, storetest.Holds(s, storetest.Entries(1, 4, 1)))
}

// The mark is never behind an acknowledged write, and never ahead of the file.
func TestBoltMarkOrder(t *testing.T) {
	dir := memoryDir(t)
	path := filepath.Join(dir, "raft.db")
	s, err := openBoltTest(t, dir)
	must(t, err)
	defer s.Close()
	for i := uint64(1); i <= 20; i++ {
		must(t, s.StoreLogs(storetest.Entries(i, 1, 1)))
		content, err := os.ReadFile(boltMarkPath(path))
		must(t, err)
		var mark uint64
		for slot := 0; slot+boltMarkBytes <= len(content); slot += boltMarkSlotBytes {
			mark = max(mark, binary.LittleEndian.Uint64(content[slot+8:]))
		}
		contents, err := verifyBolt(path)
		must(t, err)
		if mark != contents.transaction {
			t.Fatalf("after a write the mark is %d, the file at %d", mark, contents.transaction)
		}
	}
}

// A first start that a crash cut off at any step is gone through again.
func TestBoltInterruptedCreation(t *testing.T) {
	dir := memoryDir(t)
	path := filepath.Join(dir, "raft.db")
	must(t, os.WriteFile(path+".new", []byte("half a file"), 0o644))
	must(t, createBolt(path, testFatal(t)))
	must(t, os.WriteFile(boltMarkPath(path), nil, 0o644)) // created, nothing in it yet
	s, err := openBoltTest(t, dir)
	must(t, err)
	must(t, s.StoreLogs(storetest.Entries(1, 3, 1)))
	if _, err := openBoltTest(t, dir); !errors.Is(err, ErrInUse) {
		t.Fatalf("second opening: %v", err)
	}
	must(t, s.Close())
}
