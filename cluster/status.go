package cluster

import (
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/shard"
)

// Status is a cluster as one of its nodes sees it.
type Status struct {
	ClusterID      string
	FeatureVersion uint32
	Nodes          []NodeStatus
	Shards         []GroupStatus // meta first, then by number
	Moves          []Move
}

// NodeStatus is a member.
type NodeStatus struct {
	ID       string
	Zone     string
	HTTP     string
	Peer     string
	Status   string // UP, DOWN, DRAINING, DRAINED
	Replicas int
	Leaders  int
}

// GroupStatus is a group.
type GroupStatus struct {
	ID       string // "meta" or the shard's number
	Leader   string // node id, "" while there is none
	Term     uint64
	Replicas []ReplicaStatus
}

// ReplicaStatus is one copy of a group.
type ReplicaStatus struct {
	Node         string
	Role         string // VOTER, NON_VOTER
	AppliedIndex uint64
	Lag          uint64 // log entries behind the leader
}

// Move is a replica on its way from one node to another.
type Move struct {
	Shard    string
	From     string
	To       string
	Step     string
	Progress float64 // 0 to 1
}

// States and roles in a Status.
const (
	nodeUp    = "UP"
	roleVoter = "VOTER"
)

// Status describes the cluster for GET /api/v1/cluster. Before the node has been ready it knows only itself.
func (n *Node) Status() Status {
	status := Status{ClusterID: n.identity.ClusterID}
	self := NodeStatus{
		ID: n.config.NodeID, Zone: n.config.Zone, HTTP: n.config.HTTPAddress, Peer: n.config.PeerAddress, Status: nodeUp,
	}
	if shards := n.serving(); shards != nil {
		status.Shards = append(status.Shards, n.groupStatus(meta.MetaGroup, n.meta.group.Status()))
		for _, s := range shards {
			status.Shards = append(status.Shards, n.groupStatus(s.name, s.group.Status()))
		}
		n.readMeta(func(m *meta.Machine) { status.FeatureVersion = m.Feature() })
	}
	for _, group := range status.Shards {
		self.Replicas++
		if group.Leader == self.ID {
			self.Leaders++
		}
	}
	status.Nodes = []NodeStatus{self}
	return status
}

func (n *Node) groupStatus(name string, s shard.Status) GroupStatus {
	group := GroupStatus{ID: name, Term: s.Term, Replicas: []ReplicaStatus{{
		Node: n.config.NodeID, Role: roleVoter, AppliedIndex: s.AppliedIndex, Lag: s.LastIndex - min(s.LastIndex, s.AppliedIndex),
	}}}
	if s.Open {
		group.Leader = n.config.NodeID
	}
	return group
}
