// Package folder makes folders that are still there after a power failure. It imports nothing of ours and starts no goroutine.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Make makes a folder and those above it that are missing, and syncs the folder above each one it made: until then a crash may take the
// new one away with all that was fsynced in it. What was there already is taken to be on the disk.
func Make(path string, mode fs.FileMode) error { return makeAll(filepath.Clean(path), mode, Sync) }

func makeAll(path string, mode fs.FileMode, sync func(string) error) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("make folder %s: there is a file of that name", path)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("make folder: %w", err)
	}
	above := filepath.Dir(path)
	if above != path {
		if err := makeAll(above, mode, sync); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make folder: %w", err)
	}
	return sync(above)
}

// Sync fsyncs a folder: what was made, renamed or removed in it stays so.
func Sync(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("sync folder %s: %w", path, err)
	}
	return nil
}
