package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
	"github.com/houseful/houseful/shard"
	"github.com/houseful/houseful/shard/folder"
	"github.com/houseful/houseful/shard/logstore"
	"github.com/houseful/houseful/shard/snapshot"
)

// metaReplica is the number of the replica that bears the meta group; the shards' come from the birth record.
const metaReplica = 1

// bringUp opens everything in the order in which one part needs another. A crash anywhere in it leaves what the next
// start takes up again: identity.json is written before any log, the birth record names who bootstraps a shard, and a
// group bootstraps only while it has no state and none was ever noted for it.
func (n *Node) bringUp(ctx context.Context) error {
	err := n.next("the log")
	if err != nil {
		return err
	}
	options := logstore.PebbleOptions{Logger: n.logger, Fatal: n.fatal}
	if n.hooks.log != nil {
		n.hooks.log(&options)
	}
	if n.stores, err = logstore.OpenPebble(n.dir.log(), options); err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	gate := shard.NewGate(snapshotsAtOnce)
	if err := n.next("group meta"); err != nil {
		return err
	}
	if err := n.openMeta(gate); err != nil {
		return err
	}
	if err := n.meta.group.WaitLeader(ctx); err != nil {
		return fmt.Errorf("group meta: %w", err)
	}
	if err := n.next("the cluster's birth record"); err != nil {
		return err
	}
	if err := n.identity.remember(n.dir, meta.MetaGroup); err != nil {
		return err
	}
	birth, err := n.beBorn(ctx)
	if err != nil {
		return err
	}
	if err := n.next("the cluster to know this node"); err != nil {
		return err
	}
	if err := n.announce(ctx); err != nil {
		return err
	}
	if err := n.openShards(ctx, birth, gate); err != nil {
		return err
	}
	for _, s := range n.shards {
		n.workers.Go(func() { n.healBrowse(s) })
	}
	return n.registerMetrics()
}

func (n *Node) openMeta(gate shard.Gate) error {
	n.meta = newMetaGroup()
	path := n.dir.metaLog()
	if err := folder.Make(filepath.Dir(path), folderMode); err != nil {
		return err
	}
	log, err := logstore.OpenBolt(path, logstore.BoltOptions{Logger: n.logger, Fatal: n.fatal})
	if err != nil {
		return fmt.Errorf("open the log of group meta: %w", err)
	}
	n.meta.close = log.Close
	snapshots, err := snapshot.Open(n.dir.metaSnapshots(), snapshot.Options{Logger: n.logger, Fatal: n.fatal})
	if err != nil {
		return fmt.Errorf("group meta: %w", err)
	}
	last, err := log.LastIndex()
	if err != nil {
		return fmt.Errorf("group meta: %w", err)
	}
	config, err := n.groupConfig(meta.MetaGroup, metaReplica, gate, last == 0 && snapshots.Newest() == 0, true)
	if err != nil {
		return err
	}
	n.meta.group, err = shard.Open(config, shard.Machine[*meta.Result](metaMachine{n.meta.machine}), shard.Stores{
		Log: log, Stable: log, Snapshots: snapshots, Space: n.space,
	})
	if err != nil {
		return fmt.Errorf("group meta: %w", err)
	}
	n.watch(meta.MetaGroup, n.meta.group.Failed(), n.meta.group.Err)
	return nil
}

func (n *Node) openShards(ctx context.Context, birth *wire.Birth, gate shard.Gate) error {
	for number := range int(birth.ShardCount) {
		genesis := birth.Groups[number+1]
		if err := n.next("group " + genesis.Group); err != nil {
			return err
		}
		s := newDataShard(number, genesis.Group)
		n.shards = append(n.shards, s)
		if err := n.openShard(s, genesis, gate); err != nil {
			return err
		}
	}
	names := make([]string, len(n.shards))
	for i, s := range n.shards {
		if err := n.next("the lead of group " + s.name); err != nil {
			return err
		}
		if err := s.group.WaitLeader(ctx); err != nil {
			return fmt.Errorf("group %s: %w", s.name, err)
		}
		names[i] = s.name
	}
	if err := n.next("the groups to be noted"); err != nil {
		return err
	}
	return n.identity.remember(n.dir, names...)
}

