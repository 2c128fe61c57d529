package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

var (
	// errMalformed is wrapped when an answer is not the HTTP/1.1 that this client reads.
	errMalformed = errors.New("malformed answer")
	// errTooLong is wrapped when a head or body is longer than the limits.
	errTooLong = errors.New("answer too long")
)

// response is one answer: as much of it as the load needs.
type response struct {
	status int
	body   []byte // its first bodyPrefixMax bytes; valid until the next read
	bytes  int64  // of head and body, as sent
	close  bool   // the server ends the connection after it
}

// responseReader reads answers one after the other, without pipelining: bytes after an answer are an error.
//
// The buffer holds the head and the kept prefix of the body; what follows is read over and over into the rest of it.
type responseReader struct {
	source     io.Reader
	buffer     []byte
	start, end int    // what was read and not yet used
	read       int64  // since the answer began
	decoded    []byte // kept prefix of a chunked body
}

// newResponseReader reads from source; reset changes the source.
func newResponseReader(source io.Reader) *responseReader {
	return &responseReader{source: source, buffer: make([]byte, receiveBufferBytes)}
}

// reset forgets what was read and reads from another connection.
func (r *responseReader) reset(source io.Reader) {
	r.source, r.start, r.end, r.read = source, 0, 0, 0
}

// next reads one whole answer. After any error the connection must not be used again.
func (r *responseReader) next(answer *response) error {
	*answer = response{}
	r.start, r.end, r.read = 0, 0, 0
	head, err := r.readHead()
	if err != nil {
		return err
	}
	length, chunked, err := parseHead(head, answer)
	if err != nil {
		return err
	}
	r.start = len(head)
	switch {
	case answer.status == 204 || answer.status == 304:
	case chunked:
		err = r.readChunks(answer)
	case length < 0:
		err = fmt.Errorf("%w: neither Content-Length nor chunked", errMalformed)
	default:
		err = r.readBody(answer, length)
	}
	if err != nil {
		return err
	}
	if r.start != r.end {
		return fmt.Errorf("%w: %d bytes follow it", errMalformed, r.end-r.start)
	}
	answer.bytes = r.read
	return nil
}

