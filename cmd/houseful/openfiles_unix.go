//go:build unix

package main

import "syscall"

// openFilesMax is how many files this process may have open.
func openFilesMax() (uint64, bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return uint64(limit.Cur), true
}
