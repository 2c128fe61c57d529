package fsm

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/houseful/houseful/fsm/wire"
)

// holdField is the number of a hold in the schema's Command.
const holdField = 12

// decoder reads log entries into messages that it uses again for the next entry. What it gives is good until then,
// and its texts point into the entry.
type decoder struct {
	entry    wire.Entry
	commands []wire.Command
	batch    []*wire.Command
	holds    []wire.Command_Hold // each with a message of its own, kept for its room
}

// DecodeEntry reads a log entry. Texts of the commands point into data.
func DecodeEntry(data []byte) (Time, []*wire.Command, error) { return new(decoder).decode(data) }

func (d *decoder) decode(data []byte) (Time, []*wire.Command, error) {
	d.entry.Format, d.entry.TimeMs, d.entry.Commands = 0, 0, d.entry.Commands[:0]
	if err := d.entry.UnmarshalVTUnsafe(data); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrEntry, err)
	}
	if d.entry.Format != EntryFormat {
		return 0, nil, fmt.Errorf("%w: format %d, this program reads %d", ErrEntry, d.entry.Format, EntryFormat)
	}
	if d.entry.TimeMs < 0 || d.entry.TimeMs > int64(TimeMax) {
		return 0, nil, fmt.Errorf("%w: its time %d is outside the years 1970 to 9999", ErrEntry, d.entry.TimeMs)
	}
	n := len(d.entry.Commands)
	d.release(n)
	if n > len(d.commands) {
		d.commands, d.holds = make([]wire.Command, n), make([]wire.Command_Hold, n)
	}
	d.batch = d.batch[:0]
	for i, encoded := range d.entry.Commands {
		if err := d.command(i, encoded); err != nil {
			return 0, nil, fmt.Errorf("command %d of %d: %w", i+1, n, err)
		}
		d.batch = append(d.batch, &d.commands[i])
	}
	return Time(d.entry.TimeMs), d.batch, nil
}

// release empties the messages that an entry of n commands leaves unused: they point into an older one.
func (d *decoder) release(n int) {
	for i := n; i < len(d.batch); i++ {
		c := &d.commands[i]
		c.Id, c.NotAfterMs, c.Body = nil, 0, nil
		if hold := d.holds[i].Hold; hold != nil {
			hold.Clear()
		}
	}
}

// command reads the i-th command of an entry.
func (d *decoder) command(i int, encoded []byte) error {
	c := &d.commands[i]
	c.Id, c.NotAfterMs, c.Body = nil, 0, nil
	if isHold(encoded) { // the decoder fills the message that it finds
		if d.holds[i].Hold == nil {
			d.holds[i].Hold = &wire.Hold{}
		}
		d.holds[i].Hold.Clear()
		c.Body = &d.holds[i]
	}
	if err := c.UnmarshalVTUnsafe(encoded); err != nil {
		return fmt.Errorf("%w: %w", ErrEntry, err)
	}
	if c.Body == nil {
		return fmt.Errorf("%w: it is of a kind this program does not know", ErrEntry)
	}
	if raise := c.GetRaiseRules(); raise.GetVersion() > RulesVersion {
		return fmt.Errorf("%w: it raises them to %d, this program knows up to %d", ErrRules, raise.Version, RulesVersion)
	}
	return nil
}

// isHold reports whether a command's first body is a hold. Malformed bytes are the real decoder's to refuse.
func isHold(encoded []byte) bool {
	for len(encoded) > 0 {
		number, kind, n := protowire.ConsumeTag(encoded)
		if n < 0 || number >= 10 { // the bodies' numbers begin there
			return number == holdField && kind == protowire.BytesType
		}
		size := protowire.ConsumeFieldValue(number, kind, encoded[n:])
		if size < 0 {
			return false
		}
		encoded = encoded[n+size:]
	}
	return false
}
