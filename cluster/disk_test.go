package cluster

import (
	"bytes"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/houseful/houseful/shard/logstore"
)

// A disk that runs full is a line in the log when it begins and one when it ends, however many commands are refused.
func TestDiskGuardLogsTurns(t *testing.T) {
	space := func(floor uint64) *logstore.DiskSpace {
		t.Helper()
		s, err := logstore.NewDiskSpace(t.TempDir(), floor)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var log bytes.Buffer
	guard := &diskGuard{space: space(0), logger: slog.New(slog.NewTextHandler(&log, nil))}
	for _, step := range []struct {
		floor uint64
		low   bool
		lines int
	}{{0, false, 0}, {math.MaxUint64, true, 1}, {0, false, 2}, {math.MaxUint64, true, 3}} {
		guard.space = space(step.floor)
		for range 3 {
			if guard.Low() != step.low {
				t.Errorf("floor %d: low is %v", step.floor, !step.low)
			}
		}
		if n := strings.Count(log.String(), "level=WARN"); n != step.lines {
			t.Errorf("floor %d: %d lines, want %d:\n%s", step.floor, n, step.lines, log.String())
		}
	}
}
