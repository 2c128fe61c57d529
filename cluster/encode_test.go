package cluster

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// Frozen: another hash would lose every show.
func TestShardOfIsFrozen(t *testing.T) {
	for id, want := range map[string][3]int{
		"1": {4, 4, 420}, "show-1": {0, 8, 8}, "SHW-2026-12-01": {2, 2, 722}, "PAY-77": {1, 1, 313}, "": {1, 9, 921}, "~._-": {5, 5, 237},
	} {
		if got := [3]int{ShardOf(id, 8), ShardOf(id, 16), ShardOf(id, 1000)}; got != want {
			t.Errorf("%q: %v, want %v", id, got, want)
		}
	}
}

// Commands are encoded by hand; protobuf must read every kind back.
func TestCommandsAreEncodedAsTheSchemaSays(t *testing.T) {
	id, notAfter := drawCommandID(), fsm.Time(1_790_000_000_000)
	for field, c := range map[uint64]struct {
		body body
		want *wire.Command
	}{
		fieldPutShow:         {&wire.PutShow{ShowId: "x"}, &wire.Command{Body: &wire.Command_PutShow{PutShow: &wire.PutShow{ShowId: "x"}}}},
		fieldBrowseSent:      {&wire.BrowseSent{Revision: 7}, &wire.Command{Body: &wire.Command_BrowseSent{BrowseSent: &wire.BrowseSent{Revision: 7}}}},
		fieldHold:            {&wire.Hold{UserId: "u"}, &wire.Command{Body: &wire.Command_Hold{Hold: &wire.Hold{UserId: "u"}}}},
		fieldConfirm:         {&wire.Confirm{PaymentRef: "p"}, &wire.Command{Body: &wire.Command_Confirm{Confirm: &wire.Confirm{PaymentRef: "p"}}}},
		fieldRelease:         {&wire.Release{UserId: "u"}, &wire.Command{Body: &wire.Command_Release{Release: &wire.Release{UserId: "u"}}}},
		fieldExtend:          {&wire.Extend{UserId: "u"}, &wire.Command{Body: &wire.Command_Extend{Extend: &wire.Extend{UserId: "u"}}}},
		fieldCancel:          {&wire.Cancel{UserId: "u"}, &wire.Command{Body: &wire.Command_Cancel{Cancel: &wire.Cancel{UserId: "u"}}}},
		fieldBlock:           {&wire.Block{Reason: "r"}, &wire.Command{Body: &wire.Command_Block{Block: &wire.Block{Reason: "r"}}}},
		fieldControlShow:     {&wire.ControlShow{ShowId: "x"}, &wire.Command{Body: &wire.Command_ControlShow{ControlShow: &wire.ControlShow{ShowId: "x"}}}},
		fieldClaim:           {&wire.Claim{PaymentRef: "p"}, &wire.Command{Body: &wire.Command_Claim{Claim: &wire.Claim{PaymentRef: "p"}}}},
		fieldRefuseReference: {&wire.RefuseReference{PaymentRef: "p"}, &wire.Command{Body: &wire.Command_RefuseReference{RefuseReference: &wire.RefuseReference{PaymentRef: "p"}}}},
		fieldReadBooking:     {&wire.ReadBooking{Booking: []byte("b")}, &wire.Command{Body: &wire.Command_ReadBooking{ReadBooking: &wire.ReadBooking{Booking: []byte("b")}}}},
		fieldFindByKey:       {&wire.FindByKey{}, &wire.Command{Body: &wire.Command_FindByKey{FindByKey: &wire.FindByKey{}}}},
	} {
		c.want.Id, c.want.NotAfterMs = id[:], int64(notAfter)
		checkEncoding(t, id, notAfter, field, c.body, c.want, &wire.Command{})
	}
	for field, c := range map[uint64]struct {
		body body
		want *wire.MetaCommand
	}{
		fieldBirth:           {&wire.Birth{ClusterId: "c"}, &wire.MetaCommand{Body: &wire.MetaCommand_Birth{Birth: &wire.Birth{ClusterId: "c"}}}},
		fieldPutNode:         {&wire.Node{Id: "n"}, &wire.MetaCommand{Body: &wire.MetaCommand_PutNode{PutNode: &wire.Node{Id: "n"}}}},
		fieldPutCity:         {&wire.City{Id: "c"}, &wire.MetaCommand{Body: &wire.MetaCommand_PutCity{PutCity: &wire.City{Id: "c"}}}},
		fieldPutMovie:        {&wire.Movie{Id: "m"}, &wire.MetaCommand{Body: &wire.MetaCommand_PutMovie{PutMovie: &wire.Movie{Id: "m"}}}},
		fieldPutTheatre:      {&wire.Theatre{Id: "t"}, &wire.MetaCommand{Body: &wire.MetaCommand_PutTheatre{PutTheatre: &wire.Theatre{Id: "t"}}}},
		fieldPutScreen:       {testScreen("s"), &wire.MetaCommand{Body: &wire.MetaCommand_PutScreen{PutScreen: testScreen("s")}}},
		fieldPutShowEntry:    {&wire.ShowEntry{ShowId: "x"}, &wire.MetaCommand{Body: &wire.MetaCommand_PutShowEntry{PutShowEntry: &wire.ShowEntry{ShowId: "x"}}}},
		fieldRemoveShowEntry: {&wire.RemoveShowEntry{ShowId: "x"}, &wire.MetaCommand{Body: &wire.MetaCommand_RemoveShowEntry{RemoveShowEntry: &wire.RemoveShowEntry{ShowId: "x"}}}},
	} {
		c.want.Id, c.want.NotAfterMs = id[:], int64(notAfter)
		checkEncoding(t, id, notAfter, field, c.body, c.want, &wire.MetaCommand{})
	}
}

func checkEncoding(t *testing.T, id fsm.CommandID, notAfter fsm.Time, field uint64, body body, want, got proto.Message) {
	t.Helper()
	data, err := appendCommand([]byte("x"), id, notAfter, field, body)
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(data[1:], got); err != nil || !proto.Equal(got, want) {
		t.Errorf("field %d: %v %v, want %v", field, got, err, want)
	}
}

func BenchmarkEncodeHold(b *testing.B) {
	var pool buffers
	c := &wire.Hold{ShowId: "show-1", UserId: "user-1", Labels: []string{"A1", "A2"}}
	b.ReportAllocs()
	for b.Loop() {
		buffer := pool.take()
		*buffer, _ = appendCommand((*buffer)[:0], fsm.CommandID(drawBookingRef(3)), 1_790_000_000_000, fieldHold, c)
		pool.give(buffer)
	}
}
