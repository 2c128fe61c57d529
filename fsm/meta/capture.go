package meta

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// SnapshotFormat is the encoding of snapshots that this program writes and reads.
const SnapshotFormat = 1

// Capture is an immutable view of a machine's state; its methods may run beside Apply. Objects are never changed
// once they are in the machine, so that a view is a copy of pointers: 0.3 ms for 10,000 shows.
type Capture struct {
	feature     uint32
	now         fsm.Time
	nextReplica uint64
	birth       *wire.Birth
	nodes       []*wire.Node
	cities      []*wire.City
	movies      []*wire.Movie
	theatres    []*wire.Theatre
	screens     []*wire.Screen
	shows       []*wire.ShowEntry // in no order until sorted is called
	answers     []answer
}

// Capture takes a view of the state. Release it when done.
func (m *Machine) Capture() *Capture {
	c := &Capture{
		feature: m.feature, now: m.now, nextReplica: m.nextReplica, birth: m.birth,
		nodes: m.nodes.list(), cities: m.cities.list(), movies: m.movies.list(), theatres: m.theatres.list(),
		screens: m.screens.list(), shows: make([]*wire.ShowEntry, 0, len(m.shows)), answers: slices.Clone(m.answers.queue),
	}
	for _, entry := range m.shows {
		c.shows = append(c.shows, entry)
	}
	return c
}

// Release lets go of the view.
func (c *Capture) Release() {}

// WriteTo writes a snapshot: records of wire.MetaRecord, each after its length as a varint.
func (c *Capture) WriteTo(w io.Writer) (int64, error) {
	out := &recordWriter{w: w}
	out.write(&wire.MetaRecord{Body: &wire.MetaRecord_Header{Header: &wire.MetaHeader{
		Format: SnapshotFormat, FeatureVersion: c.feature, NowMs: int64(c.now), NextReplica: c.nextReplica,
	}}})
	if c.birth != nil {
		out.write(&wire.MetaRecord{Body: &wire.MetaRecord_Birth{Birth: c.birth}})
	}
	for _, node := range c.nodes {
		out.write(&wire.MetaRecord{Body: &wire.MetaRecord_Node{Node: node}})
	}
	for _, city := range c.cities {
		out.write(&wire.MetaRecord{Body: &wire.MetaRecord_City{City: city}})
	}
	for _, movie := range c.movies {
		out.write(&wire.MetaRecord{Body: &wire.MetaRecord_Movie{Movie: movie}})
	}
	for _, theatre := range c.theatres {
		out.write(&wire.MetaRecord{Body: &wire.MetaRecord_Theatre{Theatre: theatre}})
	}
	for _, screen := range c.screens {
		out.write(&wire.MetaRecord{Body: &wire.MetaRecord_Screen{Screen: screen}})
	}
	for _, entry := range c.sortedShows() {
		out.write(&wire.MetaRecord{Body: &wire.MetaRecord_ShowEntry{ShowEntry: entry}})
	}
	for _, a := range c.answers {
		out.write(&wire.MetaRecord{Body: &wire.MetaRecord_Answer{Answer: &wire.MetaAnswer{
			Id: a.id[:], KeptUntilMs: int64(a.keptUntil), Code: uint32(a.result.Code), Created: a.result.Created,
			Changed: a.result.Changed, Field: a.result.Field, Reason: a.result.Reason, NowMs: int64(a.result.Now),
		}}})
	}
	digest := c.Digest()
	out.write(&wire.MetaRecord{Body: &wire.MetaRecord_End{End: &wire.MetaEnd{Records: out.records - 1, Digest: digest[:]}}})
	if out.err != nil {
		return out.bytes, fmt.Errorf("write a snapshot of the meta group: %w", out.err)
	}
	return out.bytes, nil
}

func (c *Capture) sortedShows() []*wire.ShowEntry {
	sorted := slices.Clone(c.shows)
	slices.SortFunc(sorted, func(a, b *wire.ShowEntry) int { return strings.Compare(a.ShowId, b.ShowId) })
	return sorted
}

// Digest is the SHA-256 of the state's canonical encoding: equal states, and only they, have equal digests.
func (c *Capture) Digest() [sha256.Size]byte {
	hash := sha256.New()
	buffer := appendInt(appendUint(nil, c.feature), int64(c.now))
	buffer = appendUint(buffer, c.nextReplica)
	if c.birth != nil {
		buffer = appendBirth(append(buffer, 1), c.birth)
	} else {
		buffer = append(buffer, 0)
	}
	hash.Write(buffer)
	digestAll(hash, c.nodes, appendNode)
	digestAll(hash, c.cities, appendCity)
	digestAll(hash, c.movies, appendMovie)
	digestAll(hash, c.theatres, appendTheatre)
	digestAll(hash, c.screens, appendScreen)
	digestAll(hash, c.sortedShows(), appendShowEntry)
	digestAll(hash, c.answers, appendAnswer)
	var digest [sha256.Size]byte
	hash.Sum(digest[:0])
	return digest
}

func digestAll[T any](hash io.Writer, items []T, encode func([]byte, T) []byte) {
	buffer := appendUint(nil, len(items))
	for _, item := range items {
		buffer = encode(buffer, item)
		_, _ = hash.Write(buffer) // a hash never fails
		buffer = buffer[:0]
	}
	_, _ = hash.Write(buffer)
}

// recordWriter writes records until one fails.
type recordWriter struct {
	w       io.Writer
	buffer  []byte
	records uint64
	bytes   int64
	err     error
}

func (o *recordWriter) write(record *wire.MetaRecord) {
	if o.err != nil {
		return
	}
	size := record.SizeVT()
	o.buffer = binary.AppendUvarint(o.buffer[:0], uint64(size))
	head := len(o.buffer)
	o.buffer = slices.Grow(o.buffer, size)[:head+size]
	if _, o.err = record.MarshalToSizedBufferVT(o.buffer[head:]); o.err != nil {
		return
	}
	written, err := o.w.Write(o.buffer)
	o.bytes, o.err = o.bytes+int64(written), err
	o.records++
}
