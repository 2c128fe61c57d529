package snapshot

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

func openStore(t testing.TB, folder string) *Store {
	t.Helper()
	s, err := Open(folder, Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var configuration = raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: "one", Address: "one"}}}

// take writes a snapshot and gives its file.
func take(t *testing.T, s *Store, index uint64, payload []byte) string {
	t.Helper()
	sink, err := s.Create(1, index, 7, configuration, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range chunks(payload) {
		if _, err := sink.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal("closed again:", err)
	}
	return filepath.Join(s.folder, sink.ID()+suffixSnapshot)
}

// chunks cuts a payload at lengths that do not match frames.
func chunks(payload []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for n := 1; len(payload) > 0; n = n*3 + 1 {
			n = min(n, len(payload))
			if !yield(payload[:n]) {
				return
			}
			payload = payload[n:]
		}
	}
}

func payloadOf(length int) []byte {
	payload := make([]byte, length)
	for i := range payload {
		payload[i] = byte(i*7 + i>>8)
	}
	return payload
}

// read gives what a snapshot yields before it ends or is found rotten.
func read(s *Store, id string) ([]byte, error) {
	_, r, err := s.Open(id)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

func idOf(path string) string { return strings.TrimSuffix(filepath.Base(path), suffixSnapshot) }

func TestWriteAndRead(t *testing.T) {
	for _, length := range []int{0, 1, frameBytesMax - 1, frameBytesMax, frameBytesMax + 1, 3*frameBytesMax + 5} {
		s := openStore(t, t.TempDir())
		payload := payloadOf(length)
		path := take(t, s, 42, payload)
		metas, err := s.List()
		if err != nil || len(metas) != 1 {
			t.Fatal(metas, err)
		}
		m := metas[0]
		if m.Index != 42 || m.Term != 7 || m.ConfigurationIndex != 3 || m.Version != 1 || m.Size != int64(length) ||
			len(m.Configuration.Servers) != 1 || m.Configuration.Servers[0] != configuration.Servers[0] {
			t.Fatalf("read back %+v", m)
		}
		if got, err := read(s, idOf(path)); err != nil || !bytes.Equal(got, payload) {
			t.Fatalf("%d bytes: read back %d, %v", length, len(got), err)
		}
	}
}

func TestKeepsTheNewestTwo(t *testing.T) {
	folder := t.TempDir()
	s := openStore(t, folder)
	if s.KeepFrom() != 1 || s.Newest() != 0 {
		t.Fatal("an empty store")
	}
	for i, want := range []uint64{1, 11, 21, 31} {
		take(t, s, uint64(i+1)*10, payloadOf(100))
		for _, s := range []*Store{s, openStore(t, folder)} {
			if s.KeepFrom() != want || s.Newest() != uint64(i+1)*10 {
				t.Fatalf("after %d: keep from %d, newest %d", i+1, s.KeepFrom(), s.Newest())
			}
		}
	}
	take(t, s, 40, payloadOf(100)) // the same index again is no older one
	if s.KeepFrom() != 31 {
		t.Fatalf("keep from %d", s.KeepFrom())
	}
	metas, err := s.List()
	if err != nil || len(metas) != 2 || metas[0].Index != 40 || metas[1].Index != 30 {
		t.Fatal(metas, err)
	}
}

func TestCancelAndCrashLeaveNothing(t *testing.T) {
	folder := t.TempDir()
	s := openStore(t, folder)
	for _, end := range []func(raft.SnapshotSink) error{raft.SnapshotSink.Cancel, func(raft.SnapshotSink) error { return nil }} {
		sink, err := s.Create(1, 5, 1, configuration, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sink.Write(payloadOf(2 * frameBytesMax)); err != nil {
			t.Fatal(err)
		}
		if err := end(sink); err != nil {
			t.Fatal(err)
		}
		if metas, err := s.List(); err != nil || len(metas) != 0 {
			t.Fatal(metas, err)
		}
		if err := sink.(*Sink).file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Fatal(err)
		}
	}
	openStore(t, folder) // after the crash
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
		t.Fatal("left over:", entries, err)
	}
}

func TestClosedSinkRefuses(t *testing.T) {
	s := openStore(t, t.TempDir())
	sink, err := s.Create(1, 5, 1, configuration, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Cancel(); err != nil {
		t.Fatal(err)
	}
	if _, err := sink.Write([]byte("x")); !errors.Is(err, ErrSinkClosed) {
		t.Fatal(err)
	}
	if err := errors.Join(sink.Cancel(), sink.Close()); err != nil {
		t.Fatal(err)
	}
	if metas, err := s.List(); err != nil || len(metas) != 0 {
		t.Fatal("a cancelled snapshot is listed", metas, err)
	}
}

func TestForeignFilesAndIDs(t *testing.T) {
	folder := t.TempDir()
	s := openStore(t, folder)
	take(t, s, 10, payloadOf(10))
	for _, name := range []string{"notes.txt", "1-2-3.snap", "x.snap", "lost+found"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = openStore(t, folder)
	if metas, err := s.List(); err != nil || len(metas) != 1 {
		t.Fatal(metas, err)
	}
	for _, id := range []string{"", "../x", "1-2-3", name{index: 1}.id()} {
		if _, _, err := s.Open(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// A rotten file does not hide an older good one, is named, and goes once newer snapshots push it out.
func TestQuarantine(t *testing.T) {
	folder := t.TempDir()
	s := openStore(t, folder)
	take(t, s, 10, payloadOf(10))
	rotten := take(t, s, 20, payloadOf(10))
	if err := os.Truncate(rotten, 30); err != nil {
		t.Fatal(err)
	}
	metas, err := s.List()
	if err != nil || len(metas) != 1 || metas[0].Index != 10 || s.Newest() != 20 {
		t.Fatal(metas, err)
	}
	damaged, err := s.Damaged()
	if err != nil || len(damaged) != 1 || !strings.Contains(damaged[0], rotten) {
		t.Fatal(damaged, err)
	}
	if err := s.QuarantineDamaged(metas[0].ID); err != nil {
		t.Fatal(err)
	}
	if s.Newest() != 10 || s.KeepFrom() != 1 {
		t.Fatalf("newest %d, keep from %d", s.Newest(), s.KeepFrom())
	}
	for i := range uint64(2) {
		take(t, s, 30+i, payloadOf(10))
	}
	if damaged, err := s.Damaged(); err != nil || len(damaged) != 0 {
		t.Fatal("still there:", damaged, err)
	}
	if err := s.Quarantine("nonsense"); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}
