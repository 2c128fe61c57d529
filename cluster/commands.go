package cluster

import (
	"time"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// The commands below return when the outcome is known or the request timeout has passed. The result's code says
// what was decided. An error is ErrNotApplied (see its sub-errors) or ErrUnknown, and nothing else. CodeCommandTooLate
// and CodeFull do not come out: they are ErrNotReady and ErrOverloaded. A command's message belongs to the call until
// it returns; its booking field is set by it.

// Hold takes seats, all or none. It draws the booking's reference.
func (n *Node) Hold(c *wire.Hold) (*fsm.Result, error) {
	shards, deadline, err := n.begin()
	if err != nil {
		return nil, err
	}
	defer n.inside.leave()
	s := shardOfShow(shards, c.ShowId)
	return n.decide(s, fsm.CommandID(drawBookingRef(s.number)), fieldHold, c, deadline)
}

// Release gives a pending booking's seats back.
func (n *Node) Release(ref fsm.BookingRef, c *wire.Release) (*fsm.Result, error) {
	c.Booking = ref[:]
	return n.decideBooking(ref, fieldRelease, c)
}

// Extend moves a pending booking's deadline.
func (n *Node) Extend(ref fsm.BookingRef, c *wire.Extend) (*fsm.Result, error) {
	c.Booking = ref[:]
	return n.decideBooking(ref, fieldExtend, c)
}

// Cancel cancels a booking or some of its seats.
func (n *Node) Cancel(ref fsm.BookingRef, c *wire.Cancel) (*fsm.Result, error) {
	c.Booking = ref[:]
	return n.decideBooking(ref, fieldCancel, c)
}

// Block blocks or unblocks seats of a show, all or none.
func (n *Node) Block(c *wire.Block) (*fsm.Result, error) {
	return n.decideShow(c.ShowId, fieldBlock, c)
}

// ControlShow pauses, resumes, closes or cancels a show.
func (n *Node) ControlShow(c *wire.ControlShow) (*fsm.Result, error) {
	return n.decideShow(c.ShowId, fieldControlShow, c)
}

// FindByKey looks, through the log, for the booking that an idempotency key made: CodeOK with the booking, or
// CodeBookingNotFound with At, after which asking again gives a final answer.
func (n *Node) FindByKey(show fsm.ShowID, key [16]byte) (*fsm.Result, error) {
	return n.decideShow(string(show), fieldFindByKey, &wire.FindByKey{ShowId: string(show), IdempotencyKey: key[:]})
}

// begin lets a command in and gives the shards and the time it has. The caller leaves n.inside unless there is an
// error.
func (n *Node) begin() ([]*dataShard, time.Time, error) {
	if !n.inside.enter() {
		return nil, time.Time{}, ErrClosed
	}
	shards := n.serving()
	if shards == nil {
		n.inside.leave()
		return nil, time.Time{}, n.notReady()
	}
	return shards, time.Now().Add(n.config.RequestTimeout), nil
}

func (n *Node) decideShow(show string, field uint64, body body) (*fsm.Result, error) {
	shards, deadline, err := n.begin()
	if err != nil {
		return nil, err
	}
	defer n.inside.leave()
	return n.decide(shardOfShow(shards, show), drawCommandID(), field, body, deadline)
}

func (n *Node) decideBooking(ref fsm.BookingRef, field uint64, body body) (*fsm.Result, error) {
	shards, deadline, err := n.begin()
	if err != nil {
		return nil, err
	}
	defer n.inside.leave()
	s := shardOfBooking(shards, ref)
	if s == nil {
		return n.noSuchBooking(), nil
	}
	return n.decide(s, drawCommandID(), field, body, deadline)
}

// noSuchBooking answers for a reference of a shard that the cluster does not have.
func (n *Node) noSuchBooking() *fsm.Result {
	return &fsm.Result{Code: fsm.CodeBookingNotFound, Now: n.clock.Now()}
}
