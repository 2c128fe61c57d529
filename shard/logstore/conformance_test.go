package logstore

import (
	"errors"
	"flag"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/houseful/houseful/shard/logstore/storetest"
)

var storeSeed = flag.Uint64("store.seed", 0, "seed of the random conformance case; 0 draws one")

// quiet drops the log of a store whose messages a test does not look at.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// testFatal fails the test if the store wants the process to end.
func testFatal(t testing.TB) func(error) {
	return func(reason error) { t.Errorf("fatal: %v", reason) }
}

// pebbleStore is a replica whose Close closes the database too.
type pebbleStore struct {
	*Replica
	database *Pebble
}

func (s pebbleStore) Close() error { return errors.Join(s.Replica.Close(), s.database.Close()) }

func openPebbleStore(t testing.TB, dir string) (pebbleStore, error) {
	return openPebbleReplica(t, dir, 7)
}

func openPebbleReplica(t testing.TB, dir string, id uint64) (pebbleStore, error) {
	database, err := OpenPebble(dir, PebbleOptions{Logger: quiet(), Fatal: testFatal(t), StallTimeout: time.Minute})
	if err != nil {
		return pebbleStore{}, err
	}
	replica, err := database.Replica(id, ReplicaOptions{})
	return pebbleStore{Replica: replica, database: database}, err
}

// M-41: what raft takes for granted of a log, on every store.
func TestConformancePebble(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Open:   func(dir string) (storetest.Store, error) { return openPebbleStore(t, dir) },
		Closed: ErrClosed,
	})
}

func TestConformanceRaftBoltDB(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Open: func(dir string) (storetest.Store, error) {
			return raftboltdb.New(raftboltdb.Options{Path: filepath.Join(dir, "raft.db"), MsgpackUseNewTimeFormat: true})
		},
		AllowsGaps: true,
	})
}

func openBoltTest(t testing.TB, dir string) (*Bolt, error) {
	return OpenBolt(filepath.Join(dir, "raft.db"), BoltOptions{Logger: quiet(), Fatal: testFatal(t), StallTimeout: time.Minute})
}

func TestConformanceBolt(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Open:   func(dir string) (storetest.Store, error) { return openBoltTest(t, dir) },
		Closed: ErrClosed,
	})
}
