package cluster

import (
	"sync"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
	"github.com/houseful/houseful/shard"
)

// dataShard is this node's replica of a data shard.
type dataShard struct {
	proposer[*fsm.Result]
	number  int
	name    string
	machine *fsm.Machine
	browse  chan struct{} // of capacity 1: look at what the catalogue may lack
	close   func() error  // the stores

	capturing sync.Mutex // one capture at a time takes the machine's epoch
}

func newDataShard(number int, name string) *dataShard {
	s := &dataShard{number: number, name: name, machine: fsm.New(uint16(number)), browse: make(chan struct{}, 1)}
	s.tooLate = func(r *fsm.Result) bool { return r.Code == fsm.CodeCommandTooLate }
	s.logTime = func(r *fsm.Result) fsm.Time { return r.Now }
	return s
}

// read runs fn beside other reads and never beside a write. It must be short.
func (s *dataShard) read(fn func(*fsm.Machine)) {
	s.group.Read(func() { fn(s.machine) })
}

// capture takes a view of the shard. The caller releases it.
func (s *dataShard) capture() (view *fsm.Capture) {
	s.capturing.Lock()
	defer s.capturing.Unlock()
	s.read(func(m *fsm.Machine) { view = m.Capture() })
	return view
}

// wakeBrowse makes the browse loop look.
func (s *dataShard) wakeBrowse() {
	select {
	case s.browse <- struct{}{}:
	default:
	}
}

// metaGroup is this node's replica of the meta group.
type metaGroup struct {
	proposer[*meta.Result]
	machine *meta.Machine
	close   func() error // the stores
}

func newMetaGroup() *metaGroup {
	g := &metaGroup{machine: meta.New()}
	g.tooLate = func(r *meta.Result) bool { return r.Code == meta.CodeCommandTooLate }
	g.logTime = func(r *meta.Result) fsm.Time { return r.Now }
	return g
}

// shardMachine and metaMachine are the machines as a group wants them.
type shardMachine struct{ *fsm.Machine }

func (m shardMachine) Capture() shard.Capture { return m.Machine.Capture() }

// Pulse is the command that ends what is due. It has no id: it answers nobody, and twice is as good as once.
func (m shardMachine) Pulse() []byte {
	pulse := &wire.Command{Body: &wire.Command_ExpirePulse{ExpirePulse: &wire.ExpirePulse{}}}
	data, err := pulse.MarshalVT()
	if err != nil {
		panic("cluster: the pulse cannot be encoded: " + err.Error())
	}
	return data
}

type metaMachine struct{ *meta.Machine }

func (m metaMachine) Capture() shard.Capture { return m.Machine.Capture() }
