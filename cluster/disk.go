package cluster

import (
	"fmt"

	"github.com/houseful/houseful/shard/logstore"
)

// diskGuard refuses commands while less disk space is free than the node's floor.
type diskGuard struct{ space *logstore.DiskSpace }

// Low reports whether commands must be refused. It costs an atomic load but for once in logstore.DiskCheckInterval.
func (g diskGuard) Low() bool { return g.space.Check() != nil }

// guardDisk watches the data directory's disk and lays the ballast there when it has room for it. It does without when
// it has not: whoever deleted the ballast needed the room.
func (n *Node) guardDisk() error {
	space, err := logstore.NewDiskSpace(n.dir.path, uint64(n.config.FreeSpaceFloorBytes))
	if err != nil {
		return err
	}
	n.space = diskGuard{space}
	if n.config.BallastBytes == 0 {
		return nil
	}
	if needed := n.config.FreeSpaceFloorBytes + 2*n.config.BallastBytes; space.FreeBytes() < uint64(needed) {
		n.logger.Warn("too little free space for a ballast", "freeBytes", space.FreeBytes(), "neededBytes", needed)
		return nil
	}
	if _, err := logstore.MakeBallast(n.dir.path, n.config.BallastBytes); err != nil {
		return fmt.Errorf("reserve disk space: %w", err)
	}
	return nil
}
