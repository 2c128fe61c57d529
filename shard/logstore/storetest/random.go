package storetest

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// randomSteps is how many operations the random case makes.
const randomSteps = 250

// model is a log as it should be.
type model struct {
	logs []*raft.Log
	term uint64
}

// testRandom drives the store and a slice side by side, with crashes and restarts. A test binary with a flag store.seed
// can repeat a run.
func testRandom(t *testing.T, h Harness) {
	seed := randomSeed(t)
	t.Logf("seed %d (repeat with -store.seed=%d)", seed, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	s := open(t, h, dir)
	m := &model{term: 1}
	for range randomSteps {
		switch n := random.IntN(20); {
		case n < 11:
			m.append(t, s, random)
		case n < 13:
			m.cutPrefix(t, s, random)
		case n < 15:
			m.cutSuffix(t, s, random)
		case n < 16:
			m.cutAll(t, s)
		case n < 18:
			m.term++
			must(t, s.SetUint64([]byte("CurrentTerm"), m.term))
		case n < 19:
			m.check(t, crash(t, h, dir))
		default:
			must(t, s.Close())
			s = open(t, h, dir)
			m.check(t, s)
		}
	}
	m.check(t, s)
}

func randomSeed(t *testing.T) uint64 {
	t.Helper()
	if f := flag.Lookup("store.seed"); f != nil {
		if seed, ok := f.Value.(flag.Getter).Get().(uint64); ok && seed != 0 {
			return seed
		}
	}
	return uint64(time.Now().UnixNano())
}

func (m *model) next() uint64 {
	if len(m.logs) == 0 {
		return 1
	}
	return m.logs[len(m.logs)-1].Index + 1
}

func (m *model) append(t *testing.T, s Store, random *rand.Rand) {
	t.Helper()
	first := m.next()
	if len(m.logs) == 0 {
		first += uint64(random.IntN(1000))
	}
	logs := Entries(first, uint64(1+random.IntN(30)), m.term)
	must(t, s.StoreLogs(logs))
	m.logs = append(m.logs, logs...)
}

func (m *model) cutPrefix(t *testing.T, s Store, random *rand.Rand) {
	t.Helper()
	if len(m.logs) < 2 {
		return
	}
	n := 1 + random.IntN(len(m.logs)-1)
	must(t, s.DeleteRange(m.logs[0].Index, m.logs[n-1].Index))
	m.logs = m.logs[n:]
}

func (m *model) cutSuffix(t *testing.T, s Store, random *rand.Rand) {
	t.Helper()
	if len(m.logs) == 0 {
		return
	}
	n := random.IntN(len(m.logs))
	must(t, s.DeleteRange(m.logs[n].Index, m.next()-1))
	m.logs = m.logs[:n:n]
	m.term++
}

func (m *model) cutAll(t *testing.T, s Store) {
	t.Helper()
	if len(m.logs) > 0 {
		must(t, s.DeleteRange(m.logs[0].Index, m.next()-1))
		m.logs = nil
	}
}

func (m *model) check(t *testing.T, s Store) {
	t.Helper()
	expect(t, s, m.logs)
	term, err := s.GetUint64([]byte("CurrentTerm"))
	if m.term > 1 && err == nil && term > m.term {
		t.Fatalf("term %d was never set", term)
	}
}
