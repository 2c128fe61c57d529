package storetest

import (
	"errors"
	"path/filepath"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Disk is a file system on which, once told to, an fsync of the log fails or does not come back.
type Disk struct {
	vfs.FS
	Hanging, Failing atomic.Bool
}

// NewDisk gives the real file system, in order.
func NewDisk() *Disk { return &Disk{FS: vfs.Default} }

// Create makes a file; one of the log breaks with the disk.
func (d *Disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := d.FS.Create(name, category)
	if err != nil || filepath.Ext(name) != ".log" {
		return file, err
	}
	return diskFile{file, d}, nil
}

type diskFile struct {
	vfs.File
	disk *Disk
}

func (f diskFile) SyncData() error {
	if f.disk.Failing.Load() {
		return errors.New("injected disk error")
	}
	if f.disk.Hanging.Load() {
		select {}
	}
	return f.File.SyncData()
}

func (f diskFile) Sync() error { return f.SyncData() }
