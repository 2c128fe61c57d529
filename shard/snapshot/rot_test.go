package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// mustBeRotten reads a file with other bytes in it: a prefix of the payload at most, then an error naming the file.
func mustBeRotten(t *testing.T, s *Store, path string, data, payload []byte, what string) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := read(s, idOf(path))
	if !errors.Is(err, ErrRotten) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "offset") {
		t.Fatalf("%s: %v", what, err)
	}
	if !bytes.HasPrefix(payload, got) {
		t.Fatalf("%s: bytes that were never written were handed out", what)
	}
	if _, err := s.List(); err != nil {
		t.Fatalf("%s: list: %v", what, err)
	}
}

func written(t *testing.T, length int) (s *Store, path string, data, payload []byte) {
	t.Helper()
	s = openStore(t, t.TempDir())
	payload = payloadOf(length)
	path = take(t, s, 42, payload)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return s, path, data, payload
}

// Every bit of every byte of a small snapshot, and every length it may be cut to.
func TestEveryBitAndEveryCut(t *testing.T) {
	s, path, data, payload := written(t, 90)
	for at := range data {
		for bit := range 8 {
			changed := slices.Clone(data)
			changed[at] ^= 1 << bit
			mustBeRotten(t, s, path, changed, payload, "flipped bit")
		}
		mustBeRotten(t, s, path, data[:at], payload, "cut")
	}
	mustBeRotten(t, s, path, append(slices.Clone(data), 0), payload, "a byte more")
	mustBeRotten(t, s, path, append(slices.Clone(data), data...), payload, "written twice")
}

// records gives the offset of every record of a file: header, frames, trailer.
func records(t *testing.T, data []byte) []int {
	t.Helper()
	_, length, err := readHeader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	offsets := []int{0}
	for at := int(length); ; {
		offsets = append(offsets, at)
		frame := int(binary.BigEndian.Uint32(data[at:]))
		if frame == 0 {
			return offsets
		}
		at += frameHeadBytes + frame
	}
}

// Every record of a large snapshot: its head, its middle and its end, and cuts at and around its borders.
func TestEveryRecord(t *testing.T) {
	s, path, data, payload := written(t, 5*frameBytesMax+1000)
	starts := records(t, data)
	if len(starts) != 1+6+1 {
		t.Fatalf("records at %v", starts)
	}
	for i, start := range starts {
		end := len(data)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		places := []int{(start + end) / 2, end - 1}
		for head := range frameHeadBytes {
			places = append(places, start+head)
		}
		for _, at := range places {
			changed := slices.Clone(data)
			changed[at] ^= 0x40
			mustBeRotten(t, s, path, changed, payload, "flipped bit")
		}
		for _, at := range []int{start, start + 1, start + 7, start + 9, (start + end) / 2, end - 1} {
			mustBeRotten(t, s, path, data[:at], payload, "cut")
		}
		if i > 0 {
			mustBeRotten(t, s, path, slices.Delete(slices.Clone(data), start, end), payload, "record missing")
			mustBeRotten(t, s, path, slices.Insert(slices.Clone(data), start, data[start:end]...), payload, "record twice")
		}
	}
	swapped := slices.Concat(data[:starts[1]], data[starts[2]:starts[3]], data[starts[1]:starts[2]], data[starts[3]:])
	mustBeRotten(t, s, path, swapped, payload, "frames swapped")
}

// A file under another snapshot's name is not taken for it.
func TestWrongName(t *testing.T) {
	s, path, data, _ := written(t, 90)
	other := s.path(name{index: 43, term: 7, takenAt: 1}, suffixSnapshot)
	if err := os.Rename(path, other); err != nil {
		t.Fatal(err)
	}
	mustBeRotten(t, s, other, data, nil, "wrong name")
}

// A format of a later program is told from rot.
func TestUnknownFormat(t *testing.T) {
	s, path, data, _ := written(t, 90)
	_, length, err := readHeader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint32(data[len(magic):], formatVersion+1)
	binary.BigEndian.PutUint32(data[length-crcBytes:], checksum(data[:length-crcBytes]))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(s, idOf(path)); !errors.Is(err, ErrFormat) || errors.Is(err, ErrRotten) {
		t.Fatal(err)
	}
}

// FuzzReader feeds any bytes as a file: no panic, and only what the checksums vouch for.
func FuzzReader(f *testing.F) {
	h := header{version: 1, index: 42, term: 7, configuration: []byte{0x80}}
	valid := append(h.encode(), trailer{sum: 0xef46db3751d8e999}.encode()...)
	f.Add(valid)
	f.Add(valid[:40])
	random := make([]byte, 300)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	f.Add(random)
	s := openStore(f, f.TempDir())
	f.Fuzz(func(t *testing.T, data []byte) {
		n := name{index: 42, term: 7, takenAt: 1}
		if err := os.WriteFile(s.path(n, suffixSnapshot), data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := read(s, n.id())
		if err != nil && !errors.Is(err, ErrRotten) && !errors.Is(err, ErrFormat) {
			t.Fatal(err)
		}
		if _, err := s.List(); err != nil {
			t.Fatal(err)
		}
	})
}
