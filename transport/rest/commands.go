package rest

import (
	"github.com/houseful/houseful/cluster"
	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// commands is what the server asks its node to decide. An error is cluster.ErrNotApplied or cluster.ErrUnknown. A healthy
// node gives neither, so this is where a test comes between the two.
type commands interface {
	Hold(*wire.Hold) (*fsm.Result, error)
	Confirm(fsm.BookingRef, *wire.Confirm) (*fsm.Result, error)
	Release(fsm.BookingRef, *wire.Release) (*fsm.Result, error)
	Extend(fsm.BookingRef, *wire.Extend) (*fsm.Result, error)
	Cancel(fsm.BookingRef, *wire.Cancel) (*fsm.Result, error)
	Block(*wire.Block) (*fsm.Result, error)
	ControlShow(*wire.ControlShow) (*fsm.Result, error)
	PutShow(fsm.ShowID, cluster.ShowRequest) (*fsm.Result, error)
	FindByKey(show fsm.ShowID, key [16]byte) (*fsm.Result, error)
}
