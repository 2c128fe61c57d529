package rest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// streamRig is a hub over a box, with a loopback listener for its streams.
type streamRig struct {
	t        *testing.T
	box      *box
	maps     *seatMapCache
	hub      *streamHub
	listener net.Listener
	times    streamTimes
}

func newStreamRig(t *testing.T, seats, streamsMax int, times streamTimes) *streamRig {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	r := &streamRig{t: t, box: newBox(), times: times}
	r.box.putShow(t, "1", "S", seats)
	r.maps = newSeatMapCache(r.box, SeatMapCacheBytesMax, times.look)
	r.hub = newStreamHub(r.box, r.maps, times, streamsMax)
	var err error
	if r.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.listener.Close()
		r.hub.close()
	})
	return r
}

var quick = streamTimes{look: time.Millisecond, comment: time.Hour, write: 10 * time.Second}

// follower is a client of a stream that keeps what it was told.
type follower struct {
	t       *testing.T
	conn    net.Conn
	reader  *bufio.Reader
	started bool
	version uint64
	letters []byte
	status  string // as the last event had it
	shown   string // as the last show event had it
	layout  uint64
	names   map[string]int // events by name
}

// connect makes a follower's connection and serves it, from the version it has.
func (r *streamRig) connect(f *follower, buffer int) {
	r.t.Helper()
	client, err := net.Dial("tcp", r.listener.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	server, err := r.listener.Accept()
	if err != nil {
		r.t.Fatal(err)
	}
	if buffer > 0 {
		_ = server.(*net.TCPConn).SetWriteBuffer(buffer)
		_ = client.(*net.TCPConn).SetReadBuffer(buffer)
	}
	show, _, _ := r.box.Show("1")
	resume, since := f.started, f.version
	go func() { // ends with the hub, or with the connection
		r.hub.serve(server, nil, show, resume, since)
		_ = server.Close()
	}()
	f.conn, f.reader = client, bufio.NewReader(client)
	r.t.Cleanup(func() { _ = client.Close() })
}

func (r *streamRig) follow(buffer int) *follower {
	r.t.Helper()
	f := &follower{t: r.t, names: map[string]int{}}
	r.connect(f, buffer)
	return f
}

// next reads one event and does what it says.
func (f *follower) next() error {
	_ = f.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	var name, data string
	var id uint64
	for {
		line, err := f.reader.ReadString('\n')
		if err != nil {
			return err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			data = value
		case "id":
			if id, err = strconv.ParseUint(value, 10, 64); err != nil {
				return err
			}
		case "":
			if line == "\n" && name != "" {
				return f.take(name, id, data)
			}
			f.names["comment"]++
		}
	}
}

func (f *follower) take(name string, id uint64, data string) error {
	f.names[name]++
	if name == "show" {
		var event struct{ Status string }
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return err
		}
		f.status, f.shown = event.Status, event.Status
		return nil
	}
	body := decodeMap(f.t, []byte(data))
	if body.Version != id || id < f.version {
		return fmt.Errorf("event %s: id %d, version %d after %d", name, id, body.Version, f.version)
	}
	f.started, f.version, f.status, f.layout = true, id, body.ShowStatus, body.LayoutVersion
	if name == "snapshot" {
		f.letters = []byte(body.letters(f.t))
		return nil
	}
	f.letters = body.change(f.t, f.letters) // checks the counts as well: a lost change shows at once
	return nil
}

// catchUp reads until the follower has a version.
func (f *follower) catchUp(version uint64) {
	f.t.Helper()
	for !f.started || f.version < version {
		if err := f.next(); err != nil {
			f.t.Fatalf("at version %d of %d: %v", f.version, version, err)
		}
	}
}

