package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/houseful/houseful/fsm/wire"
	"github.com/houseful/houseful/shard/logstore"
	"github.com/houseful/houseful/shard/logstore/storetest"
)

const diskChild = "CLUSTER_DISK_CHILD"

// A disk that hangs or fails fails the node, and Close comes back all the same. In a process of its own: what hangs, hangs.
func TestCloseOnBrokenDisk(t *testing.T) {
	if mode := os.Getenv(diskChild); mode != "" {
		if err := breakDisk(mode); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	for _, mode := range []string{"hang", "fail"} {
		t.Run(mode, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 3*testWait)
			defer cancel()
			command := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestCloseOnBrokenDisk$")
			command.Env = append(os.Environ(), diskChild+"="+mode, "TMPDIR="+t.TempDir())
			if output, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%v, output:\n%s", err, output)
			}
		})
	}
}

// breakDisk runs a node on a disk that breaks, and closes it: that fails, and takes by far less than it may.
func breakDisk(mode string) error {
	disk := storetest.NewDisk()
	cfg := DefaultConfig()
	cfg.DataDir, cfg.Shards, cfg.FreeSpaceFloorBytes, cfg.BallastBytes = filepath.Join(os.TempDir(), "data"), 2, 1, 0
	n, err := openNode(context.Background(), cfg, hooks{log: func(o *logstore.PebbleOptions) { o.FS, o.StallTimeout = disk, time.Second }})
	if err != nil {
		return err
	}
	for deadline := time.After(testWait); n.Ready() != nil; {
		select {
		case <-deadline:
			return fmt.Errorf("never ready: %w", n.Ready())
		case <-time.After(5 * time.Millisecond):
		}
	}
	disk.Hanging.Store(mode == "hang")
	disk.Failing.Store(mode == "fail")
	go func() { _, _ = n.Hold(&wire.Hold{ShowId: "1", UserId: "ann", Labels: []string{"A1"}}) }()
	select {
	case <-n.Failed():
	case <-time.After(testWait):
		return errors.New("the node does not fail")
	}
	ctx, cancel := context.WithTimeout(context.Background(), testWait)
	defer cancel()
	began := time.Now()
	err = n.Close(ctx)
	if took := time.Since(began); took > closeGrace+3*time.Second {
		return fmt.Errorf("Close took %s: %w", took, err)
	}
	if !errors.Is(err, logstore.ErrFailed) {
		return fmt.Errorf("Close said: %w", err)
	}
	return nil
}

// Close while the start hangs ends by its context, and the node ends when the start goes on.
func TestCloseDoesNotWaitForTheStart(t *testing.T) {
	blocked, release := make(chan struct{}), make(chan struct{})
	n, err := openNode(context.Background(), testConfig(t), hooks{start: func(next string) error {
		if next == "group meta" {
			close(blocked)
			<-release
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-blocked
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := n.Close(ctx); !errors.Is(err, ErrNotClosed) {
		t.Errorf("closed while it starts: %v", err)
	}
	close(release)
	finish(t, n)
}

// A ballast is a comfort: a node starts where none can be laid.
func TestStartWithoutBallast(t *testing.T) {
	cfg := testConfig(t)
	if err := os.MkdirAll(filepath.Join(cfg.DataDir, logstore.BallastName), folderMode); err != nil {
		t.Fatal(err)
	}
	open(t, cfg)
}

// What a crash in the middle of writing identity.json left is removed by the next start.
func TestIdentityLeftoversAreRemoved(t *testing.T) {
	cfg := testConfig(t)
	finish(t, open(t, cfg))
	name := filepath.Join(cfg.DataDir, "identity.json")
	if err := os.WriteFile(name+strings.Replace(temporarySuffix, "*", "123", 1), []byte("half"), fileMode); err != nil {
		t.Fatal(err)
	}
	finish(t, open(t, cfg))
	if left, err := filepath.Glob(name + "*"); err != nil || len(left) != 1 {
		t.Errorf("beside %s: %q, %v", name, left, err)
	}
}
