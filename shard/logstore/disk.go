package logstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/houseful/houseful/shard/folder"
)

// ErrDiskFull is returned by DiskSpace.Check below the floor: refuse the command, nothing was written.
var ErrDiskFull = errors.New("logstore: free disk space is below the floor")

// DiskSpace answers whether there is room to write, so that commands are refused before a store meets ENOSPC, which neither Pebble
// (it retries for ever) nor bbolt takes well. Check costs an atomic load but for once in DiskCheckInterval. Methods may be called at once.
type DiskSpace struct {
	dir        string
	floorBytes uint64

	checkedNanos atomic.Int64 // when free was asked for, since epoch
	epoch        time.Time
	free         atomic.Uint64
	failure      atomic.Pointer[error]
}

// NewDiskSpace watches the file system of dir, which must exist. Below floorBytes free to an ordinary user, Check refuses.
func NewDiskSpace(dir string, floorBytes uint64) (*DiskSpace, error) {
	d := &DiskSpace{dir: dir, floorBytes: floorBytes, epoch: time.Now()}
	if d.refresh(); d.failure.Load() != nil {
		return nil, *d.failure.Load()
	}
	return d, nil
}

// Check returns nil while there is room, ErrDiskFull below the floor, or why that cannot be told.
func (d *DiskSpace) Check() error {
	now, checked := int64(time.Since(d.epoch)), d.checkedNanos.Load()
	// One caller asks, the others take the last answer.
	if now-checked >= int64(DiskCheckInterval) && d.checkedNanos.CompareAndSwap(checked, now) {
		d.refresh()
	}
	if failure := d.failure.Load(); failure != nil {
		return *failure
	}
	if free := d.free.Load(); free < d.floorBytes {
		return fmt.Errorf("%w: %d bytes free under %s, the floor is %d", ErrDiskFull, free, d.dir, d.floorBytes)
	}
	return nil
}

// FreeBytes returns the last figure.
func (d *DiskSpace) FreeBytes() uint64 { return d.free.Load() }

func (d *DiskSpace) refresh() {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(d.dir, &stat); err != nil {
		err = fmt.Errorf("logstore: free space under %s: %w", d.dir, err)
		d.failure.Store(&err)
		return
	}
	d.failure.Store(nil)
	d.free.Store(stat.Bavail * uint64(stat.Bsize))
}

// BallastName is the file that MakeBallast reserves space with.
const BallastName = "BALLAST"

// MakeBallast reserves sizeBytes in dir with a file that means nothing: when the disk is full, an operator removes it to have room to
// recover in. It returns false if it is there already with that size. With too little room it leaves nothing behind and returns the error.
func MakeBallast(dir string, sizeBytes int64) (made bool, err error) {
	path := filepath.Join(dir, BallastName)
	if info, err := os.Stat(path); err == nil && info.Size() == sizeBytes {
		return false, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return false, fmt.Errorf("logstore: ballast: %w", err)
	}
	// Allocated, not written: the blocks are taken and the disk is spared.
	if sizeBytes > 0 {
		err = syscall.Fallocate(int(file.Fd()), 0, 0, sizeBytes)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return false, errors.Join(fmt.Errorf("logstore: ballast of %d bytes in %s: %w", sizeBytes, dir, err), os.Remove(path))
	}
	return true, folder.Sync(dir)
}

// RemoveBallast gives the space back. It is no error if there is no ballast.
func RemoveBallast(dir string) error {
	err := os.Remove(filepath.Join(dir, BallastName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("logstore: ballast: %w", err)
	}
	return folder.Sync(dir)
}
