package shard

import "time"

// The limits of a group. At a limit a command is refused with a reason; nothing waits without an end.
const (
	// BatchCommandsMax is the most commands in one log entry.
	BatchCommandsMax = 1024
	// EntryBytesMax is the most bytes in one log entry, its framing included.
	EntryBytesMax = 1 << 20
	// CommandBytesMax is the longest command: one that fills an entry alone.
	CommandBytesMax = EntryBytesMax - entryHeadBytesMax - commandHeadBytesMax
	// EntriesInFlightMax is the most entries handed to raft and not answered yet. Deeper pipelines were slower.
	EntriesInFlightMax = 2
	// QueueCommandsDefault is the most commands waiting to join a batch.
	QueueCommandsDefault = 16_384
	// QueueBytesDefault is the most bytes of commands waiting to join a batch.
	QueueBytesDefault = 64 << 20
	// SnapshotBytesDefault is how much log is applied before a snapshot is taken.
	SnapshotBytesDefault = 64 << 20
	// SnapshotBytesMax bounds what a start may have to read again.
	SnapshotBytesMax = 16 << 30
)

const (
	// sweepInterval is how late a wait may end after its deadline.
	sweepInterval = 50 * time.Millisecond
	// pulseSleepMax bounds the sleep before a known expiry, so that a clock that jumps is noticed.
	pulseSleepMax = 100 * time.Millisecond
	// pulseSpacing is the least time between pulses that end all that is due: what is due a moment later waits for it.
	pulseSpacing = 50 * time.Millisecond
	// pulseBackoffMin is the first pause after a pulse that did not move the next expiry. It doubles to pulseSleepMax.
	pulseBackoffMin = time.Millisecond
	// pulseTimeout bounds the wait for one pulse.
	pulseTimeout = 5 * time.Second
	// barrierTimeout bounds one try at entering the barrier of a new term.
	barrierTimeout = 5 * time.Second
	// barrierRetry is the pause before a failed barrier is tried again.
	barrierRetry = 20 * time.Millisecond
	// snapshotCheckInterval is how often the size of the log since the last snapshot is looked at.
	snapshotCheckInterval = 100 * time.Millisecond
	// snapshotRetry is the pause after a snapshot that failed.
	snapshotRetry = 10 * time.Second
	// failDrainMax bounds the wait for raft's answers before a failed group is torn down.
	failDrainMax = time.Second
	// closeGrace is how long Close waits after its context for raft to end.
	closeGrace = 2 * time.Second
)
