package cluster

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// identityFormat is the version of identity.json.
const identityFormat = 1

// identity is who lives in a data directory. It is drawn once; only Bootstrapped grows.
type identity struct {
	Format    int    `json:"format"`
	ClusterID string `json:"clusterId"`
	NodeID    string `json:"nodeId"`
	DataUUID  string `json:"dataUuid"` // of this folder: a node with a new one is a new home for replicas
	// Bootstrapped are the groups that had a log here. One of them without any state has lost it, and must not be
	// born again as an empty group.
	Bootstrapped []string `json:"bootstrapped"`
}

// identityFile is the file: the identity, and the xxhash64 of its bytes.
type identityFile struct {
	Identity json.RawMessage `json:"identity"`
	Checksum string          `json:"checksum"`
}

// loadIdentity reads the folder's identity, or draws and writes one when there is none. ErrIdentity when it is not
// nodeID's, or damaged, or missing though there is state.
func loadIdentity(dir *dataDir, nodeID string) (*identity, error) {
	data, err := os.ReadFile(dir.identity())
	if errors.Is(err, os.ErrNotExist) {
		for _, state := range []string{dir.metaLog(), dir.log()} {
			if _, err := os.Stat(state); err == nil {
				return nil, fmt.Errorf("%w: %s is missing, but there is %s", ErrIdentity, dir.identity(), state)
			}
		}
		fresh := &identity{Format: identityFormat, ClusterID: newUUID(), NodeID: nodeID, DataUUID: newUUID()}
		return fresh, fresh.save(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIdentity, err)
	}
	known, err := parseIdentity(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrIdentity, dir.identity(), err)
	}
	if known.NodeID != nodeID {
		return nil, fmt.Errorf("%w: %s is the folder of node %s, this node is %s", ErrIdentity, dir.path, known.NodeID, nodeID)
	}
	return known, nil
}

func parseIdentity(data []byte) (*identity, error) {
	var file identityFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	var compact bytes.Buffer // the checksum does not mind how the file is indented
	if err := json.Compact(&compact, file.Identity); err != nil {
		return nil, err
	}
	if checksum(compact.Bytes()) != file.Checksum {
		return nil, errors.New("its checksum is not that of what it says")
	}
	known := &identity{}
	if err := json.Unmarshal(file.Identity, known); err != nil {
		return nil, err
	}
	if known.Format != identityFormat {
		return nil, fmt.Errorf("format %d, this program reads %d", known.Format, identityFormat)
	}
	if known.ClusterID == "" || known.NodeID == "" || known.DataUUID == "" {
		return nil, errors.New("it is incomplete")
	}
	return known, nil
}

func (i *identity) save(dir *dataDir) error {
	encoded, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("write %s: %w", dir.identity(), err)
	}
	data, err := json.MarshalIndent(identityFile{encoded, checksum(encoded)}, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", dir.identity(), err)
	}
	if err := writeFile(dir.identity(), append(data, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", dir.identity(), err)
	}
	return nil
}

// bootstrapped reports whether a group had a log here.
func (i *identity) bootstrapped(group string) bool { return slices.Contains(i.Bootstrapped, group) }

// remember notes groups that have a log here now.
func (i *identity) remember(dir *dataDir, groups ...string) error {
	grown := false
	for _, group := range groups {
		if !i.bootstrapped(group) {
			i.Bootstrapped, grown = append(i.Bootstrapped, group), true
		}
	}
	if !grown {
		return nil
	}
	return i.save(dir)
}

func checksum(data []byte) string { return strconv.FormatUint(xxhash.Sum64(data), 16) }

// newUUID draws a version 4 UUID.
func newUUID() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails: it ends the program instead
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	text := hex.EncodeToString(u[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