func (n *Node) openShard(s *dataShard, genesis *wire.Genesis, gate shard.Gate) error {
	replica := n.ownVoter(genesis)
	if replica == nil {
		return fmt.Errorf("%w: group %s has no replica on node %s with data directory %s",
			ErrBirth, s.name, n.identity.NodeID, n.identity.DataUUID)
	}
	log, err := n.stores.Replica(replica.Number, logstore.ReplicaOptions{})
	if err != nil {
		return fmt.Errorf("open the log of group %s: %w", s.name, err)
	}
	s.close = log.Close
	snapshots, err := snapshot.Open(n.dir.shardSnapshots(s.number), snapshot.Options{Logger: n.logger, Fatal: n.fatal})
	if err != nil {
		return fmt.Errorf("group %s: %w", s.name, err)
	}
	last, err := log.LastIndex()
	if err != nil {
		return fmt.Errorf("group %s: %w", s.name, err)
	}
	config, err := n.groupConfig(s.name, replica.Number, gate, last == 0 && snapshots.Newest() == 0, len(genesis.Voters) == 1)
	if err != nil {
		return err
	}
	s.group, err = shard.Open(config, shard.Machine[*fsm.Result](shardMachine{s.machine}), shard.Stores{
		Log: log, Stable: log, Snapshots: snapshots, Space: n.space,
	})
	if err != nil {
		return fmt.Errorf("group %s: %w", s.name, err)
	}
	n.watch(s.name, s.group.Failed(), s.group.Err)
	return nil
}

// ownVoter is this node's replica among a group's genesis voters.
func (n *Node) ownVoter(genesis *wire.Genesis) *wire.Replica {
	for _, voter := range genesis.Voters {
		if voter.NodeId == n.identity.NodeID && voter.DataUuid == n.identity.DataUUID {
			return voter
		}
	}
	return nil
}

// groupConfig is a group's configuration. A group that is empty though it had a log here once has lost it: it must not
// start again from nothing. sole says that this replica is the group's only genesis voter.
func (n *Node) groupConfig(name string, replica uint64, gate shard.Gate, empty, sole bool) (shard.Config, error) {
	known := n.identity.bootstrapped(name)
	if empty && known {
		return shard.Config{}, fmt.Errorf("%w: group %s had a log here and has none now", ErrStateLost, name)
	}
	config := shard.DefaultConfig()
	config.Name = name
	config.ReplicaID = fmt.Sprintf("%s/%s/%s/%d", n.identity.ClusterID, n.identity.NodeID, name, replica)
	config.Bootstrap = sole && !known
	if sole {
		config.HeartbeatTimeout, config.ElectionTimeout, config.LeaderLeaseTimeout = soleVoterTimeout, soleVoterTimeout, soleVoterTimeout
		config.EntriesInFlight = 1
	}
	config.Clock = n.groups
	config.Logger = n.logger
	config.Registerer = n.config.Registerer
	config.SnapshotGate = gate
	config.SnapshotBytes = n.config.SnapshotBytes
	config.EnqueueTimeout = n.config.RequestTimeout
	return config, nil
}

// fatal is called by a store that cannot be trusted any more: a failed fsync, a call that hangs. It only makes it known:
// the process has to end, and Close waits for nothing that such a store may never give.
func (n *Node) fatal(err error) {
	n.fail(fmt.Errorf("store: %w", err))
	n.unsafeOnce.Do(func() { close(n.unsafe) })
}

// closeStores lets go of the stores. One that failed is left as it is, which is an error.
func (n *Node) closeStores() error {
	var errs []error
	for _, s := range n.shards {
		if s.close != nil {
			errs = append(errs, s.close())
		}
	}
	if n.meta != nil && n.meta.close != nil {
		errs = append(errs, n.meta.close())
	}
	if n.stores != nil {
		errs = append(errs, n.stores.Close())
	}
	return errors.Join(errs...)
}
