package shard

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// takeSnapshots takes a snapshot when SnapshotBytes of log were applied since the last, or SnapshotInterval has passed
// with anything applied. Raft's own threshold counts entries, which may be 50 bytes or a megabyte.
func (g *Group[R]) takeSnapshots() {
	last := time.Now()
	ticker := time.NewTicker(snapshotCheckInterval)
	defer ticker.Stop()
	var notBefore time.Time
	for {
		select {
		case <-g.stop:
			return
		case <-ticker.C:
		}
		now := time.Now()
		if g.stores.Space != nil && g.stores.Space.Low() {
			continue // the log can wait; a snapshot would take the room that is kept for it
		}
		if now.Before(notBefore) || !g.snapshotDue(now.Sub(last)) {
			continue
		}
		if err := g.Snapshot(); err != nil {
			if !errors.Is(err, ErrClosed) {
				g.logger.Warn("snapshot failed", "error", err)
			}
			notBefore = now.Add(snapshotRetry)
			continue
		}
		last = now
	}
}

func (g *Group[R]) snapshotDue(age time.Duration) bool {
	bytes := g.replica.logBytes.Load()
	return bytes >= g.config.SnapshotBytes || bytes > 0 && g.config.SnapshotInterval > 0 && age >= g.config.SnapshotInterval
}

// Snapshot writes a snapshot now and lets the log before the previous one go. Without a new entry it does nothing.
func (g *Group[R]) Snapshot() error {
	if g.config.SnapshotGate != nil { // before the capture: while it waits nothing is held back
		select {
		case g.config.SnapshotGate <- struct{}{}:
			defer func() { <-g.config.SnapshotGate }()
		case <-g.stop:
			return ErrClosed
		}
	}
	g.snapshotting.Lock()
	defer g.snapshotting.Unlock()
	if g.replica.index.Load() <= g.stores.Snapshots.Newest() {
		return nil
	}
	err := g.raft.Snapshot().Error()
	switch {
	case err == nil, errors.Is(err, raft.ErrNothingNewToSnapshot):
		return nil
	case errors.Is(err, raft.ErrRaftShutdown):
		return ErrClosed
	default:
		return fmt.Errorf("snapshot of group %s: %w", g.config.Name, err)
	}
}
