//go:build !linux

package main

import (
	"os"
	"time"
)

// sleepPrecisely sleeps as exactly as the runtime can.
func sleepPrecisely(d time.Duration) { time.Sleep(d) }

// dataSync makes a file durable.
func dataSync(file *os.File) error { return file.Sync() }
