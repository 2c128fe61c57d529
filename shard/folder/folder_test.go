package folder

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The folder above each one that is made is synced, from the top down, and no other.
func TestMakeSyncsEachLevel(t *testing.T) {
	root := t.TempDir()
	var synced []string
	sync := func(path string) error {
		synced = append(synced, path)
		return Sync(path)
	}
	path := filepath.Join(root, "shards", "0", "snapshots")
	if err := makeAll(path, 0o750, sync); err != nil {
		t.Fatal(err)
	}
	if want := []string{root, filepath.Join(root, "shards"), filepath.Join(root, "shards", "0")}; !slices.Equal(synced, want) {
		t.Errorf("synced %q, want %q", synced, want)
	}
	synced = nil
	if err := makeAll(path, 0o750, sync); err != nil || len(synced) != 0 {
		t.Errorf("again: %v, synced %q", err, synced)
	}
	failure := errors.New("injected disk error")
	if err := makeAll(filepath.Join(root, "other"), 0o750, func(string) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("a sync that fails: %v", err)
	}
}

func TestMakeOnFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Make(path, 0o750); err == nil {
		t.Error("a file passes for a folder")
	}
	if err := Make(filepath.Join(path, "below"), 0o750); err == nil {
		t.Error("a folder below a file")
	}
	if err := Sync(filepath.Join(path, "below")); err == nil {
		t.Error("a folder that is not there was synced")
	}
}
