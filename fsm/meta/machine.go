package meta

import (
	"errors"
	"fmt"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// FeatureVersion is the newest feature version this program knows. It is the version of this machine's rules and of
// what nodes say to each other: a change of any result here, a fix included, is a new version.
const FeatureVersion = 1

// Errors of ApplyEntry and Restore. They stop the group: going on would mean guessing.
var (
	// ErrEntry says that a log entry cannot be understood.
	ErrEntry = errors.New("a log entry of the meta group cannot be understood")
	// ErrFeature says that the cluster runs under a feature version that this program does not know.
	ErrFeature = errors.New("unknown feature version; run a newer version of this program")
	// ErrSnapshot says that a snapshot cannot be understood.
	ErrSnapshot = errors.New("a snapshot of the meta group cannot be understood")
)

// Machine is the state of the meta group. One goroutine writes it through ApplyEntry or Apply; reads must not run
// beside a write, but those of a [Capture] may.
type Machine struct {
	feature     uint32
	now         fsm.Time
	nextReplica uint64 // 0 before the birth
	birth       *wire.Birth

	nodes    table[wire.Node]
	cities   table[wire.City]
	movies   table[wire.Movie]
	theatres table[wire.Theatre]
	screens  table[wire.Screen]
	shows    map[string]*wire.ShowEntry

	theatresOfCity   groups
	screensOfTheatre groups
	days             dayIndex
	titles           titleIndex

	answers answers
}

// New makes the empty machine of a cluster that is not born.
func New() *Machine {
	return &Machine{
		feature: 1, // until the birth says
		nodes:   newTable[wire.Node](), cities: newTable[wire.City](), movies: newTable[wire.Movie](),
		theatres: newTable[wire.Theatre](), screens: newTable[wire.Screen](),
		shows: map[string]*wire.ShowEntry{}, theatresOfCity: groups{}, screensOfTheatre: groups{},
		days: newDayIndex(), answers: newAnswers(),
	}
}

// ApplyEntry decodes a wire.Entry of encoded wire.MetaCommand and applies it: one result per command, in order. An
// error means that the entry cannot be understood: the state is unchanged and the group must stop.
func (m *Machine) ApplyEntry(data []byte) ([]*Result, error) {
	now, batch, err := DecodeEntry(data)
	if err != nil {
		return nil, err
	}
	return m.Apply(now, batch), nil
}

// DecodeEntry reads a log entry.
func DecodeEntry(data []byte) (fsm.Time, []*wire.MetaCommand, error) {
	var entry wire.Entry
	if err := entry.UnmarshalVTUnsafe(data); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrEntry, err)
	}
	if entry.Format != fsm.EntryFormat {
		return 0, nil, fmt.Errorf("%w: format %d, this program reads %d", ErrEntry, entry.Format, fsm.EntryFormat)
	}
	batch := make([]*wire.MetaCommand, len(entry.Commands))
	for i, encoded := range entry.Commands {
		batch[i] = &wire.MetaCommand{}
		if err := batch[i].UnmarshalVT(encoded); err != nil { // a copy: the catalogue keeps it
			return 0, nil, fmt.Errorf("%w: command %d of %d: %w", ErrEntry, i+1, len(batch), err)
		}
		if err := understood(batch[i]); err != nil {
			return 0, nil, fmt.Errorf("command %d of %d: %w", i+1, len(batch), err)
		}
	}
	return fsm.Time(entry.TimeMs), batch, nil
}

// understood refuses what a newer program wrote.
func understood(command *wire.MetaCommand) error {
	version := uint32(1)
	switch body := command.Body.(type) {
	case nil:
		return fmt.Errorf("%w: a kind of command that this program does not know", ErrEntry)
	case *wire.MetaCommand_Birth:
		version = body.Birth.GetFeatureVersion()
	case *wire.MetaCommand_RaiseFeature:
		version = body.RaiseFeature.GetVersion()
	}
	if version > FeatureVersion {
		return fmt.Errorf("%w: %d, this one knows %d", ErrFeature, version, FeatureVersion)
	}
	return nil
}

// Apply applies a batch that DecodeEntry gave at log time now, or at the greatest time seen if that is later.
func (m *Machine) Apply(now fsm.Time, batch []*wire.MetaCommand) []*Result {
	m.now = max(m.now, now)
	m.answers.forget(m.now)
	results := make([]*Result, len(batch))
	for i, command := range batch {
		results[i] = m.apply(command)
	}
	return results
}

// apply gives a command its one effect: the first time it comes, and in time. Later it only repeats the answer.
func (m *Machine) apply(command *wire.MetaCommand) *Result {
	var id fsm.CommandID
	if len(command.Id) != len(id) {
		return m.stamp(invalid("id", "a command's id is 16 bytes"))
	}
	copy(id[:], command.Id)
	if known, ok := m.answers.find(id); ok {
		return known
	}
	notAfter := fsm.Time(command.NotAfterMs)
	switch {
	case m.now > notAfter:
		return m.stamp(&Result{Code: CodeCommandTooLate})
	case notAfter > m.now.Add(fsm.CommandLifeMax):
		return m.stamp(invalid("notAfter", "lies further ahead than answers are kept"))
	case m.answers.full():
		return m.stamp(full("answers"))
	}
	result := m.stamp(m.perform(command))
	m.answers.keep(id, m.now, result)
	return result
}

func (m *Machine) stamp(result *Result) *Result {
	result.Now = m.now
	return result
}

func (m *Machine) perform(command *wire.MetaCommand) *Result {
	if body, ok := command.Body.(*wire.MetaCommand_Birth); ok {
		return m.beBorn(body.Birth)
	}
	if m.birth == nil {
		return &Result{Code: CodeNotBorn}
	}
	switch body := command.Body.(type) {
	case *wire.MetaCommand_PutNode:
		return m.putNode(body.PutNode)
	case *wire.MetaCommand_PutCity:
		return m.putCity(body.PutCity)
	case *wire.MetaCommand_PutMovie:
		return m.putMovie(body.PutMovie)
	case *wire.MetaCommand_PutTheatre:
		return m.putTheatre(body.PutTheatre)
	case *wire.MetaCommand_PutScreen:
		return m.putScreen(body.PutScreen)
	case *wire.MetaCommand_PutShowEntry:
		return m.putShowEntry(body.PutShowEntry)
	case *wire.MetaCommand_RemoveShowEntry:
		return m.removeShowEntry(body.RemoveShowEntry)
	case *wire.MetaCommand_RaiseFeature:
		return m.raiseFeature(body.RaiseFeature)
	}
	panic("meta: a command that DecodeEntry lets through has no rule")
}

// Now is the greatest log time seen.
func (m *Machine) Now() fsm.Time { return m.now }

// NextExpiry is never: nothing here ends by itself.
func (m *Machine) NextExpiry() (at fsm.Time, ok bool) { return 0, false }

// Pulse is nil: there is no pulse, because NextExpiry is never.
func (m *Machine) Pulse() []byte { return nil }
