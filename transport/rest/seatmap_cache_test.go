package rest

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/fsm"
)

// M-31: a map's every seat is as the rules have it.
func TestSeatMapBody(t *testing.T) {
	b := newBox()
	b.putShow(t, "1", "S", 23)
	maps := newSeatMapCache(b, SeatMapCacheBytesMax, 0)
	m, err := maps.get("1", 0)
	if err != nil || m == nil {
		t.Fatal(m, err)
	}
	body := decodeMap(t, maps.seatsBody(m, encodingIdentity))
	if body.ShowID != "1" || body.Version != 1 || body.LayoutVersion != 1 || body.ShowStatus != "ON_SALE" || len(body.Seats) != 23 {
		t.Fatalf("%+v", body)
	}
	layout := m.show.Definition.Layout
	for i, seat := range body.Seats {
		index := fsm.SeatIndex(i)
		if seat.SeatID != uint32(i)+1 || seat.Label != layout.Label(index) || seat.Label != fmt.Sprintf("%s%d", seat.Row, seat.Number) ||
			seat.Tier != layout.TierName(index) || seat.Price != m.show.Definition.Price(index) || seat.Status != "AVAILABLE" {
			t.Fatalf("seat %d: %+v", i, seat)
		}
	}
}

// M-31, M-33: under random commands the full map, the availability, and the deltas from earlier versions agree.
func TestDeltasEqualMaps(t *testing.T) {
	random := seeded(t)
	b := newBox()
	const seats = 60
	b.putShow(t, "1", "S", seats)
	maps := newSeatMapCache(b, SeatMapCacheBytesMax, 0)
	type look struct {
		version uint64
		letters string
	}
	var past []look
	work := &churn{random: random, box: b, show: "1", seats: seats}
	for step := range 600 {
		work.step()
		m, err := maps.get("1", 0)
		if err != nil {
			t.Fatal(err)
		}
		full := decodeMap(t, maps.seatsBody(m, encodingIdentity))
		letters := full.letters(t)
		if whole, err := readSeatMap(b, "1", nil); err != nil || string(whole.letters) != letters {
			t.Fatalf("step %d: the map that was kept up to date is\n%s, the rules have\n%s", step, letters, whole.letters)
		}
		if availability := decodeMap(t, maps.availabilityBody(m, encodingIdentity)); availability.letters(t) != letters || availability.Version != full.Version {
			t.Fatalf("step %d: availability differs from the map", step)
		}
		past = append(past, look{full.Version, letters})
		for range 10 {
			old := past[random.IntN(len(past))]
			changes, show, complete, ok, _ := b.SeatChanges("1", old.version, nil)
			if !ok || !complete {
				t.Fatalf("step %d: no delta from version %d to %d", step, old.version, full.Version)
			}
			delta := decodeMap(t, appendChanges(nil, &show, changes))
			if got := string(delta.change(t, []byte(old.letters))); got != letters || delta.Version != full.Version {
				t.Fatalf("step %d: delta from %d to %d gives\n%s, want\n%s", step, old.version, full.Version, got, letters)
			}
		}
	}
}

func TestSeatMapCacheFreshness(t *testing.T) {
	b := newBox()
	b.putShow(t, "1", "S", 20)
	const interval = time.Hour
	maps := newSeatMapCache(b, SeatMapCacheBytesMax, interval)
	get := func(minVersion uint64) uint64 {
		t.Helper()
		m, err := maps.get("1", minVersion)
		if err != nil || m == nil {
			t.Fatal(m, err)
		}
		return m.show.Version
	}
	work := &churn{random: seeded(t), box: b, show: "1", seats: 20}
	before := get(0)
	for get(1); ; {
		if show, _, _ := b.Show("1"); show.Version > before+3 {
			break
		}
		work.step()
	}
	looks := b.looks.Load()
	if got := get(0); got != before {
		t.Errorf("within the interval the map became version %d", got)
	}
	if b.looks.Load() != looks {
		t.Error("within the interval the show was looked at")
	}
	show, _, _ := b.Show("1")
	if got := get(before + 1); got != show.Version { // reads its own writes, whatever the interval
		t.Errorf("minVersion %d gives %d, want %d", before+1, got, show.Version)
	}
	maps.shows["1"].checkedAt.Add(-int64(interval)) // the interval has passed
	reads := b.reads.Load()
	if got := get(0); got != show.Version || b.reads.Load() != reads {
		t.Errorf("an unchanged show was read again, or is at %d", got)
	}
	if m, err := maps.get("nobody", 0); m != nil || err != nil {
		t.Errorf("a show that does not exist: %v %v", m, err)
	}
	if len(maps.shows) != 1 {
		t.Errorf("%d shows are cached", len(maps.shows))
	}
}

