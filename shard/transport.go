package shard

import (
	"errors"

	"github.com/hashicorp/raft"
)

// ErrTransport says that a transport lacks what a group needs.
var ErrTransport = errors.New("transport must support pre-vote")

// guardedTransport is the transport as raft sees it.
type guardedTransport struct {
	raft.Transport
	preVote raft.WithPreVote
	ready   func() // raft is about to start its goroutines
}

var (
	_ raft.WithPreVote = (*guardedTransport)(nil)
	_ raft.WithClose   = (*guardedTransport)(nil)
)

func newGuardedTransport(inner raft.Transport, ready func()) (*guardedTransport, error) {
	preVote, ok := inner.(raft.WithPreVote)
	if !ok {
		return nil, ErrTransport
	}
	return &guardedTransport{Transport: inner, preVote: preVote, ready: ready}, nil
}

// SetHeartbeatHandler keeps heartbeats on raft's main goroutine: handled beside it they can raise the term in the
// middle of an append and let logs diverge (hashicorp/raft #695). Raft calls it last before it starts.
func (t *guardedTransport) SetHeartbeatHandler(func(raft.RPC)) { t.ready() }

// AppendEntriesPipeline refuses: with more than one append in flight a follower can end up never replicated to again
// while its heartbeats go on (#611, #612). Entries are batches already, so this costs little.
func (t *guardedTransport) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// RequestPreVote forwards to the transport.
func (t *guardedTransport) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest,
	resp *raft.RequestPreVoteResponse,
) error {
	return t.preVote.RequestPreVote(id, target, args, resp)
}

// Close closes the transport if it can be closed.
func (t *guardedTransport) Close() error {
	if c, ok := t.Transport.(raft.WithClose); ok {
		return c.Close()
	}
	return nil
}