func (r *streamRig) letters() (string, uint64) {
	r.t.Helper()
	m, err := readSeatMap(r.box, "1", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(m.letters), m.show.Version
}

// M-31: whatever the writers do, and however often a client comes back, the events make the final map.
func TestStreamReplaysToTheMap(t *testing.T) {
	const seats = 80
	r := newStreamRig(t, seats, 100, quick)
	random := seeded(t)
	stop := make(chan struct{})
	var writer, reader sync.WaitGroup
	until := func(do func() error) func() {
		return func() {
			for {
				select {
				case <-stop:
					return
				default:
					if err := do(); err != nil {
						t.Error(err)
						return
					}
				}
			}
		}
	}
	work := &churn{random: random, box: r.box, show: "1", seats: seats}
	writer.Go(until(func() error { work.step(); return nil }))
	steady, returning := r.follow(0), r.follow(0)
	reader.Go(until(steady.next))
	for i := range 40 { // comes back with what it has, again and again
		for range i%5 + 1 {
			if err := returning.next(); err != nil {
				t.Fatal(err)
			}
		}
		_ = returning.conn.Close()
		r.connect(returning, 0)
	}
	close(stop)
	writer.Wait()
	r.box.control(wire.ShowAction_SHOW_ACTION_CLOSE) // a last event, for the reader that waits for one
	reader.Wait()
	want, version := r.letters()
	for name, f := range map[string]*follower{"steady": steady, "returning": returning, "late": r.follow(0)} {
		f.catchUp(version)
		if string(f.letters) != want || f.version != version {
			t.Errorf("%s client at %d has\n%s, the map at %d is\n%s", name, f.version, f.letters, version, want)
		}
	}
	if returning.names["snapshot"] != 1 || steady.names["snapshot"] != 1 {
		t.Errorf("snapshots: %v %v; the first one should do", returning.names, steady.names)
	}
	eventually(t, "streams that were left are gone", func() bool { return r.hub.count() <= 3 || pokeAll(r) })
}

// control changes the sale state of the show.
func (b *box) control(action wire.ShowAction) {
	b.do(&wire.Command{Body: &wire.Command_ControlShow{ControlShow: &wire.ControlShow{ShowId: "1", Action: action}}})
}

// pokeAll makes an event, so that a stream whose client has gone finds out.
func pokeAll(r *streamRig) bool {
	r.box.control(wire.ShowAction_SHOW_ACTION_RESUME)
	r.box.control(wire.ShowAction_SHOW_ACTION_CLOSE)
	return false
}

func (h *streamHub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams
}

func (r *streamRig) block(unblock bool, count int) {
	ids := make([]uint32, count)
	for i := range ids {
		ids[i] = uint32(i) + 1
	}
	r.box.do(&wire.Command{Body: &wire.Command_Block{Block: &wire.Block{ShowId: "1", SeatIds: ids, Unblock: unblock}}})
}

// A client that reads slowly falls out of the recent events and is brought up by a snapshot; the others do not notice.
func TestStreamSlowClient(t *testing.T) {
	const seats = 800
	r := newStreamRig(t, seats, 100, quick)
	slow, brisk := r.follow(4096), r.follow(0)
	slow.catchUp(1)
	brisk.catchUp(1)
	for i := range streamEventsMax + 200 {
		r.block(i%2 == 1, seats)
		show, _, _ := r.box.Show("1")
		brisk.catchUp(show.Version)
	}
	want, version := r.letters()
	slow.catchUp(version)
	if string(slow.letters) != want || slow.names["snapshot"] < 2 || brisk.names["snapshot"] != 1 {
		t.Errorf("slow %v, brisk %v", slow.names, brisk.names)
	}
}

// A client that accepts nothing is cut off, and its place is free again.
func TestStreamDeadClient(t *testing.T) {
	const seats = 2000
	times := quick
	times.write = 50 * time.Millisecond
	r := newStreamRig(t, seats, 1, times)
	dead := r.follow(4096)
	dead.catchUp(1)
	if r.hub.full() == nil {
		t.Error("a second stream is let in")
	}
	i := 0
	eventually(t, "the dead client is cut off", func() bool {
		i++
		r.block(i%2 == 0, seats)
		return r.hub.count() == 0
	})
	if err := r.hub.full(); err != nil {
		t.Error(err)
	}
}

// A client that goes away is noticed although nothing happens in the show; one that stays gets comments.
func TestStreamQuietShow(t *testing.T) {
	times := quick
	times.comment = 5 * time.Millisecond
	r := newStreamRig(t, 20, 10, times)
	stays, goes := r.follow(0), r.follow(0)
	stays.catchUp(1)
	goes.catchUp(1)
	_ = goes.conn.Close()
	eventually(t, "one stream is left", func() bool { return r.hub.count() == 1 })
	r.putShow(t, 20)
	if err := stays.next(); err != nil || stays.names["comment"] == 0 {
		t.Error(err, stays.names)
	}
	r.hub.close()
	if err := r.hub.full(); err == nil {
		t.Error("a stream is let in after close")
	}
	for {
		if err := stays.next(); err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			return
		}
	}
}

