package rest

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/fsm"
)

// seatReader is what seat maps are made of: reads of this node's replica. Each answer is of one moment.
type seatReader interface {
	Show(id fsm.ShowID) (fsm.Show, bool, error)
	SeatStatuses(id fsm.ShowID, dst []fsm.SeatStatus) ([]fsm.SeatStatus, fsm.Show, bool, error)
	SeatChanges(id fsm.ShowID, since uint64, dst []fsm.SeatChange) (changes []fsm.SeatChange, show fsm.Show, complete, ok bool, err error)
}

// seatMap is a show at one version: immutable, shared by every request that asks for it. Its bodies are encoded when
// the first request wants them, once.
type seatMap struct {
	show    fsm.Show
	letters []byte // one a seat, as in an availability string
	etag    string

	seats        body
	availability body
}

// body is an encoded answer with its compressed forms, each made at most once.
type body struct{ plain, gzip, zstd rendition }

// rendition is bytes that are made once.
type rendition struct {
	once  sync.Once
	bytes []byte
}

// get gives the bytes, which must not be changed. made is called with their size when this call made them.
func (r *rendition) get(encode func() []byte, made func(size int)) []byte {
	r.once.Do(func() {
		r.bytes = encode()
		made(len(r.bytes))
	})
	return r.bytes
}

// seatMapCache keeps the current seat map of every show that people look at, within a budget of bytes.
//
// A map is taken as current for refreshInterval after a look at the show's version, so a hot show is looked at 40
// times a second, however many ask. A request never gets a map that lacks a change which this node's replica had
// refreshInterval before the request came. One goroutine at a time looks and encodes; others of that show wait for it.
type seatMapCache struct {
	reader          seatReader
	bytesMax        int
	refreshInterval time.Duration
	start           time.Time // zero of the monotonic times below

	mapMu sync.RWMutex
	shows map[fsm.ShowID]*cachedShow

	sizeMu sync.Mutex // guards the sizes, and orders evictions; taken before mapMu
	size   int
}

// cachedShow is a show's place in the cache.
type cachedShow struct {
	current   atomic.Pointer[seatMap]
	checkedAt atomic.Int64 // when the look at the version began that found current to be current
	usedAt    atomic.Int64
	refreshMu sync.Mutex // one looks and encodes at a time

	size    int // of current's bytes; guarded by the cache's sizeMu
	evicted bool
}

func newSeatMapCache(reader seatReader, bytesMax int, refreshInterval time.Duration) *seatMapCache {
	return &seatMapCache{
		reader: reader, bytesMax: bytesMax, refreshInterval: refreshInterval, start: time.Now(),
		shows: make(map[fsm.ShowID]*cachedShow),
	}
}

// get gives a show's map, not older than minVersion where the replica has that. nil: there is no such show.
func (c *seatMapCache) get(id fsm.ShowID, minVersion uint64) (*seatMap, error) {
	now := int64(time.Since(c.start))
	c.mapMu.RLock()
	entry := c.shows[id]
	c.mapMu.RUnlock()
	if entry != nil {
		if current := entry.fresh(c, now, minVersion); current != nil {
			return current, nil
		}
	}
	return c.refresh(id, entry, now, minVersion)
}

// fresh gives the current map if it is fresh enough for a request that came at now.
func (e *cachedShow) fresh(c *seatMapCache, now int64, minVersion uint64) *seatMap {
	checkedAt := e.checkedAt.Load() // before current: a newer map with an older time is safe, the reverse is not
	current := e.current.Load()
	if current == nil || current.show.Version < minVersion || now-checkedAt >= int64(c.refreshInterval) {
		return nil
	}
	if now-e.usedAt.Load() > int64(time.Second) { // a second is fine enough for eviction, and spares the cache line
		e.usedAt.Store(now)
	}
	return current
}

// refresh looks at the show's version and makes a new map if it has changed.
func (c *seatMapCache) refresh(id fsm.ShowID, entry *cachedShow, now int64, minVersion uint64) (*seatMap, error) {
	if entry == nil {
		if _, ok, err := c.reader.Show(id); err != nil || !ok {
			return nil, err
		}
		entry = c.enter(id, now)
	}
	entry.refreshMu.Lock()
	defer entry.refreshMu.Unlock()
	if current := entry.fresh(c, now, minVersion); current != nil {
		return current, nil // another request looked while this one waited
	}
	began := int64(time.Since(c.start))
	show, ok, err := c.reader.Show(id)
	if err != nil || !ok {
		return nil, err
	}
	current := entry.current.Load()
	if current == nil || !sameMap(&current.show, &show) {
		if current, err = readSeatMap(c.reader, id, current); err != nil || current == nil {
			return nil, err
		}
		entry.current.Store(current)
		c.replaced(entry, len(current.letters))
	}
	entry.usedAt.Store(began)
	entry.checkedAt.Store(began)
	return current, nil
}

// sameMap reports whether two looks at a show saw the same. The status may change with time alone.
func sameMap(a, b *fsm.Show) bool {
	return a.Version == b.Version && a.Status == b.Status && a.Revision == b.Revision
}

