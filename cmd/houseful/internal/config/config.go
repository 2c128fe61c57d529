package config

import (
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/houseful/houseful/cluster"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/shard"
)

// ProcsMin is the fewest threads that run Go code unless gomaxprocs says otherwise. A goroutine in fsync holds its
// thread for a while, so a machine of one or two cores would stand still with each commit.
const ProcsMin = 4

// Serve is everything that can be said to "houseful serve". The koanf tag is the setting's name, usage its line in
// the help. Settings with a cluster tag are known, but belong to a version that runs more than one node: Validate
// refuses them and the help leaves them out.
type Serve struct {
	DataDir     string   `koanf:"data-dir" usage:"folder that holds everything the node keeps"`
	HTTP        string   `koanf:"http" usage:"address to serve HTTP on, host:port; port 0 takes a free one"`
	NodeID      string   `koanf:"node-id" usage:"name of this node"`
	Zone        string   `koanf:"zone" usage:"failure zone of this node, for example a rack"`
	Shards      int      `koanf:"shards" usage:"number of shards, fixed when the data folder is made; 0 takes what it has, 8 for a new one"`
	CORSOrigins []string `koanf:"cors-origin" usage:"origin whose pages may call the API, for example https://tickets.example; may be repeated"`
	Demo        bool     `koanf:"demo" usage:"load a catalogue to play with: two cities, three theatres, a week of shows"`
	TestClock   bool     `koanf:"test-clock" usage:"let POST /api/v1/test/clock/advance move the clock; for tests of integrators, loopback only"`

	RequestTimeout    time.Duration `koanf:"request-timeout" usage:"longest time a call may take before it is answered as of unknown outcome"`
	StopTimeout       time.Duration `koanf:"stop-timeout" usage:"longest time a stop waits for calls in flight"`
	FreeSpaceFloorMiB int           `koanf:"free-space-floor-mib" usage:"refuse writes when the data folder's disk has less free space, MiB"`
	SnapshotKiB       int           `koanf:"snapshot-kib" usage:"log that a shard applies between two snapshots, KiB"`

	LogFormat  string `koanf:"log-format" usage:"text or json"`
	LogLevel   string `koanf:"log-level" usage:"debug, info, warn or error"`
	GoMaxProcs int    `koanf:"gomaxprocs" usage:"threads that run Go code; 0 is the number of cores, at least 4"`
	GCPercent  int    `koanf:"gc-percent" usage:"heap growth between garbage collections, percent; 0 leaves it to GOGC"`

	Peer            string   `koanf:"peer" cluster:"true" usage:"address for other nodes"`
	Join            []string `koanf:"join" cluster:"true" usage:"peer addresses of the cluster"`
	BootstrapExpect int      `koanf:"bootstrap-expect" cluster:"true" usage:"nodes that found the cluster"`
	Replicas        int      `koanf:"replicas" cluster:"true" usage:"replicas of each shard"`
}

// Default is the configuration of a node that was told nothing.
func Default() Serve {
	return Serve{
		DataDir:           "houseful-data",
		HTTP:              "127.0.0.1:8080",
		NodeID:            "n1",
		RequestTimeout:    5 * time.Second,
		StopTimeout:       30 * time.Second,
		FreeSpaceFloorMiB: 256,
		SnapshotKiB:       shard.SnapshotBytesDefault >> 10,
		LogFormat:         "text",
		LogLevel:          "info",
		GCPercent:         200,
		BootstrapExpect:   1,
		Replicas:          1,
	}
}

// Procs is the number of threads to run Go code on.
func (c *Serve) Procs() int {
	if c.GoMaxProcs > 0 {
		return c.GoMaxProcs
	}
	return max(ProcsMin, runtime.NumCPU())
}