// putShow changes the layout of the show.
func (r *streamRig) putShow(t *testing.T, seats int) {
	t.Helper()
	r.box.putShow(t, "1", fmt.Sprintf("S%d", r.box.ids), seats+10)
}

// Sale states come as show events, a new layout as a snapshot, and a version that is not this show's past as well.
func TestStreamShowAndLayout(t *testing.T) {
	r := newStreamRig(t, 20, 10, quick)
	f := r.follow(0)
	f.catchUp(1)
	for _, step := range []struct {
		action wire.ShowAction
		want   string
	}{
		{wire.ShowAction_SHOW_ACTION_PAUSE, "PAUSED"}, {wire.ShowAction_SHOW_ACTION_RESUME, "ON_SALE"}, {wire.ShowAction_SHOW_ACTION_CLOSE, "CLOSED"},
	} {
		shows := f.names["show"]
		r.box.control(step.action)
		for f.names["show"] == shows {
			if err := f.next(); err != nil {
				t.Fatal(err)
			}
		}
		if f.status != step.want {
			t.Errorf("status %s, want %s", f.status, step.want)
		}
	}
	layout := f.layout
	r.putShow(t, 20)
	show, _, _ := r.box.Show("1")
	f.catchUp(show.Version)
	want, _ := r.letters()
	if string(f.letters) != want || f.layout <= layout || f.names["snapshot"] != 2 {
		t.Errorf("layout %d, %d letters, %v", f.layout, len(f.letters), f.names)
	}
	foreign := &follower{t: t, names: map[string]int{}, started: true, version: 1}
	r.connect(foreign, 0)
	if err := foreign.next(); err != nil || foreign.names["snapshot"] != 1 || string(foreign.letters) != want {
		t.Error("a version before the layout was patched", err, foreign.names)
	}
	level := &follower{t: t, names: map[string]int{}, started: true, version: show.Version, letters: []byte(want)}
	r.connect(level, 0)
	if err := level.next(); err != nil || level.names["changes"] != 1 || level.status != "CLOSED" {
		t.Error("a client that is level", err, level.names)
	}
}

// A client that goes by show events alone misses no sale state while it is away, whether it comes back to changes or to a
// snapshot. (M-31)
func TestStreamResumeTellsTheSaleState(t *testing.T) {
	r := newStreamRig(t, 20, 10, quick)
	f := r.follow(0)
	f.catchUp(1)
	for _, step := range []struct {
		action wire.ShowAction
		layout bool
		want   string
	}{
		{wire.ShowAction_SHOW_ACTION_PAUSE, false, "PAUSED"},
		{wire.ShowAction_SHOW_ACTION_RESUME, false, "ON_SALE"},
		{wire.ShowAction_SHOW_ACTION_CLOSE, true, "CLOSED"},
		{wire.ShowAction_SHOW_ACTION_CANCEL, false, "CANCELLED"},
	} {
		_ = f.conn.Close()
		eventually(t, "the stream is gone", func() bool { return r.hub.count() == 0 || pokeSeats(r) })
		if step.layout {
			r.putShow(t, 20)
		}
		r.box.control(step.action)
		f.names = map[string]int{}
		r.connect(f, 0)
		for range 2 {
			if err := f.next(); err != nil {
				t.Fatal(err)
			}
		}
		if f.shown != step.want || f.names["show"] != 1 {
			t.Errorf("after %s the client was shown %q: %v", step.action, f.shown, f.names)
		}
		if want, _ := r.letters(); string(f.letters) != want || (f.names["snapshot"] == 1) != step.layout {
			t.Errorf("after %s: %v, %s", step.action, f.names, f.letters)
		}
	}
}

// pokeSeats makes an event about seats, so that a stream whose client has gone finds out.
func pokeSeats(r *streamRig) bool {
	r.block(false, 1)
	r.block(true, 1)
	return false
}

// A status that changes with time alone reaches the streams.
func TestStreamStatusByTime(t *testing.T) {
	r := newStreamRig(t, 20, 10, quick)
	f := r.follow(0)
	f.catchUp(1)
	r.box.mu.Lock()
	r.box.now += fsm.Time(1e9)
	r.box.mu.Unlock()
	if err := f.next(); err != nil || f.status != "CLOSED" || f.names["show"] != 1 {
		t.Error(err, f.status, f.names)
	}
}
