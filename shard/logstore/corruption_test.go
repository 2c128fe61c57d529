package logstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/houseful/houseful/shard/logstore/storetest"
)

// openLimit bounds one opening of a damaged store.
const openLimit = 30 * time.Second

// memoryDir is a directory in memory where the system has one: these tests open stores thousands of times, and fsync is not their matter.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "logstore")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// image is the files of a store, in memory.
type image map[string][]byte

func readImage(t *testing.T, dir string) image {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	files := make(image)
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		must(t, err)
		files[entry.Name()] = content
	}
	return files
}

// write puts the files into an emptied dir, with name's content replaced; nil leaves name out.
func (files image) write(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	must(t, os.RemoveAll(dir))
	must(t, os.MkdirAll(dir, 0o755))
	for other, whole := range files {
		if other == name {
			whole = content
			if content == nil {
				continue
			}
		}
		must(t, os.WriteFile(filepath.Join(dir, other), whole, 0o644))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// damage is one way to spoil a file.
type damage struct {
	what    string
	content []byte
}

// damages spoils content in about count places per kind, the first and last bytes all of them: flipped bits, cuts, and no file at all.
func damages(content []byte, count int, random *rand.Rand) []damage {
	const edge = 24
	all := []damage{{what: "missing"}}
	stride := max(len(content)/count, 1)
	for at := range content {
		if at >= edge && at < len(content)-edge && at%stride != 0 {
			continue
		}
		if at >= edge && at < len(content)-edge {
			at += random.IntN(stride)
			at = min(at, len(content)-1)
		}
		bit := random.IntN(8)
		flipped := append([]byte(nil), content...)
		flipped[at] ^= 1 << bit
		all = append(all, damage{what: fmt.Sprintf("bit %d of byte %d flipped", bit, at), content: flipped},
			damage{what: fmt.Sprintf("cut to %d bytes", at), content: append([]byte{}, content[:at]...)})
	}
	return all
}

// expected is what a store may hold after damage.
type expected struct {
	logs []*raft.Log
	term uint64
	// short is the number of entries that the last record added and that may be missing, 0 for none.
	short int
}

// verdict opens the damaged store and judges: an error that names a file of the store, or the contents.
func (want expected) verdict(dir string, open func() (storetest.Store, error)) error {
	type result struct {
		store storetest.Store
		err   error
	}
	opened := make(chan result, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				opened <- result{err: fmt.Errorf("panic: %v", r)}
			}
		}()
		store, err := open()
		opened <- result{store, err}
	}()
	var got result
	select {
	case got = <-opened:
	case <-time.After(openLimit):
		return errors.New("opening hangs")
	}
	if got.err != nil {
		var corrupt *CorruptError
		if !errors.As(got.err, &corrupt) || !errors.Is(got.err, ErrCorrupt) || filepath.Dir(corrupt.File) != dir {
			return fmt.Errorf("error does not name the file: %w", got.err)
		}
		return nil
	}
	err := want.holds(got.store)
	return errors.Join(err, got.store.Close())
}

func (want expected) holds(s storetest.Store) error {
	err := storetest.Holds(s, want.logs)
	if err != nil && want.short > 0 {
		err = storetest.Holds(s, want.logs[:len(want.logs)-want.short])
	}
	if err != nil {
		return err
	}
	term, err := s.GetUint64([]byte("CurrentTerm"))
	if err != nil || term != want.term {
		return fmt.Errorf("term is %d, want %d: %w", term, want.term, err)
	}
	return nil
}

// fill writes a log with some history: entries, terms, a suffix cut and replaced, a prefix compacted. Its last record adds three entries.
func fill(t *testing.T, s storetest.Store, between func()) expected {
	t.Helper()
	must(t, s.SetUint64([]byte("CurrentTerm"), 1))
	logs := storetest.Entries(1, 12, 1)
	for _, log := range logs {
		must(t, s.StoreLog(log))
	}
	between()
	must(t, s.DeleteRange(9, 12))
	must(t, s.SetUint64([]byte("CurrentTerm"), 2))
	logs = append(logs[:8], storetest.Entries(9, 6, 2)...)
	must(t, s.StoreLogs(logs[8:]))
	between()
	must(t, s.DeleteRange(1, 2))
	must(t, s.SetUint64([]byte("CurrentTerm"), 3))
	between()
	last := storetest.Entries(15, 3, 3)
	must(t, s.StoreLogs(last))
	return expected{logs: append(logs[2:], last...), term: 3}
}