// readSeatMap reads a show's map. With the map before it, it reads only what changed since: of a large house, that keeps
// the shard's lock for a small part of the time.
func readSeatMap(reader seatReader, id fsm.ShowID, before *seatMap) (*seatMap, error) {
	if before != nil {
		changes, show, complete, ok, err := reader.SeatChanges(id, before.show.Version, nil)
		if err != nil || !ok {
			return nil, err
		}
		if complete && show.Definition.Layout == before.show.Definition.Layout {
			letters := slices.Clone(before.letters)
			for _, change := range changes {
				letters[change.Seat] = change.Status.Letter()
			}
			return &seatMap{show: show, letters: letters, etag: seatMapETag(&show)}, nil
		}
	}
	statuses, show, ok, err := reader.SeatStatuses(id, nil)
	if err != nil || !ok {
		return nil, err
	}
	letters := make([]byte, len(statuses))
	for i, status := range statuses {
		letters[i] = status.Letter()
	}
	return &seatMap{show: show, letters: letters, etag: seatMapETag(&show)}, nil
}

// seatMapETag names a show's version. The log time is in it, so that another history of the same show (a new data
// directory, a restored backup) does not pass for this one.
func seatMapETag(show *fsm.Show) string {
	tag := strconv.AppendUint([]byte(`W/"`), show.Version, 36)
	tag = strconv.AppendInt(append(tag, '-'), int64(show.AsOf), 36)
	tag = strconv.AppendUint(append(tag, '-'), uint64(show.Status), 36)
	return string(append(tag, '"'))
}

// enter gives a show its place in the cache.
func (c *seatMapCache) enter(id fsm.ShowID, now int64) *cachedShow {
	c.mapMu.Lock()
	defer c.mapMu.Unlock()
	entry := c.shows[id]
	if entry == nil {
		entry = &cachedShow{}
		entry.checkedAt.Store(now - int64(c.refreshInterval))
		entry.usedAt.Store(now)
		c.shows[id] = entry
	}
	return entry
}

// replaced accounts for a new map in an entry's place; the old one's bytes go with the last request that sends them.
func (c *seatMapCache) replaced(entry *cachedShow, size int) {
	c.sizeMu.Lock()
	defer c.sizeMu.Unlock()
	if entry.evicted {
		return
	}
	c.size += size + cachedShowBytes - entry.size
	entry.size = size + cachedShowBytes
	c.evict()
}

// grown accounts for a body made of an entry's map, if the map is still the entry's.
func (c *seatMapCache) grown(id fsm.ShowID, of *seatMap, size int) {
	c.sizeMu.Lock()
	defer c.sizeMu.Unlock()
	c.mapMu.RLock()
	entry := c.shows[id]
	c.mapMu.RUnlock()
	if entry == nil || entry.current.Load() != of {
		return
	}
	c.size += size
	entry.size += size
	c.evict()
}

// evict lets go of the shows that nobody asked for longest, down to seven eighths of the budget. sizeMu is held.
func (c *seatMapCache) evict() {
	if c.size <= c.bytesMax {
		return
	}
	type candidate struct {
		id     fsm.ShowID
		entry  *cachedShow
		usedAt int64
	}
	c.mapMu.Lock()
	defer c.mapMu.Unlock()
	candidates := make([]candidate, 0, len(c.shows))
	for id, entry := range c.shows {
		candidates = append(candidates, candidate{id, entry, entry.usedAt.Load()})
	}
	slices.SortFunc(candidates, func(a, b candidate) int { return int(min(max(a.usedAt-b.usedAt, -1), 1)) })
	for _, victim := range candidates {
		if c.size <= c.bytesMax/8*7 {
			return
		}
		delete(c.shows, victim.id)
		victim.entry.evicted = true
		c.size -= victim.entry.size
	}
}

// seatsBody gives the seat map's bytes in an encoding.
func (c *seatMapCache) seatsBody(m *seatMap, encoding contentEncoding) []byte {
	return c.encoded(m, &m.seats, encoding, func() []byte {
		return appendSeatMap(make([]byte, 0, 256+seatBytesEstimate*len(m.letters)), &m.show, m.letters)
	})
}

// availabilityBody gives the availability's bytes in an encoding.
func (c *seatMapCache) availabilityBody(m *seatMap, encoding contentEncoding) []byte {
	return c.encoded(m, &m.availability, encoding, func() []byte {
		return appendAvailability(make([]byte, 0, 512+len(m.letters)), &m.show, m.letters)
	})
}

func (c *seatMapCache) encoded(m *seatMap, b *body, encoding contentEncoding, encode func() []byte) []byte {
	made := func(size int) { c.grown(m.show.ID, m, size) }
	plain := b.plain.get(encode, made)
	switch encoding {
	case encodingGzip:
		return b.gzip.get(func() []byte { return fasthttp.AppendGzipBytesLevel(nil, plain, fasthttp.CompressBestSpeed) }, made)
	case encodingZstd:
		return b.zstd.get(func() []byte { return fasthttp.AppendZstdBytesLevel(nil, plain, fasthttp.CompressZstdBestSpeed) }, made)
	}
	return plain
}