// One look at a time, and a map is encoded once however many ask.
func TestSeatMapCacheConcurrent(t *testing.T) {
	b := newBox()
	b.putShow(t, "1", "S", 100)
	maps := newSeatMapCache(b, SeatMapCacheBytesMax, time.Millisecond)
	work := &churn{random: seeded(t), box: b, show: "1", seats: 100}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			last := uint64(0)
			for {
				select {
				case <-stop:
					return
				default:
				}
				show, _, _ := b.Show("1")
				m, err := maps.get("1", show.Version)
				if err != nil || m == nil || m.show.Version < show.Version || m.show.Version < last {
					t.Errorf("asked for %d after %d, got %+v %v", show.Version, last, m, err)
					return
				}
				last = m.show.Version
				if m.letters == nil || len(maps.seatsBody(m, encodingGzip)) == 0 {
					t.Error("empty map")
				}
			}
		})
	}
	for range 2000 {
		work.step()
	}
	close(stop)
	readers.Wait()
	m, _ := maps.get("1", 0)
	first, second := maps.seatsBody(m, encodingIdentity), maps.seatsBody(m, encodingIdentity)
	if &first[0] != &second[0] {
		t.Error("a map was encoded twice")
	}
}

func TestSeatMapCacheEviction(t *testing.T) {
	b := newBox()
	const bytesMax = 200_000
	maps := newSeatMapCache(b, bytesMax, 0)
	for i := range 60 {
		id := fsm.ShowID(fmt.Sprintf("s%d", i))
		b.putShow(t, id, "S", 100)
		m, err := maps.get(id, 0)
		if err != nil {
			t.Fatal(err)
		}
		if body := maps.seatsBody(m, encodingIdentity); len(decodeMap(t, body).Seats) != 100 {
			t.Fatal("wrong map")
		}
		maps.seatsBody(m, encodingGzip)
		if maps.size > bytesMax {
			t.Fatalf("%d bytes are kept, more than %d", maps.size, bytesMax)
		}
		if first, _ := maps.get("s0", 0); first == nil { // s0 is always in use; its second of grace is not over
			t.Fatal("no map")
		}
		maps.shows["s0"].usedAt.Add(int64(i) * int64(time.Second))
	}
	sum := 0
	for _, entry := range maps.shows {
		sum += entry.size
	}
	if sum != maps.size || len(maps.shows) < 5 || len(maps.shows) > 30 {
		t.Errorf("%d shows of %d bytes are kept; the books say %d", len(maps.shows), sum, maps.size)
	}
	if maps.shows["s0"] == nil {
		t.Error("the show in use was let go of")
	}
}

func TestCompressedForms(t *testing.T) {
	b := newBox()
	b.putShow(t, "1", "S", 500)
	maps := newSeatMapCache(b, SeatMapCacheBytesMax, 0)
	m, _ := maps.get("1", 0)
	plain := maps.seatsBody(m, encodingIdentity)
	gzip, err := fasthttp.AppendGunzipBytes(nil, maps.seatsBody(m, encodingGzip))
	if err != nil || !bytes.Equal(gzip, plain) {
		t.Error("gzip differs", err)
	}
	zstd, err := fasthttp.AppendUnzstdBytes(nil, maps.seatsBody(m, encodingZstd))
	if err != nil || !bytes.Equal(zstd, plain) {
		t.Error("zstd differs", err)
	}
}

func TestAcceptedEncoding(t *testing.T) {
	for accept, want := range map[string]contentEncoding{
		"": encodingIdentity, "gzip": encodingGzip, "gzip, deflate, br, zstd": encodingZstd, "GZIP;q=0.5": encodingGzip,
		"zstd;q=0, gzip": encodingGzip, "gzip;q=0": encodingIdentity, "gzip; q=0.000": encodingIdentity, "br": encodingIdentity,
		"gzipped": encodingIdentity, "identity;q=1, x-gzip": encodingGzip, ",,": encodingIdentity,
	} {
		if got := acceptedEncoding([]byte(accept), 10_000); got != want {
			t.Errorf("%q: %v, want %v", accept, got, want)
		}
	}
	if acceptedEncoding([]byte("gzip"), 100) != encodingIdentity {
		t.Error("a small body is not worth it")
	}
}

func TestETagMatches(t *testing.T) {
	const tag = `W/"3-abc-0"`
	for header, want := range map[string]bool{
		tag: true, `"3-abc-0"`: true, `W/"1", W/"3-abc-0"`: true, "*": true, `"x",*`: true, `W/"3-abc-1"`: false, "": false, `3-abc-0`: false,
	} {
		if got := etagMatches([]byte(header), tag); got != want {
			t.Errorf("%s: %v", header, got)
		}
	}
}

func BenchmarkSeatMapEncode(b *testing.B) {
	for _, seats := range []int{500, 100_000} {
		b.Run(fmt.Sprint(seats), func(b *testing.B) {
			box := newBox()
			box.putShow(b, "1", "S", min(seats, 100_000))
			m, err := readSeatMap(box, "1", nil)
			if err != nil {
				b.Fatal(err)
			}
			buffer := appendSeatMap(nil, &m.show, m.letters)
			b.SetBytes(int64(len(buffer)))
			b.ReportAllocs()
			for b.Loop() {
				buffer = appendSeatMap(buffer[:0], &m.show, m.letters)
			}
		})
	}
}

func BenchmarkSeatMapGet(b *testing.B) {
	box := newBox()
	box.putShow(b, "1", "S", 500)
	maps := newSeatMapCache(box, SeatMapCacheBytesMax, SeatMapRefreshInterval)
	id := fsm.ShowID(strings.Repeat("1", 1))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m, err := maps.get(id, 0)
			if err != nil || len(maps.seatsBody(m, encodingIdentity)) == 0 {
				b.Fail()
			}
		}
	})
}
