package meta

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// Restore replaces the state with a snapshot's. On an error, which is ErrSnapshot or ErrFeature or the reader's, the
// state is unchanged. What comes after the snapshot's end is an error too.
func (m *Machine) Restore(r io.Reader) error {
	in := &recordReader{r: bufio.NewReader(r)}
	header, err := in.header()
	if err != nil {
		return err
	}
	fresh := New()
	fresh.feature, fresh.now, fresh.nextReplica = header.FeatureVersion, fsm.Time(header.NowMs), header.NextReplica
	for records := uint64(0); ; records++ {
		record, err := in.read()
		if err != nil {
			return err
		}
		if end, ok := record.Body.(*wire.MetaRecord_End); ok {
			if err := fresh.checkEnd(end.End, records, in); err != nil {
				return err
			}
			*m = *fresh
			return nil
		}
		if err := fresh.load(record); err != nil {
			return fmt.Errorf("%w: record %d: %w", ErrSnapshot, records+1, err)
		}
	}
}

var (
	errDuplicate     = errors.New("the same object twice")
	errUnknownRecord = errors.New("a kind of record that this program does not know")
	errBroken        = errors.New("an object that the rules refuse")
	errReference     = errors.New("an object that names one that is not there")
)

// load puts a record's object where it belongs, indexes included. Objects come after those they name.
func (m *Machine) load(record *wire.MetaRecord) error {
	switch body := record.Body.(type) {
	case *wire.MetaRecord_Birth:
		if m.birth != nil {
			return errDuplicate
		}
		if checkBirth(body.Birth) != nil {
			return errBroken
		}
		m.birth = body.Birth
		return nil
	case *wire.MetaRecord_Node:
		return loadIn(&m.nodes, body.Node.Id, body.Node, checkNode)
	case *wire.MetaRecord_City:
		return loadIn(&m.cities, body.City.Id, body.City, CheckCity)
	case *wire.MetaRecord_Movie:
		if err := loadIn(&m.movies, body.Movie.Id, body.Movie, CheckMovie); err != nil {
			return err
		}
		m.titles.add(body.Movie)
		return nil
	case *wire.MetaRecord_Theatre:
		if m.cities.byID[body.Theatre.CityId] == nil {
			return errReference
		}
		if err := loadIn(&m.theatres, body.Theatre.Id, body.Theatre, CheckTheatre); err != nil {
			return err
		}
		m.theatresOfCity.move(body.Theatre.Id, "", body.Theatre.CityId)
		return nil
	case *wire.MetaRecord_Screen:
		if m.theatres.byID[body.Screen.TheatreId] == nil {
			return errReference
		}
		if err := loadIn(&m.screens, body.Screen.Id, body.Screen, CheckScreen); err != nil {
			return err
		}
		m.screensOfTheatre.move(body.Screen.Id, "", body.Screen.TheatreId)
		return nil
	case *wire.MetaRecord_ShowEntry:
		return m.loadShow(body.ShowEntry)
	case *wire.MetaRecord_Answer:
		return m.loadAnswer(body.Answer)
	}
	return errUnknownRecord
}

func loadIn[T any](t *table[T], id string, object *T, check func(*T) *Result) error {
	if check(object) != nil {
		return errBroken
	}
	if t.byID[id] != nil {
		return errDuplicate
	}
	t.put(id, object)
	return nil
}

func (m *Machine) loadShow(entry *wire.ShowEntry) error {
	switch {
	case checkShowEntry(entry) != nil:
		return errBroken
	case m.shows[entry.ShowId] != nil:
		return errDuplicate
	case m.cities.byID[entry.CityId] == nil || m.theatres.byID[entry.TheatreId] == nil,
		m.screens.byID[entry.ScreenId] == nil || m.movies.byID[entry.MovieId] == nil:
		return errReference
	}
	m.shows[entry.ShowId] = entry
	m.days.add(entry)
	return nil
}

func (m *Machine) loadAnswer(a *wire.MetaAnswer) error {
	var id fsm.CommandID
	if len(a.Id) != len(id) || a.Code >= uint32(codeEnd) {
		return errBroken
	}
	copy(id[:], a.Id)
	if _, ok := m.answers.find(id); ok {
		return errDuplicate
	}
	if last := len(m.answers.queue) - 1; last >= 0 && m.answers.queue[last].keptUntil > fsm.Time(a.KeptUntilMs) {
		return errBroken
	}
	m.answers.add(answer{id: id, keptUntil: fsm.Time(a.KeptUntilMs), result: &Result{
		Code: Code(a.Code), Created: a.Created, Changed: a.Changed, Field: a.Field, Reason: a.Reason, Now: fsm.Time(a.NowMs),
	}})
	return nil
}

// checkEnd checks that nothing is missing, changed or left over.
func (m *Machine) checkEnd(end *wire.MetaEnd, records uint64, in *recordReader) error {
	if end.Records != records {
		return fmt.Errorf("%w: %d records, its end says %d", ErrSnapshot, records, end.Records)
	}
	if digest := m.Capture().Digest(); !bytes.Equal(digest[:], end.Digest) {
		return fmt.Errorf("%w: its digest is not that of what it holds", ErrSnapshot)
	}
	if _, err := in.r.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something comes after its end", ErrSnapshot)
	}
	return nil
}

// recordReader reads what recordWriter wrote.
type recordReader struct {
	r      *bufio.Reader
	buffer bytes.Buffer
}

func (in *recordReader) header() (*wire.MetaHeader, error) {
	record, err := in.read()
	if err != nil {
		return nil, err
	}
	header := record.GetHeader()
	switch {
	case header == nil:
		return nil, fmt.Errorf("%w: it does not start with a header", ErrSnapshot)
	case header.Format != SnapshotFormat:
		return nil, fmt.Errorf("%w: format %d, this program reads %d", ErrSnapshot, header.Format, SnapshotFormat)
	case header.FeatureVersion < 1 || header.FeatureVersion > FeatureVersion:
		return nil, fmt.Errorf("%w: %d, this one knows %d", ErrFeature, header.FeatureVersion, FeatureVersion)
	}
	return header, nil
}

func (in *recordReader) read() (*wire.MetaRecord, error) {
	size, err := binary.ReadUvarint(in.r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, noEOF(err))
	}
	if size > SnapshotRecordBytesMax {
		return nil, fmt.Errorf("%w: a record of %d bytes", ErrSnapshot, size)
	}
	in.buffer.Reset() // grows with what is there, not with what a broken length promises
	if _, err := io.CopyN(&in.buffer, in.r, int64(size)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, noEOF(err))
	}
	record := &wire.MetaRecord{}
	if err := record.UnmarshalVT(in.buffer.Bytes()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	return record, nil
}

// noEOF makes the end of the file inside a snapshot what it is.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
