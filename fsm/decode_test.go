package fsm

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/houseful/houseful/fsm/wire"
)

// A decoder uses its messages again: clearing one must empty every field that the schema has, those to come included.
func TestClearHold(t *testing.T) {
	full := &wire.Hold{}
	message := full.ProtoReflect()
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		switch field := fields.Get(i); {
		case field.IsList() && field.Kind() == protoreflect.StringKind:
			message.Mutable(field).List().Append(protoreflect.ValueOfString("x"))
		case field.IsList():
			message.Mutable(field).List().Append(protoreflect.ValueOfUint32(1))
		case field.Kind() == protoreflect.StringKind:
			message.Set(field, protoreflect.ValueOfString("x"))
		case field.Kind() == protoreflect.BytesKind:
			message.Set(field, protoreflect.ValueOfBytes([]byte("x")))
		case field.Kind() == protoreflect.MessageKind:
			message.Mutable(field)
		default:
			t.Fatalf("field %s is of a kind that this test does not fill", field.Name())
		}
	}
	full.Clear()
	if !proto.Equal(full, &wire.Hold{}) {
		t.Fatalf("left over: %v", full)
	}
}

// What one entry held must not show up in the next one's commands.
func TestDecoderForgets(t *testing.T) {
	hold := func(h *wire.Hold) []byte {
		command, err := (&wire.Command{Id: make([]byte, 16), NotAfterMs: 7, Body: &wire.Command_Hold{Hold: h}}).MarshalVT()
		if err != nil {
			t.Fatal(err)
		}
		entry, err := (&wire.Entry{Format: EntryFormat, TimeMs: 1, Commands: [][]byte{command}}).MarshalVT()
		if err != nil {
			t.Fatal(err)
		}
		return entry
	}
	d := &decoder{}
	first := &wire.Hold{
		ShowId: "1", Labels: []string{"A1", "A2"}, SeatIds: []uint32{1}, UserId: "u", UserName: "n",
		Contact: &wire.Contact{Email: "e"}, Replace: []byte("r"), IdempotencyKey: []byte("k"), Fingerprint: []byte("f"),
	}
	if _, _, err := d.decode(hold(first)); err != nil {
		t.Fatal(err)
	}
	second := &wire.Hold{ShowId: "2", SeatIds: []uint32{9}}
	_, batch, err := d.decode(hold(second))
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(batch[0].GetHold(), second) {
		t.Fatalf("decoded %v, not %v", batch[0].GetHold(), second)
	}
}

// What a longer entry left behind is let go of with the next one.
func TestDecoderReleases(t *testing.T) {
	entry := func(holds int) []byte {
		e := &wire.Entry{Format: EntryFormat, TimeMs: 1}
		for range holds {
			command, err := (&wire.Command{Id: make([]byte, 16), Body: &wire.Command_Hold{Hold: &wire.Hold{
				ShowId: "1", Labels: []string{"A1"}, UserId: "u",
			}}}).MarshalVT()
			if err != nil {
				t.Fatal(err)
			}
			e.Commands = append(e.Commands, command)
		}
		data, err := e.MarshalVT()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	d := &decoder{}
	for _, holds := range []int{3, 1} {
		if _, _, err := d.decode(entry(holds)); err != nil {
			t.Fatal(err)
		}
	}
	for i := 1; i < 3; i++ {
		if d.commands[i].Id != nil || d.commands[i].Body != nil || d.holds[i].Hold.ShowId != "" || d.holds[i].Hold.Labels[:1][0] != "" {
			t.Errorf("message %d still points into the longer entry", i)
		}
	}
}
