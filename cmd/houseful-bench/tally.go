package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
)

// outcome is what became of a request. The first three are certain.
type outcome uint8

const (
	outcomeDone       outcome = iota // the answer says that it was done
	outcomeRefused                   // understood and refused: a seat was taken, a limit reached, wrong input
	outcomeNotApplied                // not done because the server could not, at this moment
	outcomeUnknown                   // nobody can say: no answer, or one that says so
)

// tally counts what became of requests, by code. It belongs to one goroutine.
type tally struct {
	Done       int64            `json:"done"`
	Refused    map[string]int64 `json:"refused"`
	NotApplied map[string]int64 `json:"notApplied"`
	Unknown    map[string]int64 `json:"unknown"`
	Statuses   map[int]int64    `json:"statuses"`
}

func newTally() *tally {
	return &tally{
		Refused: map[string]int64{}, NotApplied: map[string]int64{}, Unknown: map[string]int64{}, Statuses: map[int]int64{},
	}
}

// answered counts an answer and says what it means.
func (t *tally) answered(answer *response) outcome {
	t.Statuses[answer.status]++
	result := judge(answer)
	switch result {
	case outcomeDone:
		t.Done++
	case outcomeRefused:
		t.Refused[errorCode(answer)]++
	case outcomeNotApplied:
		t.NotApplied[errorCode(answer)]++
	case outcomeUnknown:
		t.Unknown[errorCode(answer)]++
	}
	return result
}

// merge adds another tally.
func (t *tally) merge(from *tally) {
	t.Done += from.Done
	addCounts(t.Refused, from.Refused)
	addCounts(t.NotApplied, from.NotApplied)
	addCounts(t.Unknown, from.Unknown)
	addCounts(t.Statuses, from.Statuses)
}

// others counts the requests that were not done for certain, or not for certain done.
func (t *tally) others() int64 {
	return sum(t.Refused) + sum(t.NotApplied) + sum(t.Unknown)
}

// judge reads the outcome of an answer as API.md defines it: 503 says in details.outcome whether anything happened.
func judge(answer *response) outcome {
	switch {
	case answer.status < 400:
		return outcomeDone
	case answer.status < 500:
		return outcomeRefused
	case answer.status == 503 && bytes.Contains(answer.body, []byte(`"outcome":"not_applied"`)):
		return outcomeNotApplied
	default:
		return outcomeUnknown
	}
}

// errorCode gives the error word of an answer's body, or its status when there is none.
func errorCode(answer *response) string {
	if code, ok := stringField(answer.body, `"error":"`); ok {
		return string(code)
	}
	return "HTTP_" + strconv.Itoa(answer.status)
}

// stringField gives what stands between prefix, which ends in a quote, and the next quote: the first string member of
// that name in a JSON text without spaces or escapes in it.
func stringField(body []byte, prefix string) ([]byte, bool) {
	_, rest, found := bytes.Cut(body, []byte(prefix))
	if !found {
		return nil, false
	}
	value, _, found := bytes.Cut(rest, []byte{'"'})
	return value, found && len(value) > 0
}

// transportCode names why an exchange ended without an answer.
func transportCode(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, errMalformed), errors.Is(err, errTooLong):
		return "MALFORMED_ANSWER"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "TIMEOUT"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "CONNECTION_CLOSED"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "CONNECTION_REFUSED"
	default:
		return "NETWORK"
	}
}

func addCounts[K comparable](to, from map[K]int64) {
	for key, count := range from {
		to[key] += count
	}
}

func sum[K comparable](counts map[K]int64) int64 {
	total := int64(0)
	for _, count := range counts {
		total += count
	}
	return total
}
