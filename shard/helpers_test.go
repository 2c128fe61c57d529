package shard

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/goleak"

	"github.com/houseful/houseful/shard/logstore"
	"github.com/houseful/houseful/shard/snapshot"
)

// patience is how long a test waits for what must happen soon.
const patience = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// bench is a group under test with what it stands on. It may be closed and opened again on the same stores.
type bench struct {
	*Group[tally]
	t       testing.TB
	config  Config
	machine *tallyMachine
	stores  Stores
	folder  string // of the snapshots
}

type benchOption func(*bench)

func withConfig(change func(*Config)) benchOption { return func(b *bench) { change(&b.config) } }
func withLog(log raft.LogStore) benchOption       { return func(b *bench) { b.stores.Log = log } }
func withStable(stable raft.StableStore) benchOption {
	return func(b *bench) { b.stores.Stable = stable }
}
func withSpace(space SpaceChecker) benchOption { return func(b *bench) { b.stores.Space = space } }

func quickConfig() Config {
	config := DefaultConfig()
	config.Name, config.ReplicaID, config.Bootstrap, config.Logger = "0", "cluster/node/0/1", true, quiet()
	config.HeartbeatTimeout, config.ElectionTimeout = 50*time.Millisecond, 50*time.Millisecond
	config.LeaderLeaseTimeout, config.CommitTimeout = 40*time.Millisecond, 10*time.Millisecond
	return config
}

// newBench opens a group on an in-memory log and waits until it leads.
func newBench(t testing.TB, options ...benchOption) *bench {
	t.Helper()
	memory := raft.NewInmemStore()
	b := &bench{t: t, config: quickConfig(), stores: Stores{Log: memory, Stable: memory}, folder: t.TempDir()}
	for _, option := range options {
		option(b)
	}
	b.open()
	t.Cleanup(b.close)
	return b
}

func (b *bench) open() {
	b.t.Helper()
	if err := b.tryOpen(); err != nil {
		b.t.Fatal(err)
	}
	b.lead()
}

func (b *bench) tryOpen() error {
	snapshots, err := snapshot.Open(b.folder, snapshot.Options{Logger: quiet()})
	if err != nil {
		return err
	}
	b.stores.Snapshots = snapshots
	b.machine = &tallyMachine{}
	b.Group, err = Open(b.config, b.machine, b.stores)
	return err
}

func (b *bench) lead() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.WaitLeader(ctx); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) close() {
	b.t.Helper()
	if b.Group == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		b.t.Error(err)
	}
}

func (b *bench) reopen() {
	b.t.Helper()
	b.close()
	b.open()
}

func (b *bench) must(c []byte) tally {
	b.t.Helper()
	result, err := b.Propose(c, time.Now().Add(patience))
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// values copies the machine's list.
func (b *bench) values() (values []uint64) {
	b.Read(func() { values = append(values, b.machine.values...) })
	return values
}

// eventually waits for a condition, looking every millisecond.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for: %s", patience, what)
		}
		<-ticker.C
	}
}

// onPebble puts the group's log on a real store in a folder. It gives a function that closes the store.
func onPebble(t testing.TB, folder string) (option benchOption, closeStore func()) {
	t.Helper()
	store, err := logstore.OpenPebble(folder, logstore.PebbleOptions{
		Logger: quiet(), Fatal: func(err error) { t.Errorf("log store: %v", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	log, err := store.Replica(1, logstore.ReplicaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return func(b *bench) { b.stores.Log, b.stores.Stable = log, log }, func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}
