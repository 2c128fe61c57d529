package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

// beBorn gives the cluster's birth record, and proposes it when there is none yet. The record is fixed by the folder's
// identity and the number of shards, so proposing it twice has one effect.
func (n *Node) beBorn(ctx context.Context) (*wire.Birth, error) {
	for {
		if birth := n.birth(); birth != nil {
			return birth, n.checkBirth(birth)
		}
		result, err := n.agree(fieldBirth, n.birthRecord(), time.Now().Add(n.config.RequestTimeout))
		switch {
		case err != nil:
			if err := n.startAgain(ctx, err); err != nil {
				return nil, fmt.Errorf("birth: %w", err)
			}
		case result.Code != meta.CodeOK && result.Code != meta.CodeAlreadyBorn:
			return nil, fmt.Errorf("%w: the record is refused: %s %s %s", ErrBirth, result.Code, result.Field, result.Reason)
		}
	}
}

func (n *Node) birth() (birth *wire.Birth) {
	n.readMeta(func(m *meta.Machine) { birth = m.Birth() })
	return birth
}

// birthRecord is the record of a cluster of this node alone.
func (n *Node) birthRecord() *wire.Birth {
	shards := n.config.Shards
	if shards == 0 {
		shards = ShardsDefault
	}
	birth := &wire.Birth{
		ClusterId: n.identity.ClusterID, ShardCount: uint32(shards), FeatureVersion: meta.FeatureVersion,
		Nodes: []*wire.Node{n.self()},
	}
	for number := metaReplica; number <= shards+metaReplica; number++ {
		group := meta.MetaGroup
		if number > metaReplica {
			group = strconv.Itoa(number - metaReplica - 1)
		}
		voter := &wire.Replica{Number: uint64(number), NodeId: n.identity.NodeID, DataUuid: n.identity.DataUUID}
		birth.Groups = append(birth.Groups, &wire.Genesis{Group: group, Voters: []*wire.Replica{voter}})
	}
	return birth
}

// self is this node as the cluster knows it.
func (n *Node) self() *wire.Node {
	return &wire.Node{
		Id: n.identity.NodeID, DataUuid: n.identity.DataUUID, Zone: n.config.Zone,
		HttpAddress: n.config.HTTPAddress, PeerAddress: n.config.PeerAddress,
	}
}

// checkBirth says whether the cluster is the one that this node was started for.
func (n *Node) checkBirth(birth *wire.Birth) error {
	if birth.ClusterId != n.identity.ClusterID {
		return fmt.Errorf("%w: its id is %s, the data directory is of %s", ErrBirth, birth.ClusterId, n.identity.ClusterID)
	}
	if n.config.Shards != 0 && n.config.Shards != int(birth.ShardCount) {
		return fmt.Errorf("%w: it has %d shards and this node is started for %d; the number never changes, so start with %d or leave it out",
			ErrBirth, birth.ShardCount, n.config.Shards, birth.ShardCount)
	}
	return nil
}

// announce tells the cluster where this node is now, when that has changed.
func (n *Node) announce(ctx context.Context) error {
	self := n.self()
	for {
		var known *wire.Node
		n.readMeta(func(m *meta.Machine) { known, _ = m.Node(self.Id) })
		if proto.Equal(known, self) {
			return nil
		}
		result, err := n.agree(fieldPutNode, self, time.Now().Add(n.config.RequestTimeout))
		if err == nil {
			err = refused(result)
		}
		var invalid *InvalidError
		if errors.As(err, &invalid) {
			return fmt.Errorf("%w: %w", ErrConfig, err)
		}
		if err != nil {
			if err := n.startAgain(ctx, err); err != nil {
				return fmt.Errorf("announce the node: %w", err)
			}
		}
	}
}

// startAgain waits before a command of the start is tried again; an error when the node stops meanwhile.
func (n *Node) startAgain(ctx context.Context, err error) error {
	n.logger.Warn("trying again", "error", err)
	timer := time.NewTimer(startRetryPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), err)
	}
}
