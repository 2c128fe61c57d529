package rest

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/houseful/houseful/fsm"
)

// Errors of joining a stream.
var (
	errStreamsFull  = errors.New("as many streams as this node serves")
	errStreamsEnded = errors.New("the node is stopping")
)

// streamTimes are the periods of streams.
type streamTimes struct {
	look    time.Duration // between two looks at a watched show
	comment time.Duration // between two comments; also how soon a client that went away is noticed
	write   time.Duration // how long a client may take to accept what is written
}

// streamHub watches the shows that streams follow, in one goroutine for all of them, which runs while there are any.
// It encodes each event once.
//
// A stream holds no queue of its own, only a place in the show's recent events, so a slow client costs nothing: one
// that falls behind what is kept gets a snapshot, one that accepts nothing for streamTimes.write is cut off.
type streamHub struct {
	reader seatReader
	maps   *seatMapCache
	times  streamTimes
	max    int // streams at once

	mu      sync.Mutex
	watches map[fsm.ShowID]*watch
	streams int
	running bool // run is
	closed  bool

	done  chan struct{} // closed by close
	ended sync.WaitGroup
}

func newStreamHub(reader seatReader, maps *seatMapCache, times streamTimes, streamsMax int) *streamHub {
	return &streamHub{
		reader: reader, maps: maps, times: times, max: streamsMax, watches: make(map[fsm.ShowID]*watch),
		done: make(chan struct{}),
	}
}

// close ends every stream and waits for them. The clients come back with their Last-Event-ID, to whoever serves then.
func (h *streamHub) close() {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.done)
	}
	h.mu.Unlock()
	h.ended.Wait()
}

// full says why no stream may join now, nil if one may.
func (h *streamHub) full() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refusal()
}

func (h *streamHub) refusal() error {
	switch {
	case h.closed:
		return errStreamsEnded
	case h.streams >= h.max:
		return errStreamsFull
	}
	return nil
}

// join makes the caller a stream of a show until it calls leave.
func (h *streamHub) join(show fsm.Show) (*watch, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.refusal(); err != nil {
		return nil, err
	}
	w := h.watches[show.ID]
	if w == nil {
		w = &watch{id: show.ID, show: show, changed: make(chan struct{})}
		h.watches[show.ID] = w
	}
	if !h.running {
		h.running = true
		h.ended.Go(h.run)
	}
	w.streams++
	h.streams++
	h.ended.Add(1)
	return w, nil
}

func (h *streamHub) leave(w *watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams--
	if w.streams--; w.streams == 0 {
		delete(h.watches, w.id)
	}
	h.ended.Done()
}

// run looks at every watched show until there is none.
func (h *streamHub) run() {
	ticker := time.NewTicker(h.times.look)
	defer ticker.Stop()
	var watched []*watch
	for {
		select {
		case <-h.done:
			return
		case <-ticker.C:
		}
		if watched = h.watched(watched[:0]); len(watched) == 0 {
			return
		}
		for _, w := range watched {
			h.look(w)
		}
		clear(watched)
	}
}

// watched appends the shows to look at. When there is none, run is over, and the next stream starts it again.
func (h *streamHub) watched(dst []*watch) []*watch {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.watches {
		dst = append(dst, w)
	}
	h.running = len(dst) > 0
	return dst
}

// look publishes what happened to a show since the last look. When the replica cannot be read, the next look makes
// up for it: the events are made from the version that was published last.
func (h *streamHub) look(w *watch) {
	last := &w.show // only this goroutine writes it
	show, ok, err := h.reader.Show(last.ID)
	if err != nil || !ok || sameMap(last, &show) {
		return
	}
	var events []streamEvent
	if show.Version != last.Version || show.Revision != last.Revision {
		event, now, ok := h.seatEvent(last)
		if !ok {
			return
		}
		show = now
		events = append(events, event)
	}
	if show.Status != last.Status {
		events = append(events, streamEvent{from: show.Version, to: show.Version, bytes: appendShowEvent(nil, &show)})
	}
	w.publish(show, events)
}

