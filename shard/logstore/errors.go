package logstore

import (
	"errors"
	"fmt"
)

// Errors of opening.
var (
	// ErrCorrupt is what every CorruptError is: stored bytes are not what was written.
	ErrCorrupt = errors.New("logstore: corrupt")
	// ErrLost is the kind of ErrCorrupt where intact files hold less than was acknowledged.
	ErrLost = errors.New("logstore: log lost acknowledged entries")
	// ErrInUse is returned when another process, or another handle, has the store or the replica open.
	ErrInUse = errors.New("logstore: in use")
)

// Errors of reading and writing.
var (
	// ErrClosed is returned by every call on a closed store or handle.
	ErrClosed = errors.New("logstore: closed")
	// ErrGap is returned by StoreLogs for entries that do not continue the log; nothing was stored.
	ErrGap = errors.New("logstore: entries do not continue the log")
	// ErrRange is returned by DeleteRange for a range in the middle of the log, which would leave a gap; nothing was deleted.
	ErrRange = errors.New("logstore: range is inside the log")
	// ErrTooLarge is returned for an entry or key over the limits in limits.go; nothing was stored.
	ErrTooLarge = errors.New("logstore: record too large")
	// ErrFailed is returned after a fatal error (failed fsync, stall): the outcome of the call is unknown and the store is unusable.
	ErrFailed = errors.New("logstore: store failed")
	// ErrKeyNotFound is returned by Get and GetUint64. Its text is what hashicorp/raft compares with.
	ErrKeyNotFound = errors.New("not found")
)

// CorruptError says where stored bytes are not what was written. errors.Is(err, ErrCorrupt) holds, and ErrLost where it applies.
type CorruptError struct {
	// File is the path of the file at fault.
	File string
	// Offset is the position in File where the damage shows; 0 if it concerns the file as a whole.
	Offset int64
	// Reason says what does not add up.
	Reason string
	// Lost marks intact bytes that are fewer than were acknowledged.
	Lost bool
	// Err is the underlying error, if any.
	Err error
}

// Error implements error.
func (e *CorruptError) Error() string {
	kind := ErrCorrupt
	if e.Lost {
		kind = ErrLost
	}
	text := fmt.Sprintf("%v: file %s, offset %d: %s", kind, e.File, e.Offset, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap makes errors.Is and errors.As see the kinds and the cause.
func (e *CorruptError) Unwrap() []error {
	kinds := []error{ErrCorrupt}
	if e.Lost {
		kinds = append(kinds, ErrLost)
	}
	if e.Err != nil {
		kinds = append(kinds, e.Err)
	}
	return kinds
}

func corrupt(file string, offset int64, format string, args ...any) *CorruptError {
	return &CorruptError{File: file, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}
