package shard

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// Outcomes of a command that has no result. Each is one of two classes: not applied, so that the command may be sent
// again or elsewhere, or unknown, so that it may only be repeated with the same command id.
var (
	// ErrNotApplied is the class: the command is not in the log and never will be.
	ErrNotApplied = errors.New("not applied")
	// ErrUnknown says that the command may or may not be applied, now or later.
	ErrUnknown = errors.New("outcome unknown")

	// ErrOverloaded says that the group's queue is full.
	ErrOverloaded = fmt.Errorf("queue full: %w", ErrNotApplied)
	// ErrDiskFull says that the disk is below its free-space floor.
	ErrDiskFull = fmt.Errorf("disk below its free-space floor: %w", ErrNotApplied)
	// ErrNotLeader says that this replica does not lead the group, or has not caught up with its new term yet.
	ErrNotLeader = fmt.Errorf("not the leader: %w", ErrNotApplied)
	// ErrTransfer says that leadership is on its way to another replica.
	ErrTransfer = fmt.Errorf("leadership transfer in progress: %w", ErrNotApplied)
	// ErrDeadline says that the command's deadline passed while it was queued.
	ErrDeadline = fmt.Errorf("deadline passed in the queue: %w", ErrNotApplied)
	// ErrTooLarge says that the command is longer than CommandBytesMax, or empty.
	ErrTooLarge = fmt.Errorf("command empty or too large: %w", ErrNotApplied)
	// ErrClosed says that the group is closing, closed or failed.
	ErrClosed = fmt.Errorf("group closed: %w", ErrNotApplied)
)

// Reasons why a group stops for good. Err wraps one of them.
var (
	// ErrMachine says that the machine refused an entry or panicked.
	ErrMachine = errors.New("machine stopped")
	// ErrStore says that the log or stable store failed.
	ErrStore = errors.New("log store failed")
	// ErrStoreHung says that a store call did not come back in Config.StoreTimeout.
	ErrStoreHung = errors.New("log store hangs")
	// ErrTransferStuck says that raft kept refusing commands for a leadership transfer that does not end.
	ErrTransferStuck = errors.New("leadership transfer stuck")
	// ErrSnapshots says that no snapshot can be used and the log does not reach back far enough without one.
	ErrSnapshots = errors.New("no usable snapshot")
	// ErrLogLost says that entries which must be in the log are not.
	ErrLogLost = errors.New("log lost")
)

// outcome maps raft's answer for an entry to the outcome of its commands. nil stays nil: the entry is applied here.
// What is not known to be out of the log is unknown.
func outcome(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout):
		return ErrNotLeader
	case errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return ErrTransfer
	case errors.Is(err, ErrUnknown):
		return err
	default: // leadership lost, shutdown, a store's error: the bytes may be on a disk
		return fmt.Errorf("%w: %v", ErrUnknown, err)
	}
}
