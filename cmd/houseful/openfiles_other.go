//go:build !unix

package main

// openFilesMax is unknown here.
func openFilesMax() (uint64, bool) { return 0, false }
