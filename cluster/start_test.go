package cluster

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/shard"
)

// waitFailed waits until a node says why it cannot go on.
func waitFailed(t testing.TB, n *Node) error {
	t.Helper()
	eventually(t, "the node fails", func() bool { return n.Err() != nil || n.Ready() == nil })
	if n.Err() == nil {
		t.Fatal("the node is ready and should not be")
	}
	return n.Err()
}

// Every step of the first start may be the last; the next start goes on from there. Cut again in the second start too.
func TestFirstStartHealsAfterEveryStep(t *testing.T) {
	var steps []string
	recorder := hooks{start: func(next string) error {
		steps = append(steps, next)
		return nil
	}}
	finish(t, openHooked(t, testConfig(t), recorder))
	if len(steps) < 10 {
		t.Fatalf("the start has only the steps %q", steps)
	}
	for _, cut := range steps {
		cfg := testConfig(t)
		for range 2 {
			n, err := openNode(context.Background(), cfg, hooks{start: func(next string) error {
				if next == cut {
					return errCrash
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := waitFailed(t, n); !errors.Is(err, errCrash) {
				t.Fatalf("before %s: %v", cut, err)
			}
			finish(t, n)
		}
		n := open(t, cfg)
		catalogue(t, n)
		putShow(t, n, "1")
		hold(t, n, "1", "ann", "A1")
		finish(t, n)
		n = open(t, cfg)
		if show, ok, err := n.Show("1"); err != nil || !ok || show.Counts.Held != 1 {
			t.Errorf("cut before %s: %+v %v %v", cut, show.Counts, ok, err)
		}
		finish(t, n)
	}
}

func TestAnotherNumberOfShardsIsRefused(t *testing.T) {
	cfg := testConfig(t)
	finish(t, open(t, cfg))
	cfg.Shards = 4
	n, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := waitFailed(t, n); !errors.Is(err, ErrBirth) {
		t.Errorf("4 shards instead of 3: %v", err)
	}
	finish(t, n)
	cfg.Shards = 0
	n = open(t, cfg)
	if shards := len(n.serving()); shards != 3 {
		t.Errorf("%d shards", shards)
	}
}

func TestDefaultNumberOfShards(t *testing.T) {
	cfg := testConfig(t)
	cfg.Shards = 0
	if n := open(t, cfg); len(n.serving()) != ShardsDefault {
		t.Errorf("%d shards", len(n.serving()))
	}
}

func TestAnotherNodesFolderIsRefused(t *testing.T) {
	cfg := testConfig(t)
	finish(t, open(t, cfg))
	cfg.NodeID = "n2"
	if _, err := Open(context.Background(), cfg); !errors.Is(err, ErrIdentity) {
		t.Errorf("another node id: %v", err)
	}
}

// Every flipped bit of identity.json is found, and so is a missing one beside logs.
func TestBrokenIdentityIsRefused(t *testing.T) {
	cfg := testConfig(t)
	finish(t, open(t, cfg))
	name := filepath.Join(cfg.DataDir, "identity.json")
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want, err := parseIdentity(good)
	if err != nil {
		t.Fatal(err)
	}
	for at := range good {
		for bit := range 8 {
			broken := bytes.Clone(good)
			broken[at] ^= 1 << bit
			if got, err := parseIdentity(broken); err == nil && (got.ClusterID != want.ClusterID || got.NodeID != want.NodeID ||
				got.DataUUID != want.DataUUID || len(got.Bootstrapped) != len(want.Bootstrapped)) {
				t.Fatalf("bit %d of byte %d flipped: read as %+v", bit, at, got)
			}
		}
		if _, err := parseIdentity(good[:at]); err == nil && at < len(good)-1 {
			t.Fatalf("cut at byte %d: accepted", at)
		}
	}
	if err := os.WriteFile(name, good[:len(good)/2], fileMode); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), cfg); !errors.Is(err, ErrIdentity) {
		t.Errorf("half a file: %v", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), cfg); !errors.Is(err, ErrIdentity) {
		t.Errorf("no file, but logs: %v", err)
	}
	if err := os.WriteFile(name, good, fileMode); err != nil {
		t.Fatal(err)
	}
	finish(t, open(t, cfg))
}

// A log that is gone is not a new log: starting from nothing would forget acknowledged writes.
func TestLostLogsAreNotStartedAnew(t *testing.T) {
	for _, lost := range []string{"log", "meta"} {
		cfg := testConfig(t)
		finish(t, open(t, cfg))
		if err := os.RemoveAll(filepath.Join(cfg.DataDir, lost)); err != nil {
			t.Fatal(err)
		}
		n, err := Open(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := waitFailed(t, n); !errors.Is(err, ErrStateLost) {
			t.Errorf("without %s: %v", lost, err)
		}
		finish(t, n)
	}
}

// What a damaged log says names the file, and comes out of Err.
func TestDamagedLogFailsTheNode(t *testing.T) {
	cfg := testConfig(t)
	finish(t, open(t, cfg))
	name := filepath.Join(cfg.DataDir, "meta", "raft.db")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for at := range data[:len(data)/2] {
		data[at] ^= 0x55
	}
	if err := os.WriteFile(name, data, fileMode); err != nil {
		t.Fatal(err)
	}
	n, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := waitFailed(t, n); !bytes.Contains([]byte(err.Error()), []byte("raft.db")) {
		t.Errorf("a damaged log: %v", err)
	}
	if _, _, err := n.Show("1"); !errors.Is(err, ErrNotReady) {
		t.Errorf("a read: %v", err)
	}
	finish(t, n)
}

// A node that is closed before it is ready stops at once.
func TestCloseWhileStarting(t *testing.T) {
	for range 3 {
		cfg := testConfig(t)
		n, err := Open(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		finish(t, n)
		finish(t, open(t, cfg))
	}
}

// Log time that is ahead of the node's clock (which was set back) does not make every command too late.
func TestClockThatWasSetBack(t *testing.T) {
	n := openHooked(t, testConfig(t), hooks{clock: func(fast shard.Clock) shard.Clock { return slowClock{fast} }})
	catalogue(t, n)
	putShow(t, n, "1")
	hold(t, n, "1", "ann", "A1")
	hold(t, n, "1", "ann", "A2")
	if seen := n.shards[ShardOf("1", 3)].seen.now(); seen == 0 {
		t.Error("the log's time is not remembered")
	}
}

// M-13, M-14: a restart forgets what a test clock was advanced by, the log does not. The node's time goes on from the
// log's, and a hold ends when its time has passed: neither at once nor an hour late.
func TestRestartGoesOnFromLogTime(t *testing.T) {
	cfg := testConfig(t)
	n := open(t, cfg)
	catalogue(t, n)
	putShow(t, n, "1")
	advance(t, n, time.Hour)
	ref := hold(t, n, "1", "ann", "A1")
	finish(t, n)

	n = open(t, cfg)
	b, ok, err := n.Booking(ref, ReadLeader)
	if err != nil || !ok || b.Status != fsm.StatusPending {
		t.Fatalf("after the restart: %+v %v %v", b, ok, err)
	}
	if now := n.Now(); now < b.CreatedAt || now >= b.ExpiresAt {
		t.Fatalf("the node's time is %d ms from the hold's", now-b.CreatedAt)
	}
	advance(t, n, 390*time.Second)
	if b, _, err = n.Booking(ref, ReadStrong); err != nil || b.Status != fsm.StatusPending {
		t.Fatalf("390 s later: %+v %v", b, err)
	}
	advance(t, n, 31*time.Second)
	eventually(t, "the seat is free without traffic", func() bool {
		show, _, _ := n.Show("1")
		return show.Counts.Held == 0
	})
}

func advance(t testing.TB, n *Node, d time.Duration) {
	t.Helper()
	if err := n.AdvanceClock(d); err != nil {
		t.Fatal(err)
	}
}

// slowClock is an hour behind.
type slowClock struct{ shard.Clock }

func (c slowClock) Now() fsm.Time { return c.Clock.Now().Add(-time.Hour) }
