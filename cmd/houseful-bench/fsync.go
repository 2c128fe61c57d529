package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// diskProbe measures what one fsync costs on the disk of a folder: append a record to a file, as a log does, and wait
// until it is durable.
type diskProbe struct {
	file      *os.File
	record    []byte
	latencies *hdrhistogram.Histogram
}

// newDiskProbe makes the file.
func newDiskProbe(folder string) (*diskProbe, error) {
	file, err := os.Create(filepath.Join(folder, "fsync-probe"))
	if err != nil {
		return nil, fmt.Errorf("probing the disk: %w", err)
	}
	return &diskProbe{file: file, record: make([]byte, fsyncBytes), latencies: newHistogram()}, nil
}

// round measures for fsyncProbeTime or fsyncProbeMax records, whichever ends first.
func (p *diskProbe) round(ctx context.Context) error {
	began := time.Now()
	for range fsyncProbeMax {
		start := time.Now()
		if start.Sub(began) > fsyncProbeTime || ctx.Err() != nil {
			break
		}
		if _, err := p.file.Write(p.record); err != nil {
			return fmt.Errorf("probing the disk: %w", err)
		}
		if err := dataSync(p.file); err != nil {
			return fmt.Errorf("probing the disk: %w", err)
		}
		recordLatency(p.latencies, time.Since(start), 1)
	}
	return nil
}

// close removes the file.
func (p *diskProbe) close() error {
	return errors.Join(p.file.Close(), os.Remove(p.file.Name()))
}
