package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/hashicorp/raft"
)

const (
	magic         = "HFSNAP\r\n"
	formatVersion = 1

	// frameBytesMax is the longest payload of a frame.
	frameBytesMax = 64 << 10
	// metaBytesMax bounds what a header may claim; a configuration of some hundred servers fits.
	metaBytesMax = 1 << 20

	headerFixedBytes = len(magic) + 4 + 4
	metaFixedBytes   = 4 + 8 + 8 + 8
	frameHeadBytes   = 4 + 4
	trailerBytes     = 4 + 8 + 8 + 8 + 4
	crcBytes         = 4
)

// ErrRotten says that a snapshot file is not what was written. The error names the file and the offset.
var ErrRotten = errors.New("rotten snapshot")

// ErrFormat says that a snapshot was written by a format this program does not know.
var ErrFormat = errors.New("unknown snapshot format")

// header is what the first record of a file says.
type header struct {
	version            raft.SnapshotVersion
	index, term        uint64
	configurationIndex uint64
	configuration      []byte // raft's encoding
}

// trailer is what the last record of a file says.
type trailer struct {
	frames, payloadBytes, sum uint64
}

func checksum(parts ...[]byte) uint32 {
	var sum uint32
	for _, part := range parts {
		sum = crc32.Update(sum, castagnoli(), part)
	}
	return sum
}

// castagnoli gives the CRC-32C table; crc32 builds it once and keeps it.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func (h *header) encode() []byte {
	metaBytes := metaFixedBytes + len(h.configuration)
	out := make([]byte, 0, headerFixedBytes+metaBytes+crcBytes)
	out = append(out, magic...)
	out = binary.BigEndian.AppendUint32(out, formatVersion)
	out = binary.BigEndian.AppendUint32(out, uint32(metaBytes))
	out = binary.BigEndian.AppendUint32(out, uint32(h.version))
	out = binary.BigEndian.AppendUint64(out, h.index)
	out = binary.BigEndian.AppendUint64(out, h.term)
	out = binary.BigEndian.AppendUint64(out, h.configurationIndex)
	out = append(out, h.configuration...)
	return binary.BigEndian.AppendUint32(out, checksum(out))
}

// readHeader reads the header record and gives it with its length.
func readHeader(r io.Reader) (header, int64, error) {
	var h header
	fixed := make([]byte, headerFixedBytes)
	if _, err := io.ReadFull(r, fixed); err != nil {
		return h, 0, fmt.Errorf("%w: offset 0: header cut short: %w", ErrRotten, noEOF(err))
	}
	if string(fixed[:len(magic)]) != magic {
		return h, 0, fmt.Errorf("%w: offset 0: no snapshot header", ErrRotten)
	}
	version := binary.BigEndian.Uint32(fixed[len(magic):])
	metaBytes := binary.BigEndian.Uint32(fixed[len(magic)+4:])
	if metaBytes < metaFixedBytes || metaBytes > metaBytesMax {
		return h, 0, fmt.Errorf("%w: offset %d: header length %d", ErrRotten, len(magic)+4, metaBytes)
	}
	rest := make([]byte, int(metaBytes)+crcBytes)
	if _, err := io.ReadFull(r, rest); err != nil {
		return h, 0, fmt.Errorf("%w: offset %d: header cut short: %w", ErrRotten, headerFixedBytes, noEOF(err))
	}
	meta, sum := rest[:metaBytes], binary.BigEndian.Uint32(rest[metaBytes:])
	if checksum(fixed, meta) != sum {
		return h, 0, fmt.Errorf("%w: offset 0: header checksum", ErrRotten)
	}
	if version != formatVersion { // after the checksum: a flipped bit is rot, not a newer program
		return h, 0, fmt.Errorf("%w: version %d, known is %d", ErrFormat, version, formatVersion)
	}
	h.version = raft.SnapshotVersion(binary.BigEndian.Uint32(meta))
	h.index = binary.BigEndian.Uint64(meta[4:])
	h.term = binary.BigEndian.Uint64(meta[12:])
	h.configurationIndex = binary.BigEndian.Uint64(meta[20:])
	h.configuration = meta[metaFixedBytes:]
	return h, int64(headerFixedBytes + len(rest)), nil
}

// frameHead gives the eight bytes before a frame's payload.
func frameHead(number uint64, payload []byte) [frameHeadBytes]byte {
	var head [frameHeadBytes]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(payload)))
	binary.BigEndian.PutUint32(head[4:], frameSum(number, head[:4], payload))
	return head
}

// frameSum covers the frame's number, so that frames which changed places are noticed where it happened.
func frameSum(number uint64, length, payload []byte) uint32 {
	var place [8]byte
	binary.BigEndian.PutUint64(place[:], number)
	return checksum(place[:], length, payload)
}

func (t trailer) encode() []byte {
	out := make([]byte, 4, trailerBytes) // a frame length of 0
	out = binary.BigEndian.AppendUint64(out, t.frames)
	out = binary.BigEndian.AppendUint64(out, t.payloadBytes)
	out = binary.BigEndian.AppendUint64(out, t.sum)
	return binary.BigEndian.AppendUint32(out, checksum(out))
}

// decodeTrailer reads all of a trailer's bytes.
func decodeTrailer(data []byte) (trailer, error) {
	body, sum := data[:trailerBytes-crcBytes], binary.BigEndian.Uint32(data[trailerBytes-crcBytes:])
	if checksum(body) != sum || binary.BigEndian.Uint32(body) != 0 {
		return trailer{}, fmt.Errorf("%w: trailer checksum", ErrRotten)
	}
	return trailer{
		frames:       binary.BigEndian.Uint64(body[4:]),
		payloadBytes: binary.BigEndian.Uint64(body[12:]),
		sum:          binary.BigEndian.Uint64(body[20:]),
	}, nil
}

// noEOF keeps io.EOF out of errors about missing bytes: to a reader's caller EOF means a clean end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