// Validate says of the first setting that cannot be what to change.
func (c *Serve) Validate() error {
	if err := c.validateCluster(); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(c.DataDir) == "" || strings.ContainsRune(c.DataDir, 0):
		return fmt.Errorf("data-dir: %q names no folder; give a path", c.DataDir)
	case !meta.ValidID(c.NodeID):
		return fmt.Errorf("node-id: %q must be 1 to %d characters from A-Z a-z 0-9 . _ ~ -", c.NodeID, meta.IDCharsMax)
	case c.Zone != "" && !meta.ValidID(c.Zone):
		return fmt.Errorf("zone: %q must be at most %d characters from A-Z a-z 0-9 . _ ~ -", c.Zone, meta.IDCharsMax)
	case c.Shards < 0 || c.Shards > cluster.ShardsMax:
		return fmt.Errorf("shards: %d is not between 0 and %d", c.Shards, cluster.ShardsMax)
	case c.RequestTimeout < cluster.RequestTimeoutMin || c.RequestTimeout > cluster.RequestTimeoutMax:
		return fmt.Errorf("request-timeout: %v is not between %v and %v",
			c.RequestTimeout, cluster.RequestTimeoutMin, cluster.RequestTimeoutMax)
	case c.StopTimeout < 0 || c.StopTimeout > time.Hour:
		return fmt.Errorf("stop-timeout: %v is not between 0s and 1h", c.StopTimeout)
	case c.FreeSpaceFloorMiB < 1 || c.FreeSpaceFloorMiB > 1<<20:
		return fmt.Errorf("free-space-floor-mib: %d is not between 1 and %d", c.FreeSpaceFloorMiB, 1<<20)
	case c.SnapshotKiB < 1 || c.SnapshotKiB > shard.SnapshotBytesMax>>10:
		return fmt.Errorf("snapshot-kib: %d is not between 1 and %d", c.SnapshotKiB, shard.SnapshotBytesMax>>10)
	case c.LogFormat != "text" && c.LogFormat != "json":
		return fmt.Errorf("log-format: %q is neither text nor json", c.LogFormat)
	case c.GoMaxProcs < 0 || c.GoMaxProcs > 4096:
		return fmt.Errorf("gomaxprocs: %d is not between 0 and 4096", c.GoMaxProcs)
	case c.GCPercent < 0 || c.GCPercent > 10_000:
		return fmt.Errorf("gc-percent: %d is not between 0 and 10000", c.GCPercent)
	}
	if _, err := ParseLevel(c.LogLevel); err != nil {
		return fmt.Errorf("log-level: %w", err)
	}
	if err := validateHTTP(c.HTTP); err != nil {
		return fmt.Errorf("http: %w", err)
	}
	for _, origin := range c.CORSOrigins {
		if err := validateOrigin(origin); err != nil {
			return fmt.Errorf("cors-origin: %w", err)
		}
	}
	_, err := filepath.Abs(c.DataDir)
	return err
}

// validateCluster refuses what would need a second node. Taking such a flag and doing nothing about it would let
// somebody believe in a replica that does not exist.
func (c *Serve) validateCluster() error {
	const advice = "this version runs one node; leave it out"
	switch {
	case c.Peer != "":
		return fmt.Errorf("peer: %s", advice)
	case len(c.Join) > 0:
		return fmt.Errorf("join: %s", advice)
	case c.BootstrapExpect != 1:
		return fmt.Errorf("bootstrap-expect: %s", advice)
	case c.Replicas != 1:
		return fmt.Errorf("replicas: %s", advice)
	}
	return nil
}

// validateHTTP takes loopback addresses only: this version has no keys, so whoever reaches the port may do anything.
func validateHTTP(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return fmt.Errorf("%q is not host:port; for example 127.0.0.1:8080", address)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("%q is no port; give a number from 0 to 65535", port)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%q can be reached from other machines, and without keys everybody there could do everything; "+
			"listen on 127.0.0.1 and put what checks callers in front", address)
	}
	return nil
}

// validateOrigin takes what a browser sends as Origin: scheme://host or scheme://host:port.
func validateOrigin(origin string) error {
	scheme, host, found := strings.Cut(origin, "://")
	if !found || (scheme != "http" && scheme != "https") || host == "" || strings.ContainsAny(host, "/?#@ *") {
		return fmt.Errorf("%q is not an origin; for example https://tickets.example", origin)
	}
	return nil
}
