package fsm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordVariable names the environment variable that makes TestRecordedRules write the files of a rules version that
// has none yet. Files that exist are never written again: clusters have logs and snapshots of that version, and a
// program that gives another digest for them would part their replicas. A change of any result, a fix included, is a
// new RulesVersion with files of its own, beside the old ones, once a release has gone out with the old one.
const recordVariable = "HOUSEFUL_RECORD_RULES"

// recording is what testdata keeps of a rules version.
type recording struct {
	entries  [][]byte
	snapshot []byte // of the state after the first half entries
	facts    string // the digests, as text
}

// facts states what replaying a log and restoring a snapshot must give.
func facts(t *testing.T, entries [][]byte, half int, snapshot []byte) string {
	t.Helper()
	m := New(3)
	results := sha256.New()
	var text strings.Builder
	for i, data := range entries {
		for _, result := range applyAndOverwrite(t, m, data) {
			results.Write(appendResult(nil, result))
		}
		if i+1 == half {
			fmt.Fprintf(&text, "half %d %x\n", half, mustAudit(t, m).Digest)
		}
	}
	fmt.Fprintf(&text, "log %d %x\nresults %x\n", len(entries), mustAudit(t, m).Digest, results.Sum(nil))
	fmt.Fprintf(&text, "snapshot %d %x\n", len(snapshot), mustAudit(t, restored(t, snapshot)).Digest)
	return text.String()
}

func files(version int) (log, snapshot, digest string) {
	name := filepath.Join("testdata", fmt.Sprint("rules-", version))
	return name + ".log", name + ".snapshot", name + ".digest"
}

// Each rules version's log gives the results and digests it gave when it was recorded, and a stored snapshot restores to
// its digest and goes on with the rest of the log.
func TestRecordedRules(t *testing.T) {
	if os.Getenv(recordVariable) != "" {
		record(t)
	}
	for version := 1; version <= RulesVersion; version++ {
		r := readRecording(t, version)
		half := 0
		if _, err := fmt.Sscanf(r.facts, "half %d", &half); err != nil {
			t.Fatal(err)
		}
		if got := facts(t, r.entries, half, r.snapshot); got != r.facts {
			t.Errorf("rules %d: a recorded log or snapshot gives another state:\ngot\n%swant\n%s", version, got, r.facts)
		}
		m := restored(t, r.snapshot)
		for _, data := range r.entries[half:] {
			applyAndOverwrite(t, m, data)
		}
		digest := mustAudit(t, m).Digest
		if !strings.Contains(r.facts, hex.EncodeToString(digest[:])) {
			t.Errorf("rules %d: the stored snapshot and the rest of the log give another state", version)
		}
	}
}

// The recorded log exercises every kind of command, and the snapshot has every kind of record.
func TestRecordingIsWhole(t *testing.T) {
	r := readRecording(t, RulesVersion)
	kinds := map[string]int{}
	for _, data := range r.entries {
		_, batch, err := DecodeEntry(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range batch {
			kinds[fmt.Sprintf("%T", c.Body)]++
		}
	}
	if len(kinds) != 15 {
		t.Errorf("%d kinds of command: %v", len(kinds), kinds)
	}
	m := restored(t, r.snapshot)
	s := m.Stats()
	if s.Shows < 4 || s.Pending == 0 || s.Claims == 0 || s.IdempotencyKeys == 0 || s.Answers == 0 || len(m.cancelling) == 0 ||
		m.endedUnpaid == 0 || s.Seats.Booked == 0 || s.Seats.Blocked == 0 {
		t.Errorf("the snapshot lacks something: %+v", s)
	}
}

func readRecording(t testing.TB, version int) recording {
	t.Helper()
	log, snapshot, digest := files(version)
	r := recording{snapshot: readFile(t, snapshot), facts: string(readFile(t, digest))}
	for data := readFile(t, log); len(data) > 0; {
		size, n := binary.Uvarint(data)
		if n <= 0 || uint64(len(data)-n) < size {
			t.Fatalf("%s is cut short", log)
		}
		r.entries = append(r.entries, data[n:n+int(size)])
		data = data[n+int(size):]
	}
	return r
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func record(t *testing.T) {
	t.Helper()
	half, snapshot := 0, []byte(nil)
	r := story(t, func(r *rig) { half, snapshot = len(r.log), snapshotOf(t, r.m) })
	var log bytes.Buffer
	for _, data := range r.log {
		log.Write(binary.AppendUvarint(nil, uint64(len(data))))
		log.Write(data)
	}
	logName, snapshotName, digestName := files(RulesVersion)
	for name, data := range map[string][]byte{
		logName: log.Bytes(), snapshotName: snapshot, digestName: []byte(facts(t, r.log, half, snapshot)),
	} {
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			t.Fatalf("a recording is made once: %v", err)
		}
		if _, err := file.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
