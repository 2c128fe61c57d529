package fsm

import (
	"errors"
	"fmt"

	"github.com/houseful/houseful/fsm/wire"
)

// EntryFormat is the encoding of log entries that this program writes and reads.
const EntryFormat = 1

// RulesVersion is the newest rules this program knows. A change of any result, a fix included, is a new version:
// every replica of a shard must give the same result for the same log.
const RulesVersion = 1

// Errors of ApplyEntry and Restore. They stop the group: going on would mean guessing.
var (
	// ErrEntry says that a log entry cannot be understood.
	ErrEntry = errors.New("a log entry cannot be understood")
	// ErrRules says that the state was made under rules that this program does not know.
	ErrRules = errors.New("unknown rules version; run a newer version of this program")
	// ErrSnapshot says that a snapshot cannot be understood.
	ErrSnapshot = errors.New("a snapshot cannot be understood")
)

// Machine is the state of one shard. One goroutine writes it through ApplyEntry or Apply; reads must not run beside
// a write, but those of a [Capture] may.
type Machine struct {
	shard     uint16
	rules     uint32
	now       Time
	sequence  uint64 // of the newest show, booking or claim
	captures  *captures
	decoder   *decoder
	warmed    uint64          // no meaning: keeps the loads of warm
	noDetails *Details        // shared by all bookings without
	results   []bookingResult // room for the next ones

	shows      slab[show]
	showByID   map[ShowID]uint32
	layouts    map[string]*Layout // by canonical encoding
	browse     map[uint32]struct{}
	departed   map[ShowID]uint64 // shows that left, whose browse entry must go; by revision
	cancelling []uint32          // shows whose bookings are being ended, oldest first

	bookings slab[booking]
	byRef    index
	users    slab[user]
	userByID index
	holders  map[holder]uint32 // pending bookings of a user in a show
	expiry   dueHeap           // pending bookings by deadline

	claims       slab[claim]
	claimByRef   map[string]uint32
	claimsByAge  fifo[queued]
	endedByAge   fifo[queued] // ended bookings nobody paid for
	endedUnpaid  int
	departures   dueHeap // shows by the time they leave
	answers      fifo[answer]
	answerByID   index // low half of the position in answers
	idempotent   fifo[idempotent]
	idempotentBy map[[16]byte]uint64 // position in idempotent

	seatTotals Counts
	pending    int   // live holds, due ones that have not been ended included
	stats      Stats // counters only
}

// New makes the empty machine of a shard.
func New(shard uint16) *Machine {
	c := &captures{}
	m := &Machine{
		shard: shard, rules: RulesVersion, captures: c,
		shows: newSlab[show](c), bookings: newSlab[booking](c), users: newSlab[user](c), claims: newSlab[claim](c),
		showByID: map[ShowID]uint32{}, layouts: map[string]*Layout{}, browse: map[uint32]struct{}{},
		departed: map[ShowID]uint64{}, byRef: newIndex(), userByID: newIndex(),
		holders: map[holder]uint32{}, claimByRef: map[string]uint32{}, answerByID: newIndex(), decoder: &decoder{}, noDetails: &Details{},
		idempotentBy: map[[16]byte]uint64{},
	}
	return m
}

// ApplyEntry decodes a wire.Entry and applies it: one result per command, in order. An error means that the entry
// cannot be understood: the state is unchanged and the group must stop.
func (m *Machine) ApplyEntry(data []byte) ([]*Result, error) {
	now, batch, err := m.decoder.decode(data)
	if err != nil {
		return nil, err
	}
	return m.Apply(now, batch), nil
}

// Apply applies a batch at log time now, or at the greatest time seen if that is later (M-14).
func (m *Machine) Apply(now Time, batch []*wire.Command) []*Result {
	m.now = max(m.now, now)
	m.forget(2*len(batch) + forgetSlack)
	m.warm(batch)
	results := make([]*Result, len(batch))
	for i, command := range batch {
		results[i] = m.apply(command)
	}
	m.dropStale()
	return results
}

// warm loads what the indexes have about the commands of a batch. These loads do not wait for each other, as they
// would when command after command comes to them: that is most of what a hold costs once the indexes are large.
func (m *Machine) warm(batch []*wire.Command) {
	for _, command := range batch {
		m.warmed ^= m.answerByID.touch(m.answerByID.hashBytes(command.Id))
		if hold := command.GetHold(); hold != nil {
			m.warmed ^= m.byRef.touch(m.byRef.hashBytes(command.Id)) ^ m.userByID.touch(m.userByID.hashText(hold.UserId))
		}
	}
}

