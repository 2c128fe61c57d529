package logstore

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hashicorp/raft"
)

// BenchmarkStoreLogs measures appends with their fsync: replicas of one node that write at once, entries per append.
func BenchmarkStoreLogs(b *testing.B) {
	const entryBytes = 128
	for _, replicas := range []int{1, 8, 64} {
		for _, batch := range []int{1, 64} {
			b.Run(fmt.Sprintf("pebble/replicas=%d/batch=%d", replicas, batch), func(b *testing.B) {
				p, err := OpenPebble(b.TempDir(), PebbleOptions{Logger: quiet(), Fatal: testFatal(b)})
				must(b, err)
				defer p.Close()
				stores := make([]raft.LogStore, replicas)
				for i := range stores {
					stores[i], err = p.Replica(uint64(i), ReplicaOptions{})
					must(b, err)
				}
				benchmarkStore(b, stores, batch, entryBytes)
			})
		}
	}
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprintf("bolt/batch=%d", batch), func(b *testing.B) {
			s, err := OpenBolt(filepath.Join(b.TempDir(), "raft.db"), BoltOptions{Logger: quiet(), Fatal: testFatal(b)})
			must(b, err)
			defer s.Close()
			benchmarkStore(b, []raft.LogStore{s}, batch, entryBytes)
		})
	}
}

// benchmarkStore makes b.N appends, shared out over the stores.
func benchmarkStore(b *testing.B, stores []raft.LogStore, batch, entryBytes int) {
	b.ReportAllocs()
	b.ResetTimer()
	var wait sync.WaitGroup
	for i, s := range stores {
		appends := b.N / len(stores)
		if i < b.N%len(stores) {
			appends++
		}
		wait.Go(func() {
			logs := make([]*raft.Log, batch)
			for j := range logs {
				logs[j] = &raft.Log{Term: 1, Data: make([]byte, entryBytes)}
			}
			index := uint64(0)
			for range appends {
				for _, log := range logs {
					index++
					log.Index = index
				}
				if err := s.StoreLogs(logs); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkGetLog measures a read that misses the entry cache.
func BenchmarkGetLog(b *testing.B) {
	const entries = 10_000
	p, err := OpenPebble(b.TempDir(), PebbleOptions{Logger: quiet(), Fatal: testFatal(b)})
	must(b, err)
	defer p.Close()
	r, err := p.Replica(1, ReplicaOptions{})
	must(b, err)
	for index := uint64(1); index <= entries; index += 100 {
		logs := make([]*raft.Log, 100)
		for i := range logs {
			logs[i] = &raft.Log{Index: index + uint64(i), Term: 1, Data: make([]byte, 128)}
		}
		must(b, r.StoreLogs(logs))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		var log raft.Log
		must(b, r.GetLog(uint64(i%entries)+1, &log))
	}
}
