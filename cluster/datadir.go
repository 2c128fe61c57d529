package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/houseful/houseful/shard/folder"
)

const (
	folderMode = 0o750
	fileMode   = 0o640

	// temporarySuffix is what a file's name has more while it is written; the * stands for a number.
	temporarySuffix = ".tmp-*"
)

// dataDir is a node's folder, locked as long as the node runs:
//
//	LOCK               flock: one process at a time
//	identity.json      who lives here (identity.go)
//	log/               the log of every data replica
//	meta/raft.db       the log of the meta group
//	meta/snapshots/
//	shards/N/snapshots/
//	BALLAST            may be deleted to get a full disk going again
type dataDir struct {
	path string
	lock *os.File
}

// lockDataDir makes the folder if it is not there and locks it. ErrDataDirLocked.
func lockDataDir(path string) (*dataDir, error) {
	if err := folder.Make(path, folderMode); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	name := filepath.Join(path, "LOCK")
	lock, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		closed := lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("%w: %s", ErrDataDirLocked, path), closed)
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), closed)
	}
	dir := &dataDir{path: path, lock: lock}
	if err := dir.removeTemporary(); err != nil {
		return nil, errors.Join(fmt.Errorf("data directory: %w", err), dir.unlock())
	}
	return dir, nil
}

// removeTemporary removes what writeFile left when a crash cut it off. The caller has the lock.
func (d *dataDir) removeTemporary() error {
	left, err := filepath.Glob(d.identity() + temporarySuffix)
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// unlock lets another process in. The file stays: removing it would let two processes lock different files.
func (d *dataDir) unlock() error { return d.lock.Close() }

func (d *dataDir) identity() string      { return filepath.Join(d.path, "identity.json") }
func (d *dataDir) log() string           { return filepath.Join(d.path, "log") }
func (d *dataDir) metaLog() string       { return filepath.Join(d.path, "meta", "raft.db") }
func (d *dataDir) metaSnapshots() string { return filepath.Join(d.path, "meta", "snapshots") }

func (d *dataDir) shardSnapshots(shard int) string {
	return filepath.Join(d.path, "shards", strconv.Itoa(shard), "snapshots")
}

// writeFile replaces a file so that a crash leaves the old one or the new one, on the disk.
func writeFile(name string, data []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+temporarySuffix)
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	if err == nil {
		err = temporary.Chmod(fileMode)
	}
	if err == nil {
		err = temporary.Sync()
	}
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return folder.Sync(filepath.Dir(name))
}
