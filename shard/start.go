package shard

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/houseful/houseful/shard/snapshot"
)

const (
	// keyCurrentTerm is where raft keeps its term in the stable store.
	keyCurrentTerm = "CurrentTerm"
	// appendEntriesMax is the most entries in one message: with entries of 1 MiB at most it stays under 16 MiB.
	appendEntriesMax = 16
	// never is longer than a process lives: raft's own snapshot timer is not used.
	never = 10 * 365 * 24 * time.Hour
)

// restoreBase restores the newest snapshot that can be read to its verified end and gives its index, 0 for none. Rotten
// ones are survived if the log reaches back far enough; they are set aside then, and left alone otherwise.
func (g *Group[R]) restoreBase() (base uint64, err error) {
	metas, err := g.stores.Snapshots.List()
	if err != nil {
		return 0, err
	}
	var bad, badIDs []string
	var baseID string
	taken := false
	for _, meta := range metas {
		took, err := g.restoreOne(meta)
		taken = taken || took
		if err == nil {
			base, baseID = meta.Index, meta.ID
			break
		}
		g.logger.Error("snapshot cannot be used", "index", meta.Index, "error", err)
		bad, badIDs = append(bad, err.Error()), append(badIDs, meta.ID)
	}
	damaged, err := g.stores.Snapshots.Damaged()
	if err != nil {
		return 0, err
	}
	bad = append(bad, damaged...)
	if base == 0 && taken {
		return 0, fmt.Errorf("%w: %s", ErrSnapshots, strings.Join(bad, "; "))
	}
	if err := g.checkReach(base, bad); err != nil {
		return 0, err
	}
	for _, id := range badIDs {
		if err := g.stores.Snapshots.Quarantine(id); err != nil {
			return 0, err
		}
	}
	if err := g.stores.Snapshots.QuarantineDamaged(baseID); err != nil {
		return 0, err
	}
	return base, g.dropOvertaken(base)
}

// dropOvertaken removes a log that ends before the restored snapshot. Raft does so when it has installed one that a
// leader sent; a crash in between leaves the old entries, to which the leader's next one would not join.
func (g *Group[R]) dropOvertaken(base uint64) error {
	first, err := g.log.FirstIndex()
	if err != nil {
		return err
	}
	last, err := g.log.LastIndex()
	if err != nil || last == 0 || last >= base {
		return err
	}
	g.logger.Warn("the log ends before the snapshot and is removed", "first", first, "last", last, "snapshot", base)
	return g.stores.Log.DeleteRange(first, last)
}

func (g *Group[R]) restoreOne(meta *raft.SnapshotMeta) (taken bool, err error) {
	reader, err := g.stores.Snapshots.OpenReader(meta.ID)
	if err != nil {
		return false, err
	}
	defer reader.Close() //nolint:errcheck // opened for reading
	return g.restoreFrom(reader, meta.Index)
}

func (g *Group[R]) restoreFrom(reader *snapshot.Reader, index uint64) (taken bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			taken, err = true, fmt.Errorf("%w: panic in restore: %v", ErrMachine, p)
		}
	}()
	return g.replica.restore(reader, index)
}

// checkReach says whether the log takes over where the restored snapshot ends, and goes on to the newest index that a
// lost snapshot held: with an older snapshot and a shorter log the state would silently be an old one.
func (g *Group[R]) checkReach(base uint64, bad []string) error {
	first, err := g.log.FirstIndex()
	if err != nil {
		return err
	}
	last, err := g.log.LastIndex()
	if err != nil {
		return err
	}
	lost := g.stores.Snapshots.Newest()
	if lost > base && (last < lost || first > base+1) {
		return fmt.Errorf("%w: the log holds %d to %d and must hold %d to %d: %s",
			ErrSnapshots, first, last, base+1, lost, strings.Join(bad, "; "))
	}
	if last > base && first > base+1 {
		return fmt.Errorf("%w: it starts at index %d, the newest usable snapshot ends at %d: %s",
			ErrLogLost, first, base, strings.Join(bad, "; "))
	}
	return nil
}

// bootstrap makes this replica the first voter of a group that has no state. raft.BootstrapCluster is not used: a
// crash between its two writes leaves a term without a log, which it then refuses to finish.
func (g *Group[R]) bootstrap() error {
	if !g.config.Bootstrap || g.stores.Snapshots.Newest() > 0 {
		return nil
	}
	last, err := g.log.LastIndex()
	if err != nil || last > 0 {
		return err
	}
	term, err := g.stable.GetUint64([]byte(keyCurrentTerm))
	if err != nil && !isNotFound(err) {
		return err
	}
	if term > 1 { // a first voter writes its log before it stands for election
		return fmt.Errorf("%w: it is empty, there is no snapshot, and the term is %d", ErrLogLost, term)
	}
	if err := g.stable.SetUint64([]byte(keyCurrentTerm), 1); err != nil {
		return err
	}
	return g.log.StoreLog(&raft.Log{
		Index: 1, Term: 1, Type: raft.LogConfiguration,
		Data: raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{
			Suffrage: raft.Voter, ID: raft.ServerID(g.config.ReplicaID), Address: g.transport.LocalAddr(),
		}}}),
	})
}

// startRaft starts raft's goroutines. NewRaft reads the log after the snapshot through and panics on an entry that it
// cannot read; nothing runs yet then.
func (g *Group[R]) startRaft() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: read the log: %v", ErrStore, p)
		}
		if err != nil && g.log.unread != nil {
			err = g.log.unread
		}
	}()
	config := g.config.raftConfig()
	config.Logger = newRaftLogger(g.logger)
	g.raft, err = raft.NewRaft(config, g.replica, g.log, g.stable, g.stores.Snapshots, g.transport)
	return err
}

func (c *Config) raftConfig() *raft.Config {
	r := raft.DefaultConfig()
	r.LocalID = raft.ServerID(c.ReplicaID)
	r.HeartbeatTimeout = c.HeartbeatTimeout
	r.ElectionTimeout = c.ElectionTimeout
	r.LeaderLeaseTimeout = c.LeaderLeaseTimeout
	r.CommitTimeout = c.CommitTimeout
	r.MaxAppendEntries = appendEntriesMax
	r.ShutdownOnRemove = false // the owner decides
	r.NoLegacyTelemetry = true
	// The snapshot is restored by restoreBase, which checks more than raft does.
	r.NoSnapshotRestoreOnStart = true
	// Snapshots are taken by bytes, by takeSnapshots; the log is kept back to the previous one by guardedLog.
	r.SnapshotInterval = never
	r.SnapshotThreshold = math.MaxUint64
	r.TrailingLogs = 1 // compaction never takes the whole log, which is how guardedLog knows it
	return r
}
