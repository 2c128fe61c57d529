package shard

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// countMachine does next to nothing, so that the benchmark shows the group and its store.
type countMachine struct {
	tallyMachine
}

func (m *countMachine) ApplyEntry(data []byte) ([]int, error) {
	var entry wire.Entry
	if err := entry.UnmarshalVTUnsafe(data); err != nil {
		return nil, err
	}
	m.now = max(m.now, fsm.Time(entry.TimeMs))
	return make([]int, len(entry.Commands)), nil
}

// Commands of 48 bytes through one group on a real log, every entry fsynced.
func BenchmarkPropose(b *testing.B) {
	for _, callers := range []int{1, 16, 512} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			option, closeStore := onPebble(b, b.TempDir())
			defer closeStore()
			seed := &bench{t: b, config: quickConfig(), folder: b.TempDir()}
			option(seed)
			if err := seed.tryOpen(); err != nil { // makes the stores; then the machine is swapped
				b.Fatal(err)
			}
			seed.lead()
			seed.close()
			group, err := Open(seed.config, &countMachine{}, seed.stores)
			if err != nil {
				b.Fatal(err)
			}
			seed.Group = nil
			run(b, group, callers)
		})
	}
}

func run(b *testing.B, group *Group[int], callers int) {
	b.Helper()
	if err := group.WaitLeader(b.Context()); err != nil {
		b.Fatal(err)
	}
	first := group.Status().LastIndex
	body := make([]byte, 48)
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan error, callers)
	b.ReportAllocs()
	b.ResetTimer()
	for range callers {
		go func() {
			for left.Add(-1) >= 0 {
				if _, err := group.Propose(body, time.Now().Add(patience)); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range callers {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
	b.ReportMetric(float64(b.N)/float64(max(1, group.Status().LastIndex-first)), "commands/entry")
	if err := group.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}
