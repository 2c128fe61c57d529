package meta

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/houseful/houseful/fsm/wire"
)

// goldenEnv writes the log and digest of the newest feature version anew, instead of checking it. A change of either
// is a new feature version: the files of older ones never change.
const goldenEnv = "HOUSEFUL_WRITE_GOLDEN"

// goldenLog is a log that meets every command and every code but the limits.
func goldenLog(t *testing.T) [][]byte {
	f := &fixture{t: t, m: New(), at: testStart}
	var log [][]byte
	put := func(bodies ...any) {
		var commands []*wire.MetaCommand
		for _, body := range bodies {
			commands = append(commands, f.command(body))
		}
		log = append(log, encodeEntry(t, f.at, commands...))
		f.at += 700
	}
	rated := movie("M2", "Arrival")
	rated.RatingHundredths = new(uint32)
	*rated.RatingHundredths = 790
	put(city("EARLY"))
	put(testBirth(8), testBirth(8), testBirth(2))
	put(city("BLR"), city("MYS"), movie("M1", "Dune"), rated)
	put(theatre("T1", "BLR"), theatre("T2", "NOWHERE"), screen("S1", "T1"), screen("S2", "NOWHERE"))
	put(&wire.Node{Id: "n1", DataUuid: "u1", Zone: "b", HttpAddress: "127.0.0.1:9090"}, &wire.Node{Id: "n2", DataUuid: "u2"})
	for i := range 40 {
		e := entry(fmt.Sprint("show-", i), uint64(i%3)+1)
		e.LocalDate += uint32(i % 5)
		e.StartsAtMs += int64(i) * 1000
		put(e, city(""))
	}
	put(entry("show-1", 1), entry("show-1", 9), &wire.RemoveShowEntry{ShowId: "show-2", Revision: 3}, &wire.RaiseFeature{Version: 1})
	again := f.command(theatre("T1", "MYS"))
	log = append(log, encodeEntry(t, f.at, again, again))
	f.at += 9000
	log = append(log, encodeEntry(t, f.at, again), encodeEntry(t, f.at-5000, f.command(movie("M1", "Dune: Part Two"))))
	return log
}

// The same log gives the same digest for ever, under every feature version.
func TestGoldenLogs(t *testing.T) {
	name := filepath.Join("testdata", fmt.Sprintf("feature-%d", FeatureVersion))
	if os.Getenv(goldenEnv) != "" {
		writeGolden(t, name)
	}
	logs, err := filepath.Glob(filepath.Join("testdata", "feature-*.log"))
	if err != nil || len(logs) != FeatureVersion {
		t.Fatalf("%d golden logs for %d feature versions, %v", len(logs), FeatureVersion, err)
	}
	for _, log := range logs {
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(log, ".log") + ".sha256")
		if err != nil {
			t.Fatal(err)
		}
		if got := replay(t, data); got != strings.TrimSpace(string(want)) {
			t.Errorf("%s: digest %s, want %s", log, got, want)
		}
	}
}

func writeGolden(t *testing.T, name string) {
	t.Helper()
	var data []byte
	for _, entry := range goldenLog(t) {
		data = append(binary.AppendUvarint(data, uint64(len(entry))), entry...)
	}
	for path, content := range map[string][]byte{name + ".log": data, name + ".sha256": []byte(replay(t, data) + "\n")} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// replay applies a log of entries, each after its length, with a snapshot and restore in the middle.
func replay(t *testing.T, data []byte) string {
	t.Helper()
	m := New()
	in := bytes.NewReader(data)
	for entries := 0; in.Len() > 0; entries++ {
		size, err := binary.ReadUvarint(in)
		if err != nil || size > uint64(in.Len()) {
			t.Fatalf("entry %d: %d bytes, %v", entries, size, err)
		}
		entry := make([]byte, size)
		if _, err := in.Read(entry); err != nil {
			t.Fatal(err)
		}
		if _, err := m.ApplyEntry(entry); err != nil {
			t.Fatalf("entry %d: %v", entries, err)
		}
		if entries%20 == 10 {
			m = mustRestore(t, snapshotOf(t, m))
		}
	}
	if report := m.Audit(); !report.OK {
		t.Errorf("audit: %q", report.Problems)
	}
	digest := m.Capture().Digest()
	return hex.EncodeToString(digest[:])
}
