package shard

// stateFailed is State of a group that stopped for good; raft's own names are used otherwise.
const stateFailed = "Failed"

// Status is what a group says about itself.
type Status struct {
	Name  string
	State string // Follower, Candidate, Leader, Shutdown, Failed
	// Leader is the raft server id of the leader, empty when none is known.
	Leader string
	// Open says that this replica leads and takes commands.
	Open bool
	Term uint64

	FirstIndex    uint64 // of the log
	LastIndex     uint64 // of the log
	CommitIndex   uint64
	AppliedIndex  uint64 // done by the machine, not merely queued to it
	SnapshotIndex uint64 // of the newest snapshot

	QueueDepth int
	// LogTimeMS is the machine's time, in milliseconds since the Unix epoch.
	LogTimeMS int64
}

// Status gives the group's state. It does not wait for anything but the store's first index.
func (g *Group[R]) Status() Status {
	_, leader := g.raft.LeaderWithID()
	s := Status{
		Name:          g.config.Name,
		State:         g.raft.State().String(),
		Leader:        string(leader),
		Open:          g.lead.open.Load(),
		Term:          g.raft.CurrentTerm(),
		LastIndex:     g.raft.LastIndex(),
		CommitIndex:   g.raft.CommitIndex(),
		AppliedIndex:  g.replica.index.Load(),
		SnapshotIndex: g.stores.Snapshots.Newest(),
		QueueDepth:    g.queue.depth(),
		LogTimeMS:     int64(g.replica.logTime()),
	}
	if g.Err() != nil {
		s.State = stateFailed
	}
	if first, err := g.log.FirstIndex(); err == nil {
		s.FirstIndex = first
	}
	return s
}