// apply gives a command its one effect: the first time it comes, and in time. Later it only repeats the answer.
func (m *Machine) apply(command *wire.Command) *Result {
	var id CommandID
	if len(command.Id) == len(id) {
		copy(id[:], command.Id)
	}
	notAfter := Time(command.NotAfterMs)
	named := id != CommandID{}
	if named {
		if known := m.findAnswer(id); known != nil {
			return known.result
		}
		if m.now > notAfter {
			return m.refuse(CodeCommandTooLate)
		}
		// Keeping the answer for less than notAfter would let a retry have a second effect, and FindByKey's word that
		// nothing is under way any more would not hold.
		if notAfter > m.now.Add(CommandLifeMax) || m.answers.len() >= AnswersMax {
			return m.refuse(CodeFull)
		}
	}
	result, keep := m.dispatch(id, command)
	result.Now = m.now
	if named && keep {
		m.keepAnswer(answer{id: id, notAfter: notAfter, result: result})
	}
	return result
}

// dispatch carries out a command. keep is false for reads: asked again, they answer anew.
func (m *Machine) dispatch(id CommandID, command *wire.Command) (result *Result, keep bool) {
	switch body := command.Body.(type) {
	case *wire.Command_Hold:
		return m.hold(BookingRef(id), body.Hold), true
	case *wire.Command_Confirm:
		return m.confirm(body.Confirm), true
	case *wire.Command_Release:
		return m.release(body.Release), true
	case *wire.Command_Extend:
		return m.extend(body.Extend), true
	case *wire.Command_Cancel:
		return m.cancel(body.Cancel), true
	case *wire.Command_Claim:
		return m.claim(body.Claim), true
	case *wire.Command_RefuseReference:
		return m.refuseReference(body.RefuseReference), true
	case *wire.Command_PutShow:
		return m.putShow(body.PutShow), true
	case *wire.Command_BrowseSent:
		return m.browseSent(body.BrowseSent), true
	case *wire.Command_Block:
		return m.block(body.Block), true
	case *wire.Command_ControlShow:
		return m.controlShow(body.ControlShow), true
	case *wire.Command_ExpirePulse:
		m.pulse()
		return &Result{}, false
	case *wire.Command_ReadBooking:
		return m.readBooking(body.ReadBooking), false
	case *wire.Command_FindByKey:
		return m.findByKey(body.FindByKey), false
	case *wire.Command_RaiseRules:
		return m.raiseRules(body.RaiseRules), true
	}
	panic(fmt.Sprintf("fsm: a command of unknown kind %T passed the decoder", command.Body))
}

func (m *Machine) refuse(code Code) *Result { return &Result{Code: code, Now: m.now} }

// raiseRules moves to newer rules; the group's leader proposes it once every member supports them. Rules that this
// program does not know have stopped the group in DecodeEntry: to refuse them here, where others accept, would part
// the replicas.
func (m *Machine) raiseRules(c *wire.RaiseRules) *Result {
	if c.Version < m.rules {
		return m.refuse(CodeUnsupportedRules)
	}
	assert(c.Version <= RulesVersion, "unknown rules passed the decoder")
	m.rules = c.Version
	return &Result{}
}

// Now is the greatest log time seen.
func (m *Machine) Now() Time { return m.now }

// Rules is the rules version that entries are applied under.
func (m *Machine) Rules() uint32 { return m.rules }

// forgetSlack is how many answers and keys are let go of beside those that a batch adds.
const forgetSlack = 256

// forget drops answers that no retry can ask for any more, since their commands' notAfter has passed, and keys past
// their life: up to limit of each, so that a burst does not make one later batch slow.
func (m *Machine) forget(limit int) {
	for n := 0; n < limit && m.answers.len() > 0; n++ {
		oldest := m.answers.at(m.answers.head)
		if oldest.notAfter >= m.now {
			break
		}
		m.answerByID.remove(m.answerByID.hashBytes(oldest.id[:]), uint32(m.answers.head))
		m.answers.pop()
	}
	for n := 0; n < limit && m.idempotent.len() > 0 && m.idempotent.at(m.idempotent.head).over(m.now); n++ {
		m.forgetKey()
	}
}

// keepAnswer notes an answer for as long as a retry may ask for it.
func (m *Machine) keepAnswer(a answer) {
	m.answerByID.add(m.answerByID.hashBytes(a.id[:]), uint32(m.answers.push(a)))
}

// findAnswer gives the answer that a command got before; nil when it is new.
func (m *Machine) findAnswer(id CommandID) *answer {
	at := func(low uint32) *answer { return m.answers.at(m.answers.head + uint64(low-uint32(m.answers.head))) }
	low, ok := m.answerByID.find(m.answerByID.hashBytes(id[:]), func(low uint32) bool { return at(low).id == id })
	if !ok {
		return nil
	}
	return at(low)
}