// pebbleImages makes the files of a store in three states.
func pebbleImages(t *testing.T) (crashed, marked, closed image, want expected) {
	t.Helper()
	dir := memoryDir(t)
	s, err := openPebbleStore(t, dir)
	must(t, err)
	steps := 0
	want = fill(t, s, func() {
		// Two tables, then some WAL. The marks are those of the moment before the last record.
		if steps++; steps <= 2 {
			must(t, s.database.db.Flush())
		} else {
			must(t, s.database.ledger.flush())
		}
	})
	crashed = readImage(t, dir)
	must(t, s.database.ledger.flush())
	marked = readImage(t, dir)
	must(t, s.Close())
	return crashed, marked, readImage(t, dir), want
}

// M-41: damage at every file of the shared log is an error naming file and offset, or has no effect; a short last record is dropped, and
// only where nothing says that it had been fsynced.
func TestPebbleDamage(t *testing.T) {
	random := newRandom(t)
	crashed, marked, closed, want := pebbleImages(t)
	maybeShort := want
	maybeShort.short = 3
	cases := []struct {
		name  string
		files image
		want  expected
	}{{"crashed", crashed, maybeShort}, {"marked", marked, want}, {"closed", closed, want}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { damageEverywhere(t, c.files, c.want, random) })
	}
}

func damageEverywhere(t *testing.T, files image, want expected, random *rand.Rand) {
	const perFile = 30
	dir := filepath.Join(memoryDir(t), "store")
	open := func() (storetest.Store, error) { return openPebbleStore(t, dir) }
	opened := 0
	for name, content := range files {
		if name == "LOCK" {
			continue
		}
		for _, d := range damages(content, perFile, random) {
			// Nothing but a cut of the newest WAL may cost the last record, and a flipped bit never.
			allowed := want
			if !strings.HasPrefix(d.what, "cut") || !strings.HasSuffix(name, ".log") {
				allowed.short = 0
			}
			files.write(t, dir, name, d.content)
			if err := allowed.verdict(dir, open); err != nil {
				t.Errorf("%s, %s (%d bytes): %v", name, d.what, len(content), err)
			}
			opened++
		}
	}
	t.Logf("%d damaged stores opened", opened)
}

func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *storeSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (repeat with -store.seed=%d)", seed, seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// Only the newest WAL may end with a short record. It is tidied up on opening, so that it passes once a newer one is there: a crash
// while opening leaves both.
func TestVerifyOlderWAL(t *testing.T) {
	crashed, _, _, _ := pebbleImages(t)
	dir := filepath.Join(memoryDir(t), "store")
	entries := func() []walFile {
		t.Helper()
		found, err := os.ReadDir(dir)
		must(t, err)
		wals, _ := survey(found)
		return wals
	}
	verify := func() error {
		t.Helper()
		l, err := openLedger(dir, testFatal(t))
		must(t, err)
		return verifyFiles(dir, l)
	}
	crashed.write(t, dir, "", nil)
	older := entries()[len(entries())-1]
	path := filepath.Join(dir, older.name)
	content := crashed[older.name]
	must(t, os.WriteFile(path, content[:len(content)-5], 0o644))
	must(t, verify())
	must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d.log", older.number+5)), nil, 0o644))
	must(t, verify())
	must(t, os.WriteFile(path, content[:len(content)-5], 0o644))
	if err := verify(); !errors.Is(err, ErrLost) {
		t.Fatalf("an older WAL with a short end: %v", err)
	}
}

func TestTooLarge(t *testing.T) {
	s, err := openPebbleStore(t, memoryDir(t))
	must(t, err)
	defer s.Close()
	calls := map[string]error{
		"entry": s.StoreLog(&raft.Log{Index: 1, Data: make([]byte, entryMaxBytes+1)}),
		"key":   s.Set(make([]byte, stableKeyMaxBytes+1), nil),
		"value": s.Set([]byte("k"), make([]byte, stableValueMaxBytes+1)),
	}
	for name, err := range calls {
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, s.StoreLog(&raft.Log{Index: 1, Data: make([]byte, entryMaxBytes)}))
}
