package cluster

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/shard"
)

// Config says how a node runs. Start from DefaultConfig.
type Config struct {
	DataDir string // created when it is not there
	NodeID  string // an id of 1 to 64 characters; fixed once the data directory exists
	Zone    string // a label; may be empty
	Shards  int    // number of data shards, chosen when the cluster is born; 0 takes what the cluster has

	HTTPAddress string // shown in the cluster's status
	PeerAddress string // shown in the cluster's status

	TestClock           bool          // AdvanceClock works
	RequestTimeout      time.Duration // how long a command is tried before its outcome is called unknown
	FreeSpaceFloorBytes int64         // commands are refused while less disk space is free
	BallastBytes        int64         // size of a file that can be deleted to get a full disk going again
	SnapshotBytes       int64         // log that a group applies between two snapshots

	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil: no metrics
}

// DefaultConfig gives a single node with eight shards in ./houseful-data.
func DefaultConfig() Config {
	return Config{
		DataDir:             "houseful-data",
		NodeID:              "n1",
		RequestTimeout:      5 * time.Second,
		FreeSpaceFloorBytes: 256 << 20,
		BallastBytes:        64 << 20,
		SnapshotBytes:       shard.SnapshotBytesDefault,
		Logger:              slog.New(slog.DiscardHandler),
	}
}

// Validate says what to change. Its errors are ErrConfig.
func (c *Config) Validate() error {
	switch {
	case c.DataDir == "":
		return fmt.Errorf("%w: data directory is needed", ErrConfig)
	case !meta.ValidID(c.NodeID):
		return fmt.Errorf("%w: node id %q is not 1 to 64 characters of A-Z a-z 0-9 . _ ~ -", ErrConfig, c.NodeID)
	case c.Zone != "" && !meta.ValidID(c.Zone):
		return fmt.Errorf("%w: zone %q is not up to 64 characters of A-Z a-z 0-9 . _ ~ -", ErrConfig, c.Zone)
	case c.Shards < 0 || c.Shards > ShardsMax:
		return fmt.Errorf("%w: %d shards; give 1 to %d, or 0 for what the cluster has (%d when it is born)", ErrConfig, c.Shards, ShardsMax, ShardsDefault)
	case c.RequestTimeout < RequestTimeoutMin || c.RequestTimeout > RequestTimeoutMax:
		return fmt.Errorf("%w: request timeout %s; give %s to %s", ErrConfig, c.RequestTimeout, RequestTimeoutMin, RequestTimeoutMax)
	case c.FreeSpaceFloorBytes < 0 || c.BallastBytes < 0:
		return fmt.Errorf("%w: free space floor and ballast are not negative", ErrConfig)
	case c.SnapshotBytes < 1 || c.SnapshotBytes > shard.SnapshotBytesMax:
		return fmt.Errorf("%w: a snapshot every %d bytes of log; give 1 to %d", ErrConfig, c.SnapshotBytes, shard.SnapshotBytesMax)
	case c.Logger == nil:
		return fmt.Errorf("%w: a logger is needed", ErrConfig)
	}
	return nil
}
