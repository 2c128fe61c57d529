package snapshot

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/cespare/xxhash/v2"
	"github.com/hashicorp/raft"
)

// Reader reads a snapshot's payload and verifies it on the way: bytes are handed out only after their frame's checksum
// held, and io.EOF only after the trailer agreed with all that was read. Not safe for use by many goroutines.
type Reader struct {
	file *os.File
	in   *bufio.Reader
	meta raft.SnapshotMeta

	frame   []byte // the rest of the current frame
	buffer  []byte
	offset  int64 // of the next record in the file
	read    trailer
	sum     *xxhash.Digest
	outcome error // sticky: io.EOF or what was found wrong
}

func newReader(file *os.File) (*Reader, error) {
	in := bufio.NewReaderSize(file, frameBytesMax)
	h, length, err := readHeader(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	meta, err := h.meta(file.Name())
	if err != nil {
		return nil, err
	}
	return &Reader{file: file, in: in, meta: meta, buffer: make([]byte, frameBytesMax), offset: length, sum: xxhash.New()}, nil
}

// Meta says what the snapshot holds. Its Size is the payload's length, as the trailer claims.
func (r *Reader) Meta() raft.SnapshotMeta { return r.meta }

// Read gives verified payload. Any mismatch is ErrRotten, naming file and offset, now and at every later call.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.frame) == 0 {
		if r.outcome == nil {
			r.outcome = r.next()
		}
		if r.outcome != nil {
			return 0, r.outcome
		}
	}
	n := copy(p, r.frame)
	r.frame = r.frame[n:]
	return n, nil
}

// Close closes the file. It does not verify what was not read.
func (r *Reader) Close() error { return r.file.Close() }

// next reads a frame, or the trailer and then gives io.EOF.
func (r *Reader) next() error {
	var head [frameHeadBytes]byte
	if _, err := io.ReadFull(r.in, head[:4]); err != nil {
		return r.rotten("no trailer: %w", noEOF(err))
	}
	length := binary.BigEndian.Uint32(head[:])
	if length == 0 {
		return r.end(head[:4])
	}
	if length > frameBytesMax {
		return r.rotten("frame length %d", length)
	}
	if _, err := io.ReadFull(r.in, head[4:]); err != nil {
		return r.rotten("frame cut short: %w", noEOF(err))
	}
	payload := r.buffer[:length]
	if _, err := io.ReadFull(r.in, payload); err != nil {
		return r.rotten("frame cut short: %w", noEOF(err))
	}
	if frameSum(r.read.frames, head[:4], payload) != binary.BigEndian.Uint32(head[4:]) {
		return r.rotten("frame checksum")
	}
	_, _ = r.sum.Write(payload) // never fails
	r.read.frames++
	r.read.payloadBytes += uint64(length)
	r.offset += int64(frameHeadBytes) + int64(length)
	r.frame = payload
	return nil
}

func (r *Reader) end(start []byte) error {
	var data [trailerBytes]byte
	copy(data[:], start)
	if _, err := io.ReadFull(r.in, data[len(start):]); err != nil {
		return r.rotten("trailer cut short: %w", noEOF(err))
	}
	said, err := decodeTrailer(data[:])
	if err != nil {
		return r.rotten("trailer checksum")
	}
	r.read.sum = r.sum.Sum64()
	if said != r.read {
		return r.rotten("trailer says %d frames, %d bytes, sum %x; read were %d, %d, %x", said.frames, said.payloadBytes,
			said.sum, r.read.frames, r.read.payloadBytes, r.read.sum)
	}
	if _, err := r.in.ReadByte(); err != io.EOF {
		r.offset += trailerBytes
		return r.rotten("bytes after the trailer")
	}
	return io.EOF
}

func (r *Reader) rotten(format string, args ...any) error {
	return fmt.Errorf("%w: %s: offset %d: %w", ErrRotten, r.file.Name(), r.offset, fmt.Errorf(format, args...))
}
