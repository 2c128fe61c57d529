package shard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/houseful/houseful/shard/snapshot"
)

// A crash after a snapshot from the leader was installed and before the old log was removed: the log ends before the
// snapshot, and the next entry would leave a gap.
func TestLogBeforeInstalledSnapshotIsRemoved(t *testing.T) {
	storeFolder := t.TempDir()
	option, closeStore := onPebble(t, storeFolder)
	b := newBench(t, option)
	for i := range uint64(5) {
		b.must(command(commandAdd, i))
	}
	last, term := b.Status().LastIndex, b.Status().Term
	b.close()

	installed := &tallyMachine{}
	for i := range uint64(9) {
		installed.apply(commandAdd, 100+i)
	}
	snapshots, err := snapshot.Open(b.folder, snapshot.Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	voters := raft.Configuration{Servers: []raft.Server{{
		Suffrage: raft.Voter, ID: raft.ServerID(b.config.ReplicaID), Address: raft.ServerAddress(b.config.ReplicaID),
	}}}
	sink, err := snapshots.Create(1, last+20, term, voters, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := installed.Capture().WriteTo(sink); err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}

	b.open()
	if values := b.values(); len(values) != 9 || values[0] != 100 {
		t.Fatalf("after the start: %v", values)
	}
	if r := b.must(command(commandAdd, 7)); r.position != 10 {
		t.Fatalf("the next command: %+v", r)
	}
	b.reopen()
	if values := b.values(); len(values) != 10 || values[9] != 7 {
		t.Fatalf("after another start: %v", values)
	}
	b.close()
	closeStore()
}

// A snapshot that the machine took and that then proved rotten leaves a state nobody vouches for. An older one that
// cannot be read at all must not make that forgotten.
func TestTakenRottenSnapshotIsRemembered(t *testing.T) {
	storeFolder := t.TempDir()
	option, closeStore := onPebble(t, storeFolder)
	defer closeStore()
	b := newBench(t, option)
	for i := range uint64(10) {
		b.must(command(commandAdd, i))
	}
	if err := b.Snapshot(); err != nil {
		t.Fatal(err)
	}
	b.close()
	newest := b.snapshotFiles()[0]
	data, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}

	// Older by a millisecond, with a payload that fails its checksum.
	id := strings.TrimSuffix(filepath.Base(newest), ".snap")
	older := append([]byte(nil), data...)
	older[len(older)-60] ^= 1
	olderID := id[:len(id)-1] + string(id[len(id)-1]-1)
	if id[len(id)-1] == '0' {
		olderID = id[:strings.LastIndex(id, "-")+1] + "0000000000001"
	}
	write(t, filepath.Join(filepath.Dir(newest), olderID+".snap"), older)

	// The newest one has a trailer, sound by itself, that does not agree with the payload.
	const sumAt, crcAt, trailerBytes = 20, 28, 32
	trailer := data[len(data)-trailerBytes:]
	trailer[sumAt] ^= 1
	binary.BigEndian.PutUint32(trailer[crcAt:], crc32.Checksum(trailer[:crcAt], crc32.MakeTable(crc32.Castagnoli)))
	write(t, newest, data)

	// Not opened anew: opening the store would remove one of two snapshots that have the same index.
	machine := hastyMachine{&tallyMachine{}}
	if _, err := Open(b.config, Machine[tally](machine), b.stores); !errors.Is(err, ErrSnapshots) || len(machine.values) != 10 {
		t.Fatalf("opened with %d values: %v", len(machine.values), err)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// hastyMachine takes a snapshot without reading on to the verified end.
type hastyMachine struct{ *tallyMachine }

func (m hastyMachine) Restore(r io.Reader) error {
	head := make([]byte, 3*8)
	if _, err := io.ReadFull(r, head); err != nil {
		return err
	}
	body := make([]byte, binary.BigEndian.Uint64(head[8:])*16+binary.BigEndian.Uint64(head[16:])*8)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return m.tallyMachine.Restore(bytes.NewReader(append(head, body...)))
}
