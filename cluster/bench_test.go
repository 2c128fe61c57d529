package cluster

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// BenchmarkHold takes two seats a hold, every commit on disk, from many callers, through everything below the wire.
func BenchmarkHold(b *testing.B) {
	cfg := testConfig(b)
	cfg.Shards, cfg.TestClock = 8, false
	n := open(b, cfg)
	catalogue(b, n)
	wide := testScreen("WIDE")
	wide.Layout.Rows[0].Blocks = []*wire.Span{{First: 1, Last: 90_000}}
	if _, err := n.PutScreen(b.Context(), wide); err != nil {
		b.Fatal(err)
	}
	request := showRequest()
	request.ScreenID = "WIDE"
	const shows = 64
	for i := range shows {
		if r, err := n.PutShow(fsm.ShowID(fmt.Sprint("s", i)), request); err != nil || r.Code != fsm.CodeOK {
			b.Fatalf("%+v %v", r, err)
		}
	}
	var next atomic.Int64
	b.SetParallelism(128)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := next.Add(1)
			seat := uint32(i / shows * 2)
			c := &wire.Hold{ShowId: fmt.Sprint("s", i%shows), UserId: fmt.Sprint("u", i), SeatIds: []uint32{seat + 1, seat + 2}}
			if r, err := n.Hold(c); err != nil || r.Code != fsm.CodeOK {
				b.Errorf("%+v %v", r, err)
				return
			}
		}
	})
}