// readHead reads until the empty line and gives everything up to and with it.
func (r *responseReader) readHead() ([]byte, error) {
	scanned := 0
	for {
		i := bytes.Index(r.buffer[scanned:r.end], []byte("\r\n\r\n"))
		if i >= 0 && scanned+i+4 <= responseHeadMax {
			return r.buffer[:scanned+i+4], nil
		}
		if i >= 0 || r.end >= responseHeadMax {
			return nil, fmt.Errorf("%w: head over %d bytes", errTooLong, responseHeadMax)
		}
		scanned = max(0, r.end-3)
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads once, behind what is there.
func (r *responseReader) fill() error {
	n, err := r.source.Read(r.buffer[r.end:])
	r.end += n
	r.read += int64(n)
	switch {
	case n > 0:
		return nil
	case err == nil:
		return io.ErrNoProgress
	case errors.Is(err, io.EOF) && r.read > 0:
		return io.ErrUnexpectedEOF
	default:
		return err
	}
}

// readBody reads a body of a known length.
func (r *responseReader) readBody(answer *response, length int64) error {
	if length > bodyMax {
		return fmt.Errorf("%w: body of %d bytes", errTooLong, length)
	}
	bodyStart := r.start
	kept := int(min(length, bodyPrefixMax))
	left := length - int64(r.end-r.start)
	if left < 0 {
		return fmt.Errorf("%w: %d bytes follow it", errMalformed, -left)
	}
	scratch := bodyStart + kept // from here on the buffer may be written over
	for left > 0 {
		if r.end >= len(r.buffer) {
			r.end = scratch
		}
		limit := min(int64(len(r.buffer)-r.end), left)
		before := r.end
		n, err := r.source.Read(r.buffer[before : before+int(limit)])
		r.end += n
		r.read += int64(n)
		left -= int64(n)
		if n == 0 {
			if err == nil {
				err = io.ErrNoProgress
			} else if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	answer.body = r.buffer[bodyStart:scratch]
	r.start = r.end
	return nil
}

// readChunks reads a chunked body with its trailer.
func (r *responseReader) readChunks(answer *response) error {
	r.decoded = r.decoded[:0]
	total := int64(0)
	for {
		line, err := r.line()
		if err != nil {
			return err
		}
		if i := bytes.IndexByte(line, ';'); i >= 0 {
			line = line[:i]
		}
		size, err := parseNumber(bytes.TrimSpace(line), 16)
		if err != nil {
			return fmt.Errorf("%w: chunk size %q", errMalformed, line)
		}
		if total += size; total > bodyMax {
			return fmt.Errorf("%w: body over %d bytes", errTooLong, int64(bodyMax))
		}
		if size == 0 {
			break
		}
		if err := r.chunk(size); err != nil {
			return err
		}
		if line, err = r.line(); err != nil {
			return err
		}
		if len(line) != 0 {
			return fmt.Errorf("%w: %q follows a chunk", errMalformed, line)
		}
	}
	for {
		line, err := r.line()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			answer.body = r.decoded
			return nil
		}
	}
}

// chunk reads size bytes and keeps what belongs to the prefix.
func (r *responseReader) chunk(size int64) error {
	for size > 0 {
		if r.start == r.end {
			r.start, r.end = 0, 0
			if err := r.fill(); err != nil {
				return err
			}
		}
		n := int(min(size, int64(r.end-r.start)))
		if room := bodyPrefixMax - len(r.decoded); room > 0 {
			r.decoded = append(r.decoded, r.buffer[r.start:r.start+min(n, room)]...)
		}
		r.start += n
		size -= int64(n)
	}
	return nil
}

// line gives the next line of a chunked body without its end; valid until the next read.
func (r *responseReader) line() ([]byte, error) {
	for {
		if i := bytes.IndexByte(r.buffer[r.start:r.end], '\n'); i >= 0 {
			line := r.buffer[r.start : r.start+i]
			r.start += i + 1
			return bytes.TrimSuffix(line, []byte("\r")), nil
		}
		if r.end-r.start > responseHeadMax {
			return nil, fmt.Errorf("%w: line over %d bytes", errTooLong, responseHeadMax)
		}
		r.end = copy(r.buffer, r.buffer[r.start:r.end])
		r.start = 0
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// parseHead reads the status line and the three headers that matter. A length of -1 means that none was given.
func parseHead(head []byte, answer *response) (length int64, chunked bool, err error) {
	line, rest, _ := bytes.Cut(head, []byte("\r\n"))
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[8] != ' ' || (len(line) > 12 && line[12] != ' ') {
		return 0, false, fmt.Errorf("%w: status line %q", errMalformed, line)
	}
	status, err := parseNumber(line[9:12], 10)
	if err != nil || status < 200 {
		return 0, false, fmt.Errorf("%w: status line %q", errMalformed, line)
	}
	answer.status = int(status)
	answer.close = line[7] == '0'
	length = -1
	for {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		if len(line) == 0 {
			break
		}
		if length, chunked, err = parseHeader(line, answer, length, chunked); err != nil {
			return 0, false, err
		}
	}
	if chunked && length >= 0 {
		return 0, false, fmt.Errorf("%w: both Content-Length and chunked", errMalformed)
	}
	return length, chunked, nil
}

// parseHeader looks at one header line. The length of its name tells most of them apart at the cost of a byte.
func parseHeader(line []byte, answer *response, length int64, chunked bool) (int64, bool, error) {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return 0, false, fmt.Errorf("%w: header %q", errMalformed, line)
	}
	name, value := line[:colon], line[colon+1:]
	switch {
	case colon == 14 && bytes.EqualFold(name, []byte("Content-Length")):
		value = bytes.TrimSpace(value)
		n, err := parseNumber(value, 10)
		if err != nil || (length >= 0 && length != n) {
			return 0, false, fmt.Errorf("%w: Content-Length %q", errMalformed, value)
		}
		length = n
	case colon == 17 && bytes.EqualFold(name, []byte("Transfer-Encoding")):
		value = bytes.TrimSpace(value)
		if !bytes.EqualFold(value, []byte("chunked")) {
			return 0, false, fmt.Errorf("%w: Transfer-Encoding %q", errMalformed, value)
		}
		chunked = true
	case colon == 10 && bytes.EqualFold(name, []byte("Connection")):
		answer.close = answer.close || bytes.EqualFold(bytes.TrimSpace(value), []byte("close"))
	}
	return length, chunked, nil
}

// parseNumber reads digits of a base up to 16, and nothing else.
func parseNumber(digits []byte, base int64) (int64, error) {
	if len(digits) == 0 || len(digits) > 15 {
		return 0, errMalformed
	}
	number := int64(0)
	for _, c := range digits {
		digit := int64(-1)
		switch {
		case c >= '0' && c <= '9':
			digit = int64(c - '0')
		case c >= 'a' && c <= 'f':
			digit = int64(c-'a') + 10
		case c >= 'A' && c <= 'F':
			digit = int64(c-'A') + 10
		}
		if digit < 0 || digit >= base {
			return 0, errMalformed
		}
		number = number*base + digit
	}
	return number, nil
}
