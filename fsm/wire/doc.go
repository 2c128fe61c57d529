// Package wire holds the protobuf schema of log entries, commands and snapshots, and the code generated from it
// ("make generate"). It imports nothing of ours and starts no goroutine.
package wire
