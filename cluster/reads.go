package cluster

import (
	"slices"
	"time"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// Consistency says how fresh a read must be.
type Consistency uint8

// The consistencies of a read.
const (
	// ReadLeader asks the replica that leads: it knows every acknowledged write unless it has just been deposed.
	ReadLeader Consistency = iota
	// ReadLocal asks this node's replica, which may be behind.
	ReadLocal
	// ReadStrong goes through the log.
	ReadStrong
)

// The reads below give ErrNotReady while the shard's replica here has not caught up with what was acknowledged
// before it started; ok is false when the thing does not exist. What they return is immutable or a copy.

// Booking gives a booking as it is at the replica's time.
func (n *Node) Booking(ref fsm.BookingRef, consistency Consistency) (b *fsm.Booking, ok bool, err error) {
	if consistency == ReadStrong {
		result, err := n.decideBooking(ref, fieldReadBooking, &wire.ReadBooking{Booking: ref[:]})
		if err != nil || result.Code != fsm.CodeOK {
			return nil, false, err
		}
		return result.Booking, true, nil
	}
	shards, err := n.reading()
	if err != nil {
		return nil, false, err
	}
	s := shardOfBooking(shards, ref)
	if s == nil {
		return nil, false, nil
	}
	if consistency == ReadLeader && !s.group.Leads() {
		return nil, false, n.notReady()
	}
	s.read(func(m *fsm.Machine) { b, ok = m.Booking(ref, n.clock.Now()) })
	return b, ok, nil
}

// Bookings lists bookings after filter.Before, newest first, over all shards. The next page starts at PositionOf the
// last one; a page shorter than filter.Limit is the last.
func (n *Node) Bookings(filter fsm.BookingFilter) ([]*fsm.Booking, error) {
	shards, err := n.reading()
	if err != nil {
		return nil, err
	}
	filter.Limit = min(max(filter.Limit, 1), fsm.ListMax)
	if filter.Show != "" {
		number := ShardOf(string(filter.Show), len(shards))
		shards = shards[number : number+1]
	}
	var found []*fsm.Booking
	now := n.clock.Now()
	for _, s := range shards {
		if !s.group.Leads() {
			return nil, n.notReady()
		}
		s.read(func(m *fsm.Machine) { found = append(found, m.Bookings(filter, now)...) })
	}
	slices.SortFunc(found, func(a, b *fsm.Booking) int {
		switch {
		case PositionOf(a).Precedes(PositionOf(b)):
			return -1
		case PositionOf(b).Precedes(PositionOf(a)):
			return 1
		}
		return 0
	})
	return found[:min(len(found), filter.Limit)], nil
}

// PositionOf is a booking's place in the order of Bookings.
func PositionOf(b *fsm.Booking) fsm.BookingPosition { return b.Position() }

// Show gives a show's state.
func (n *Node) Show(id fsm.ShowID) (show fsm.Show, ok bool, err error) {
	err = n.readShow(id, func(m *fsm.Machine) { show, ok = m.Show(id, n.clock.Now()) })
	return show, ok, err
}

// ShowVersion gives a show's version, cheaply.
func (n *Node) ShowVersion(id fsm.ShowID) (version uint64, ok bool, err error) {
	err = n.readShow(id, func(m *fsm.Machine) { version, ok = m.ShowVersion(id) })
	return version, ok, err
}

// SeatStatuses appends one status a seat to dst.
func (n *Node) SeatStatuses(id fsm.ShowID, dst []fsm.SeatStatus) (statuses []fsm.SeatStatus, show fsm.Show, ok bool, err error) {
	statuses = dst
	err = n.readShow(id, func(m *fsm.Machine) { statuses, show, ok = m.SeatStatuses(id, n.clock.Now(), dst) })
	return statuses, show, ok, err
}

// SeatChanges appends the seats that changed after version since. complete is false when since is too old or is not
// this show's past: dst is unchanged then, and the full map is needed.
func (n *Node) SeatChanges(id fsm.ShowID, since uint64, dst []fsm.SeatChange) (changes []fsm.SeatChange, show fsm.Show, complete, ok bool, err error) {
	changes = dst
	err = n.readShow(id, func(m *fsm.Machine) {
		changes, show, complete, ok = m.SeatChanges(id, n.clock.Now(), since, dst)
	})
	return changes, show, complete, ok, err
}

// Lag is how far this node's replica of a show's shard is behind its leader: 0 where it leads.
func (n *Node) Lag(id fsm.ShowID) time.Duration {
	shards, err := n.reading()
	if err != nil || shardOfShow(shards, string(id)).group.Leads() {
		return 0
	}
	status := shardOfShow(shards, string(id)).group.Status()
	return max(0, time.Duration(int64(n.clock.Now())-status.LogTimeMS)*time.Millisecond)
}

func (n *Node) readShow(id fsm.ShowID, fn func(*fsm.Machine)) error {
	shards, err := n.reading()
	if err != nil {
		return err
	}
	shardOfShow(shards, string(id)).read(fn)
	return nil
}

// reading gives the shards to read from: after they have been ready once, also while the node closes.
func (n *Node) reading() ([]*dataShard, error) {
	if shards := n.serving(); shards != nil {
		return shards, nil
	}
	return nil, n.notReady()
}