// seatEvent makes the event that takes a client from last to now.
func (h *streamHub) seatEvent(last *fsm.Show) (event streamEvent, now fsm.Show, ok bool) {
	changes, now, complete, ok, err := h.reader.SeatChanges(last.ID, last.Version, nil)
	if err != nil || !ok {
		return streamEvent{}, now, false
	}
	if complete && now.Definition.Layout == last.Definition.Layout {
		return streamEvent{from: last.Version, to: now.Version, bytes: appendChangesEvent(nil, &now, changes)}, now, true
	}
	m, err := h.maps.get(last.ID, now.Version)
	if err != nil || m == nil {
		return streamEvent{}, now, false
	}
	return streamEvent{to: m.show.Version, whole: true, bytes: appendSnapshotEvent(nil, &m.show, m.letters)}, m.show, true
}

// streamEvent is an encoded event. It takes a client that has any version from the first to the last to the last:
// seats come with the status they have then, so it may repeat what the client knows. A whole one is a snapshot.
type streamEvent struct {
	from, to uint64
	whole    bool
	bytes    []byte
}

// watch is a show that streams follow, with its recent events.
type watch struct {
	id      fsm.ShowID
	streams int // guarded by the hub's mu

	mu      sync.RWMutex
	show    fsm.Show // as the last event left it
	events  []streamEvent
	first   uint64        // the place of events[0] among all that ever were
	size    int           // bytes of the events
	changed chan struct{} // closed at the next event
}

// publish adds events, lets go of the oldest beyond the limits, and wakes the streams.
func (w *watch) publish(show fsm.Show, events []streamEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.show = show
	for _, event := range events {
		w.events = append(w.events, event)
		w.size += len(event.bytes)
	}
	drop := 0
	for len(w.events)-drop > streamEventsMax || w.size > streamEventsBytesMax {
		w.size -= len(w.events[drop].bytes)
		drop++
	}
	w.events = slices.Delete(w.events, 0, drop)
	w.first += uint64(drop)
	close(w.changed)
	w.changed = make(chan struct{})
}

// end is the place after the last event.
func (w *watch) end() uint64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.first + uint64(len(w.events))
}

// after appends the events from a place on. kept is false when the events there are gone. changed is closed when there
// are more.
func (w *watch) after(place uint64, dst []streamEvent) (events []streamEvent, kept bool, changed <-chan struct{}) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if place < w.first {
		return dst, false, w.changed
	}
	return append(dst, w.events[place-w.first:]...), true, w.changed
}

func appendEventHead(dst []byte, name string, version uint64) []byte {
	dst = strconv.AppendUint(append(dst, "id: "...), version, 10)
	dst = append(append(dst, "\nevent: "...), name...)
	return append(dst, "\ndata: "...)
}

func appendSnapshotEvent(dst []byte, show *fsm.Show, letters []byte) []byte {
	dst = appendEventHead(dst, "snapshot", show.Version)
	return append(appendAvailability(dst, show, letters), "\n\n"...)
}

func appendChangesEvent(dst []byte, show *fsm.Show, changes []fsm.SeatChange) []byte {
	dst = appendEventHead(dst, "changes", show.Version)
	return append(appendChanges(dst, show, changes), "\n\n"...)
}

// appendShowEvent writes the event of a changed sale state.
func appendShowEvent(dst []byte, show *fsm.Show) []byte {
	dst = appendEventHead(dst, "show", show.Version)
	dst = appendString(append(dst, `{"showId":`...), string(show.ID))
	dst = append(append(dst, `,"status":"`...), show.Status.String()...)
	dst = strconv.AppendUint(append(dst, `","version":`...), show.Version, 10)
	dst = appendTime(append(dst, `,"asOf":`...), show.AsOf)
	return append(dst, "}\n\n"...)
}
