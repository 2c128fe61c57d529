// Package shard runs one Raft group: it turns a pure state machine into a durable, replicated one.
//
// A [Group] owns a machine, its log, its snapshots and the raft instance over them. Commands enter through
// [Group.Propose], join a batch, get their time stamp and become one log entry; results come back in order. Reads
// run under [Group.Read]. The package decides nothing about seats: the rules are the machine's.
//
// Every command ends in one of three outcomes: done (a result), not applied (errors.Is ErrNotApplied) or unknown
// (ErrUnknown). Nothing is guessed, and every wait ends: at its deadline, or when the group closes.
//
// Goroutines of a group, all started by Open and waited for by Close:
//
//	actor      takes what is queued, stamps it, hands the entry to raft           actor.go
//	deliverer  waits for entries in order and answers their callers               actor.go
//	sweeper    ends waits whose deadline passed; watches for hung store calls      sweep.go
//	leader     opens the actor once the barrier of a new term is applied           leader.go
//	pulse      proposes the expiry pulse when the machine has something due        pulse.go
//	snapshots  takes a snapshot when the log has grown by SnapshotBytes            snapshots.go
//	supervisor tears the group down when it fails or is closed                     close.go
//
// Guards around hashicorp/raft v1.7.3, by its issue numbers: heartbeats go through the main loop (#695) and appends
// are not pipelined (#611, #612), see transport.go; a store call that fails or hangs stops the group (#503, #614,
// #666), see store.go and sweep.go; a leadership transfer that never ends stops it too (#696), see actor.go.
//
// Only this package and those below it import hashicorp/raft. It must not import cluster or transport.
package shard
