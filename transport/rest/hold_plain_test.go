package rest

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/houseful/houseful/fsm/wire"
)

// What the short way reads, the long way reads the same; what it does not take, the long way decides.
func FuzzHoldPlain(f *testing.F) {
	addSeeds(f)
	for _, seed := range plainHolds {
		f.Add([]byte(seed.body))
	}
	c := newBodyCall("")
	f.Fuzz(func(t *testing.T, body []byte) {
		c.Request.SetBody(body)
		if !c.readPlainHold(c.PostBody()) {
			return
		}
		short, ok := proto.Clone(&c.hold.command).(*wire.Hold)
		if !ok {
			t.Fatal("a clone of another kind")
		}
		if err := c.readAnyHold(); err != nil {
			t.Fatalf("%q is read the short way and refused the long way: %v", body, err)
		}
		if !proto.Equal(short, &c.hold.command) {
			t.Fatalf("%q is read as %v the short way and as %v the long way", body, short, &c.hold.command)
		}
	})
}

var plainHolds = []struct {
	body  string
	plain bool
}{
	{`{"showId":"1","seats":["A1","A2"],"userId":"u"}`, true},
	{" {\n\"seats\" : [ \"B1\" ] , \"userId\" : 7 , \"showId\" : 0 }\t", true},
	{`{"showId":"1","seats":["A1"],"userId":"u",}`, false},
	{`{"showId":"1","seats":["A1",],"userId":"u"}`, false},
	{`{"showId":"1","seats":[],"userId":"u"}`, false},
	{`{"showId":"1","seats":["A1"],"userId":"u"}x`, false},
	{`{"showId":"1","seats":["A1","A1"],"userId":"u"}`, false},
	{`{"showId":"1","showId":"1","seats":["A1"],"userId":"u"}`, false},
	{`{"showId":"1","seats":["A1"],"seats":["A2"],"userId":"u"}`, false},
	{`{"showId":01,"seats":["A1"],"userId":"u"}`, false},
	{`{"showId":1.0,"seats":["A1"],"userId":"u"}`, false},
	{`{"showId":"\u0031","seats":["A1"],"userId":"u"}`, false},
	{`{"showId":"1","seats":["A1"],"userId":null}`, false},
	{`{"showId":"1","seats":["A1"],"userId":"u","userName":"Ann"}`, false},
	{`{"showId":"1","seats":["A1"]`, false},
	{`[]`, false},
	{``, false},
}

func TestReadPlainHold(t *testing.T) {
	c := newBodyCall("")
	for _, hold := range plainHolds {
		c.Request.SetBody([]byte(hold.body))
		if plain := c.readPlainHold(c.PostBody()); plain != hold.plain {
			t.Errorf("%q: plain %t, not %t", hold.body, plain, hold.plain)
		}
	}
}
