package rest

import (
	"errors"
	"net"
	"os"
	"time"

	"github.com/houseful/houseful/fsm"
)

// stream is one client that follows a show. It ends when the client goes away or accepts nothing, and with the hub.
type stream struct {
	hub     *streamHub
	conn    net.Conn
	watch   *watch
	place   uint64 // of the next event
	version uint64 // what the client has
	events  []streamEvent
}

// errStreamEnded says that the stream ended for the node's reasons, not the client's.
var errStreamEnded = errors.New("stream ended")

// serve runs a stream on a connection until it ends. head is the answer's status line and headers. With resume, the
// client has the show at version since.
func (h *streamHub) serve(conn net.Conn, head []byte, show fsm.Show, resume bool, since uint64) {
	w, err := h.join(show)
	if err != nil {
		return // the last place went to another client, or the node stops: this one finds a closed connection
	}
	defer h.leave(w)
	s := &stream{hub: h, conn: conn, watch: w}
	if s.write(head) != nil || s.begin(resume, since) != nil {
		return
	}
	comment := time.NewTicker(h.times.comment)
	defer comment.Stop()
	for {
		changed, err := s.deliver()
		if err != nil {
			return
		}
		select {
		case <-changed:
		case <-comment.C:
			if s.gone() || s.write([]byte(": still here\n\n")) != nil {
				return
			}
		case <-h.done:
			return
		}
	}
}

// begin sends the first event: what changed since the version that the client has, or else everything. A client that
// comes back gets a show event as well, changed or not: it has missed those of the time it was away.
func (s *stream) begin(resume bool, since uint64) error {
	s.place = s.watch.end() // before the read, so that nothing is between the two
	if resume {
		changes, show, complete, ok, err := s.hub.reader.SeatChanges(s.watch.id, since, nil)
		if err != nil || !ok {
			return errStreamEnded
		}
		if complete {
			s.version = show.Version
			return s.write(appendShowEvent(appendChangesEvent(nil, &show, changes), &show))
		}
		return s.resync()
	}
	m, err := s.snapshot()
	if err != nil {
		return err
	}
	return s.write(appendSnapshotEvent(nil, &m.show, m.letters))
}

// resync sends everything to a client that has missed something, the sale state in a show event as well.
func (s *stream) resync() error {
	m, err := s.snapshot()
	if err != nil {
		return err
	}
	return s.write(appendShowEvent(appendSnapshotEvent(nil, &m.show, m.letters), &m.show))
}

// snapshot gives the map that the stream goes on from.
func (s *stream) snapshot() (*seatMap, error) {
	s.place = s.watch.end()
	m, err := s.hub.maps.get(s.watch.id, s.version)
	if err != nil || m == nil {
		return nil, errStreamEnded
	}
	s.version = m.show.Version
	return m, nil
}

// deliver sends what happened since. changed is closed when there is more.
func (s *stream) deliver() (changed <-chan struct{}, err error) {
	for {
		var kept bool
		s.events, kept, changed = s.watch.after(s.place, s.events[:0])
		if !kept {
			if err := s.resync(); err != nil {
				return nil, err
			}
			continue
		}
		if len(s.events) == 0 {
			return changed, nil
		}
		for _, event := range s.events {
			s.place++
			if event.from > s.version { // never so while the events follow each other; a snapshot is always right
				if err := s.resync(); err != nil {
					return nil, err
				}
				break
			}
			if s.knows(event) {
				continue
			}
			if err := s.write(event.bytes); err != nil {
				return nil, err
			}
			s.version = event.to
		}
		clear(s.events) // let go of the bytes
	}
}

// knows reports whether an event says nothing new: its changes came with the snapshot that this client got meanwhile.
// A snapshot always counts, for it may start another history of the show.
func (s *stream) knows(event streamEvent) bool {
	return !event.whole && (event.to < s.version || event.to == s.version && event.from < event.to)
}

func (s *stream) write(data []byte) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.hub.times.write)); err != nil {
		return err
	}
	_, err := s.conn.Write(data)
	return err
}

// gone looks whether the client has closed its end. A stream's client has nothing to say, so this waits a moment only.
func (s *stream) gone() bool {
	if s.conn.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return true
	}
	var ignored [64]byte
	_, err := s.conn.Read(ignored[:])
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}
