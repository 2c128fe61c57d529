package logstore

import (
	"fmt"
	"sync"

	"github.com/hashicorp/raft"
)

// Cache keeps the newest entries of a log in memory, for the leader, who reads each entry back once per follower. It is bounded in
// bytes; raft.LogCache counts entries, and one of ours may take 1 MiB. Entries that it answers share their bytes with those that were
// stored, so neither side may change them. It is as safe for concurrent use as the store under it.
type Cache struct {
	store    raft.LogStore
	maxBytes int

	// mu guards the fields below.
	mu sync.RWMutex
	// entries holds the indexes from first on, without gaps, as a ring.
	entries []*raft.Log
	start   int
	count   int
	bytes   int
}

var (
	_ raft.LogStore          = (*Cache)(nil)
	_ raft.MonotonicLogStore = (*Cache)(nil)
)

// cacheRingMin is the capacity a ring starts with; it doubles while its bytes fit.
const cacheRingMin = 64

// Cached wraps store with a cache of at most maxBytes (Data, Extensions and some overhead per entry), which must be positive.
func Cached(store raft.LogStore, maxBytes int) (*Cache, error) {
	if maxBytes <= 0 {
		return nil, fmt.Errorf("logstore: a cache of %d bytes", maxBytes)
	}
	return &Cache{store: store, maxBytes: maxBytes, entries: make([]*raft.Log, cacheRingMin)}, nil
}

// IsMonotonic says what the store says. Raft would go wrong on gaps if a wrapper kept it back.
func (c *Cache) IsMonotonic() bool {
	monotonic, ok := c.store.(raft.MonotonicLogStore)
	return ok && monotonic.IsMonotonic()
}

// FirstIndex asks the store.
func (c *Cache) FirstIndex() (uint64, error) { return c.store.FirstIndex() }

// LastIndex asks the store.
func (c *Cache) LastIndex() (uint64, error) { return c.store.LastIndex() }

// GetLog answers from memory or asks the store.
func (c *Cache) GetLog(index uint64, log *raft.Log) error {
	if cached := c.find(index); cached != nil {
		*log = *cached
		return nil
	}
	return c.store.GetLog(index, log)
}

// StoreLog stores one entry.
func (c *Cache) StoreLog(log *raft.Log) error { return c.StoreLogs([]*raft.Log{log}) }

// StoreLogs stores entries and keeps them once the store has them. The error is the store's own, so that errors.Is works.
func (c *Cache) StoreLogs(logs []*raft.Log) error {
	if err := c.store.StoreLogs(logs); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, log := range logs {
		c.add(log)
	}
	return nil
}

// DeleteRange forgets what it covers before the store does.
func (c *Cache) DeleteRange(min, max uint64) error {
	c.mu.Lock()
	if c.count > 0 {
		first := c.entries[c.start].Index
		last := first + uint64(c.count) - 1
		switch {
		case max < first || min > last:
		case min <= first && max < last:
			for c.count > 0 && c.entries[c.start].Index <= max {
				c.dropOldest()
			}
		default:
			c.clear()
		}
	}
	c.mu.Unlock()
	return c.store.DeleteRange(min, max)
}

// Bytes returns how much the cache holds.
func (c *Cache) Bytes() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.bytes
}

func (c *Cache) find(index uint64) *raft.Log {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.count == 0 {
		return nil
	}
	first := c.entries[c.start].Index
	if index < first || index >= first+uint64(c.count) {
		return nil
	}
	return c.entries[(c.start+int(index-first))%len(c.entries)]
}

func (c *Cache) add(log *raft.Log) {
	size := cachedSize(log)
	if c.count > 0 && c.entries[c.start].Index+uint64(c.count) != log.Index || size > c.maxBytes {
		c.clear()
	}
	if size > c.maxBytes {
		return
	}
	for c.bytes+size > c.maxBytes {
		c.dropOldest()
	}
	if c.count == len(c.entries) {
		c.grow()
	}
	c.entries[(c.start+c.count)%len(c.entries)] = log
	c.count++
	c.bytes += size
}

func (c *Cache) grow() {
	bigger := make([]*raft.Log, 2*len(c.entries))
	for i := range c.count {
		bigger[i] = c.entries[(c.start+i)%len(c.entries)]
	}
	c.entries, c.start = bigger, 0
}

func (c *Cache) dropOldest() {
	c.bytes -= cachedSize(c.entries[c.start])
	c.entries[c.start] = nil
	c.start = (c.start + 1) % len(c.entries)
	c.count--
}

func (c *Cache) clear() {
	clear(c.entries)
	c.start, c.count, c.bytes = 0, 0, 0
}

func cachedSize(log *raft.Log) int { return len(log.Data) + len(log.Extensions) + logOverheadBytes }
