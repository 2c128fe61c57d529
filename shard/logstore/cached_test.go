package logstore

import (
	"errors"
	"sync"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/houseful/houseful/shard/logstore/storetest"
)

// cachedStore gives a store with a cache what the suite asks for.
type cachedStore struct {
	*Cache
	raft.StableStore
	close func() error
}

func (s cachedStore) Close() error { return s.close() }

// M-41: a cache, however small, answers as the store does.
func TestConformanceCached(t *testing.T) {
	for _, maxBytes := range []int{1, 5_000} {
		storetest.Run(t, storetest.Harness{Open: func(dir string) (storetest.Store, error) {
			s, err := openPebbleStore(t, dir)
			if err != nil {
				return nil, err
			}
			cache, err := Cached(s, maxBytes)
			// Two arguments of the suite do not hold behind a cache: it answers after Close, and shares bytes.
			return uncopied{cachedStore{Cache: cache, StableStore: s, close: s.Close}, s}, err
		}})
	}
}

// uncopied hands the cache copies, as raft in effect does, and reads nothing after Close.
type uncopied struct {
	cachedStore
	store pebbleStore
}

func (s uncopied) StoreLogs(logs []*raft.Log) error {
	copies := make([]*raft.Log, len(logs))
	for i, log := range logs {
		entry := *log
		entry.Data = append([]byte(nil), log.Data...)
		copies[i] = &entry
	}
	return s.cachedStore.StoreLogs(copies)
}

func (s uncopied) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

func (s uncopied) GetLog(index uint64, log *raft.Log) error {
	if _, err := s.store.LastIndex(); err != nil {
		return err
	}
	err := s.cachedStore.GetLog(index, log)
	log.Data = append([]byte(nil), log.Data...)
	return err
}

func TestCacheBounds(t *testing.T) {
	const maxBytes = 10_000
	under := raft.NewInmemStore()
	if _, err := Cached(under, 0); err == nil {
		t.Fatal("a cache of no bytes was made")
	}
	cache, err := Cached(under, maxBytes)
	must(t, err)
	if cache.IsMonotonic() {
		t.Fatal("the store under it is not monotonic")
	}
	for index := uint64(1); index <= 500; index++ {
		must(t, cache.StoreLogs(storetest.Entries(index, 1, 1)))
		if cache.Bytes() > maxBytes {
			t.Fatalf("%d bytes after entry %d", cache.Bytes(), index)
		}
	}
	if cache.Bytes() < maxBytes/2 {
		t.Fatalf("only %d bytes used", cache.Bytes())
	}
	// The newest is served although the store lost it; the oldest is not kept.
	must(t, under.DeleteRange(1, 500))
	var log raft.Log
	must(t, cache.GetLog(500, &log))
	if err := cache.GetLog(1, &log); !errors.Is(err, raft.ErrLogNotFound) {
		t.Fatalf("GetLog(1): %v", err)
	}
	// One entry over the bound clears it rather than break it.
	big := &raft.Log{Index: 501, Data: make([]byte, 2*maxBytes)}
	must(t, cache.StoreLog(big))
	if cache.Bytes() != 0 {
		t.Fatalf("%d bytes beside an entry that is too big", cache.Bytes())
	}
}

func TestCacheConcurrent(t *testing.T) {
	cache, err := Cached(raft.NewInmemStore(), 5_000)
	must(t, err)
	done := make(chan struct{})
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				last, _ := cache.LastIndex()
				var log raft.Log
				if err := cache.GetLog(last, &log); err == nil && log.Index != last {
					t.Errorf("asked for %d, got %d", last, log.Index)
				}
			}
		})
	}
	for index := uint64(1); index <= 2000; index += 2 {
		must(t, cache.StoreLogs(storetest.Entries(index, 2, 1)))
		if index%200 == 1 && index > 100 {
			must(t, cache.DeleteRange(index-100, index-50))
		}
	}
	close(done)
	wait.Wait()
}
