package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestResponseReader(t *testing.T) {
	long := strings.Repeat("x", 3*receiveBufferBytes)
	for name, c := range map[string]struct {
		text   string
		status int
		body   string
		close  bool
	}{
		"plain":             {"HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello", 201, "hello", false},
		"names in any case": {"HTTP/1.1 200 OK\r\ncONTENT-lENGTH:5 \r\n\r\nhello", 200, "hello", false},
		"no reason":         {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200, "", false},
		"close":             {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 200, "", true},
		"old":               {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true},
		"not modified":      {"HTTP/1.1 304 Not Modified\r\nETag: W/\"1\"\r\n\r\n", 304, "", false},
		"no content":        {"HTTP/1.1 204 No Content\r\n\r\n", 204, "", false},
		"same length twice": {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false},
		"long":              {"HTTP/1.1 200 OK\r\nContent-Length: 196608\r\n\r\n" + long, 200, long[:bodyPrefixMax], false},
		"chunked": {
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: 1\r\n\r\n",
			200, "hello world", false,
		},
		"long chunk": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n30000\r\n" + long + "\r\n0\r\n\r\n", 200, long[:bodyPrefixMax], false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, source := range []io.Reader{
				strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text)),
				iotest.HalfReader(strings.NewReader(c.text)), iotest.DataErrReader(strings.NewReader(c.text)),
			} {
				var answer response
				if err := newResponseReader(source).next(&answer); err != nil {
					t.Fatal(err)
				}
				if answer.status != c.status || string(answer.body) != c.body || answer.close != c.close || answer.bytes != int64(len(c.text)) {
					t.Fatalf("status %d, close %v, %d bytes, body %.40q", answer.status, answer.close, answer.bytes, answer.body)
				}
			}
		})
	}
}

func TestResponseReaderRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"empty":              {"", io.EOF},
		"no HTTP":            {"SSH-2.0-OpenSSH_9.6\r\n\r\n", errMalformed},
		"status":             {"HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n", errMalformed},
		"interim":            {"HTTP/1.1 100 Continue\r\n\r\n", errMalformed},
		"header":             {"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", errMalformed},
		"no length":          {"HTTP/1.1 200 OK\r\n\r\n", errMalformed},
		"negative":           {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", errMalformed},
		"two lengths":        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok", errMalformed},
		"both":               {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", errMalformed},
		"encoding":           {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", errMalformed},
		"huge":               {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", errTooLong},
		"length overflow":    {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", errMalformed},
		"head":               {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2*responseHeadMax) + "\r\n\r\n", errTooLong},
		"cut head":           {"HTTP/1.1 200 OK\r\n", io.ErrUnexpectedEOF},
		"cut body":           {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", io.ErrUnexpectedEOF},
		"more":               {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!", errMalformed},
		"more after nothing": {"HTTP/1.1 304 Not Modified\r\n\r\nok!", errMalformed},
		"chunk size":         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", errMalformed},
		"huge chunk":         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n", errTooLong},
		"chunk end":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n", errMalformed},
		"cut chunk":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", io.ErrUnexpectedEOF},
		"no last chunk":      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", io.ErrUnexpectedEOF},
		"chunk line":         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("0", 2*responseHeadMax), errTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			var answer response
			if err := newResponseReader(strings.NewReader(c.text)).next(&answer); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
		})
	}
}

// TestResponseReaderReused reads several answers over one reader, as a connection does.
func TestResponseReaderReused(t *testing.T) {
	pipe := &turnReader{turns: []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + strings.Repeat("a", 70000),
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\nno",
	}}
	reader := newResponseReader(pipe)
	for i, want := range []string{strings.Repeat("a", bodyPrefixMax), "ok", "no"} {
		pipe.turn = i
		var answer response
		if err := reader.next(&answer); err != nil || string(answer.body) != want {
			t.Fatalf("answer %d: %v, body %.40q", i, err, answer.body)
		}
	}
}

// turnReader gives each text up to its end only.
type turnReader struct {
	turns []string
	turn  int
}

func (r *turnReader) Read(p []byte) (int, error) {
	n := copy(p, r.turns[r.turn])
	r.turns[r.turn] = r.turns[r.turn][n:]
	return n, nil
}

// FuzzResponseReader never panics, and never reads a body shorter than it says.
func FuzzResponseReader(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var whole, split response
		err := newResponseReader(bytes.NewReader(text)).next(&whole)
		splitErr := newResponseReader(iotest.OneByteReader(bytes.NewReader(text))).next(&split)
		if err == nil && (splitErr != nil || whole.status != split.status || !bytes.Equal(whole.body, split.body)) {
			t.Fatalf("%+v read whole, %+v (%v) byte by byte", whole, split, splitErr)
		}
	})
}
