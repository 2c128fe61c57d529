package shard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// tallyMachine is a small real machine: an append-only list of numbers with the log time of each, and alarms that a
// pulse ends. A command is one letter and a number.
type tallyMachine struct {
	now    fsm.Time
	values []uint64
	times  []fsm.Time
	alarms []fsm.Time // ascending
	ended  int
	pulses int
	stuck  bool

	sizes   []int         // commands of every entry
	block   chan struct{} // when set, ApplyEntry waits for it to be closed
	restore int           // how often Restore succeeded
}

type tally struct {
	position int // 1-based place in the list
	at       fsm.Time
}

const (
	commandAdd   = 'a' // appends the number
	commandAlarm = 'l' // an alarm at the number, in milliseconds of log time
	commandPulse = 'p'
	commandStuck = 's' // pulses end nothing from now on
	commandPanic = '!'
	commandWrong = '?' // an entry that cannot be understood
)

func command(kind byte, value uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{kind}, value)
}

var errTally = errors.New("unknown command")

func (m *tallyMachine) ApplyEntry(data []byte) ([]tally, error) {
	if m.block != nil {
		<-m.block
	}
	var entry wire.Entry
	if err := entry.UnmarshalVT(data); err != nil || entry.Format != entryFormat {
		return nil, fmt.Errorf("%w: format %d: %v", errTally, entry.Format, err)
	}
	for _, c := range entry.Commands {
		if c[0] == commandWrong {
			return nil, errTally
		}
	}
	m.sizes = append(m.sizes, len(entry.Commands))
	m.now = max(m.now, fsm.Time(entry.TimeMs))
	results := make([]tally, 0, len(entry.Commands))
	for _, c := range entry.Commands {
		m.apply(c[0], binary.BigEndian.Uint64(c[1:]))
		results = append(results, tally{position: len(m.values), at: m.now})
	}
	return results, nil
}

func (m *tallyMachine) apply(kind byte, value uint64) {
	switch kind {
	case commandAdd:
		m.values = append(m.values, value)
		m.times = append(m.times, m.now)
	case commandAlarm:
		at, _ := slices.BinarySearch(m.alarms, fsm.Time(value))
		m.alarms = slices.Insert(m.alarms, at, fsm.Time(value))
	case commandPulse:
		m.pulses++
		for !m.stuck && len(m.alarms) > 0 && m.alarms[0] <= m.now {
			m.alarms = m.alarms[1:]
			m.ended++
		}
	case commandStuck:
		m.stuck = true
	case commandPanic:
		panic("as ordered")
	}
}

func (m *tallyMachine) Now() fsm.Time { return m.now }

func (m *tallyMachine) NextExpiry() (fsm.Time, bool) {
	if len(m.alarms) == 0 {
		return 0, false
	}
	return m.alarms[0], true
}

func (m *tallyMachine) Pulse() []byte { return command(commandPulse, 0) }

type tallyCapture struct {
	now    fsm.Time
	values []uint64
	times  []fsm.Time
	alarms []fsm.Time
}

func (m *tallyMachine) Capture() Capture {
	return &tallyCapture{
		now: m.now, values: m.values[:len(m.values):len(m.values)], times: m.times[:len(m.times):len(m.times)],
		alarms: slices.Clone(m.alarms),
	}
}

func (c *tallyCapture) WriteTo(w io.Writer) (int64, error) {
	var out []byte
	out = binary.BigEndian.AppendUint64(out, uint64(c.now))
	out = binary.BigEndian.AppendUint64(out, uint64(len(c.values)))
	out = binary.BigEndian.AppendUint64(out, uint64(len(c.alarms)))
	for i, v := range c.values {
		out = binary.BigEndian.AppendUint64(out, v)
		out = binary.BigEndian.AppendUint64(out, uint64(c.times[i]))
	}
	for _, at := range c.alarms {
		out = binary.BigEndian.AppendUint64(out, uint64(at))
	}
	n, err := w.Write(out)
	return int64(n), err
}

func (c *tallyCapture) Release() {}

func (m *tallyMachine) Restore(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	var head [3]uint64
	in := bytes.NewReader(data)
	if err := binary.Read(in, binary.BigEndian, &head); err != nil {
		return err
	}
	fresh := tallyMachine{now: fsm.Time(head[0])}
	for range head[1] {
		var pair [2]uint64
		if err := binary.Read(in, binary.BigEndian, &pair); err != nil {
			return err
		}
		fresh.values, fresh.times = append(fresh.values, pair[0]), append(fresh.times, fsm.Time(pair[1]))
	}
	for range head[2] {
		var at int64
		if err := binary.Read(in, binary.BigEndian, &at); err != nil {
			return err
		}
		fresh.alarms = append(fresh.alarms, fsm.Time(at))
	}
	m.now, m.values, m.times, m.alarms = fresh.now, fresh.values, fresh.times, fresh.alarms
	m.restore++
	return nil
}
