package shard

import (
	"io"

	"github.com/houseful/houseful/fsm"
)

// Machine is what a group replicates. The group serialises all calls: ApplyEntry, Capture and Restore run alone,
// the others may run beside reads.
type Machine[R any] interface {
	// ApplyEntry applies a wire.Entry and gives one result per command, in order. An error means that the entry cannot
	// be understood; the state is then unchanged, and the group stops for good.
	ApplyEntry(data []byte) ([]R, error)
	// Now is the greatest log time seen. It never goes backwards.
	Now() fsm.Time
	// NextExpiry says when a pulse has work; ok is false when there is none to come.
	NextExpiry() (at fsm.Time, ok bool)
	// Pulse is the encoded command that does the work due at the log time of its entry.
	Pulse() []byte
	// Capture takes an immutable view of the state. It runs between two entries, so it must take microseconds.
	Capture() Capture
	// Restore replaces the state with what Capture.WriteTo wrote. On error the state is unchanged.
	Restore(r io.Reader) error
}

// Capture is an immutable view of a machine's state. WriteTo runs beside ApplyEntry; Release is called once, last.
type Capture interface {
	WriteTo(w io.Writer) (int64, error)
	Release()
}

// SpaceChecker says whether the disk is below its free-space floor. It is asked for every command, so it must cost
// no more than an atomic load.
type SpaceChecker interface {
	Low() bool
}
