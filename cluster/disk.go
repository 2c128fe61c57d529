package cluster

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/houseful/houseful/shard/logstore"
)

// diskGuard refuses commands while less disk space is free than the node's floor. It logs when that begins and when it
// ends, so that nobody needs to log each refusal.
type diskGuard struct {
	space  *logstore.DiskSpace
	logger *slog.Logger
	low    atomic.Bool
}

// Low reports whether commands must be refused. It costs atomic loads but for once in logstore.DiskCheckInterval.
func (g *diskGuard) Low() bool { return g.check() != nil }

// check is nil while there is room.
func (g *diskGuard) check() error {
	err := g.space.Check()
	low := err != nil
	if low == g.low.Load() || !g.low.CompareAndSwap(!low, low) {
		return err
	}
	if low {
		g.logger.Warn("too little free disk space: commands are refused, reads go on", "reason", err)
	} else {
		g.logger.Warn("there is disk space again: commands are accepted", "freeBytes", g.space.FreeBytes())
	}
	return err
}

// Writable is nil while the node's disk has room for commands, and else says what is missing: errors.Is ErrDiskFull.
// Reads do not need it.
func (n *Node) Writable() error {
	if err := n.space.check(); err != nil {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return nil
}

// guardDisk watches the data directory's disk and lays the ballast there when it has room for it. It does without when
// it has not: whoever deleted the ballast needed the room. So it does where the file system cannot reserve space.
func (n *Node) guardDisk() error {
	space, err := logstore.NewDiskSpace(n.dir.path, uint64(n.config.FreeSpaceFloorBytes))
	if err != nil {
		return err
	}
	n.space = &diskGuard{space: space, logger: n.logger}
	if n.config.BallastBytes == 0 {
		return nil
	}
	if needed := n.config.FreeSpaceFloorBytes + 2*n.config.BallastBytes; space.FreeBytes() < uint64(needed) {
		n.logger.Warn("too little free space for a ballast", "freeBytes", space.FreeBytes(), "neededBytes", needed)
		return nil
	}
	if _, err := logstore.MakeBallast(n.dir.path, n.config.BallastBytes); err != nil {
		n.logger.Warn("no ballast: disk space cannot be reserved here", "error", err)
	}
	return nil
}
