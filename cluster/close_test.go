package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/houseful/houseful/fsm/wire"
	"github.com/houseful/houseful/shard/logstore"
)

// hangingFS is a disk on which, once told to, an fsync of the log fails or does not come back.
type hangingFS struct {
	vfs.FS
	hanging, failing atomic.Bool
}

type hangingFile struct {
	vfs.File
	fs *hangingFS
}

func (fs *hangingFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := fs.FS.Create(name, category)
	if err != nil || filepath.Ext(name) != ".log" {
		return file, err
	}
	return hangingFile{file, fs}, nil
}

func (f hangingFile) SyncData() error {
	if f.fs.failing.Load() {
		return errors.New("injected disk error")
	}
	if f.fs.hanging.Load() {
		select {}
	}
	return f.File.SyncData()
}

func (f hangingFile) Sync() error { return f.SyncData() }

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
	disk := &hangingFS{FS: vfs.Default}
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
	disk.hanging.Store(mode == "hang")
	disk.failing.Store(mode == "fail")
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
