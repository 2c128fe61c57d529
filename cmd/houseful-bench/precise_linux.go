package main

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// sleepPrecisely sleeps to within some tens of microseconds. The runtime's timers round up to a millisecond when the
// process is otherwise idle, which would be the better part of an idle server's latency.
func sleepPrecisely(d time.Duration) {
	request := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&request, nil) // woken early by a signal: the caller looks at the clock again
}

// dataSync makes the data of a file durable, and of its metadata only what reading them needs.
func dataSync(file *os.File) error {
	return unix.Fdatasync(int(file.Fd()))
}
