package fsm

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A slab against a map, with views taken and released at random: each view stays as it was.
func TestSlab(t *testing.T) {
	type oldView struct {
		view view[int]
		want map[uint32]int
	}
	rapid.Check(t, func(t *rapid.T) {
		c := &captures{}
		s := newSlab[int](c)
		want := map[uint32]int{}
		var views []oldView
		places := func() []uint32 { return slices.Sorted(maps.Keys(want)) }
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for range rapid.IntRange(1, 100).Draw(t, "n") {
					next++
					place := s.add(next)
					if _, taken := want[place]; taken {
						t.Fatalf("place %d was given twice", place)
					}
					want[place] = next
				}
			},
			"edit": func(t *rapid.T) {
				if len(want) > 0 {
					place := rapid.SampledFrom(places()).Draw(t, "place")
					*s.edit(place) += 1000
					want[place] += 1000
				}
			},
			"remove": func(t *rapid.T) {
				for range min(len(want), rapid.IntRange(1, 50).Draw(t, "n")) {
					place := rapid.SampledFrom(places()).Draw(t, "place")
					s.remove(place)
					delete(want, place)
				}
			},
			"view": func(*rapid.T) {
				c.alive.Add(1)
				c.epoch++
				views = append(views, oldView{s.view(), maps.Clone(want)})
			},
			"release": func(t *rapid.T) {
				if len(views) > 0 {
					i := rapid.IntRange(0, len(views)-1).Draw(t, "view")
					views = slices.Delete(views, i, i+1)
					c.alive.Add(-1)
				}
			},
			"": func(t *rapid.T) {
				for _, v := range append([]oldView{{s.view(), want}}, views...) {
					if got := maps.Collect(valuesOf(v.view)); !maps.Equal(got, v.want) || v.view.count != len(v.want) {
						t.Fatalf("a view has %d items, want %d", len(got), len(v.want))
					}
				}
				for place := range uint32(len(s.pages)*pageItems + 1) {
					if _, there := want[place]; s.holds(place) != there {
						t.Fatalf("place %d is held: %t", place, s.holds(place))
					}
				}
			},
		})
	})
}

func valuesOf(v view[int]) func(func(uint32, int) bool) {
	return func(yield func(uint32, int) bool) {
		for place, item := range v.all() {
			if !yield(place, *item) {
				return
			}
		}
	}
}

// A queue against a slice, with views.
func TestFifo(t *testing.T) {
	type oldView struct {
		view fifo[int]
		want []int
	}
	rapid.Check(t, func(t *rapid.T) {
		var q fifo[int]
		var want []int
		var views []oldView
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 100).Draw(t, "n") {
					next++
					if at := q.push(next); *q.at(at) != next {
						t.Fatalf("position %d has another item", at)
					}
					want = append(want, next)
				}
			},
			"pop": func(t *rapid.T) {
				for range min(len(want), rapid.IntRange(1, 100).Draw(t, "n")) {
					q.pop()
					want = want[1:]
				}
			},
			"view": func(*rapid.T) { views = append(views, oldView{q.view(), slices.Clone(want)}) },
			"": func(t *rapid.T) {
				for _, v := range append([]oldView{{q, want}}, views...) {
					if v.view.len() != len(v.want) {
						t.Fatalf("%d items, want %d", v.view.len(), len(v.want))
					}
					for i, item := range v.want {
						if got := *v.view.at(v.view.head + uint64(i)); got != item {
							t.Fatalf("item %d is %d, want %d", i, got, item)
						}
					}
				}
			},
		})
	})
}

// The heap gives items by time, then by order of creation, over the wrap of the order's 32 bits.
func TestDueHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h dueHeap
		var want []dueItem
		order := uint32(1<<32 - 20)
		byTurn := func(a, b dueItem) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return int(int32(a.order - b.order))
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				order++
				item := dueItem{at: Time(rapid.IntRange(0, 9).Draw(t, "at")), place: order % 7, order: order}
				h.push(item)
				want = append(want, item)
			},
			"pop": func(*rapid.T) {
				if len(want) > 0 {
					h.pop()
					want = want[1:]
				}
			},
			"postpone": func(t *rapid.T) {
				if len(want) > 0 {
					want[0].at += Time(rapid.IntRange(0, 9).Draw(t, "by"))
					h.postpone(want[0].at)
				}
			},
			"keep": func(t *rapid.T) {
				rest := uint32(rapid.IntRange(0, 6).Draw(t, "rest"))
				h.keep(func(item dueItem) bool { return item.place != rest })
				want = slices.DeleteFunc(want, func(item dueItem) bool { return item.place == rest })
			},
			"": func(t *rapid.T) {
				slices.SortFunc(want, byTurn)
				if len(h.items) != len(want) || (len(want) > 0 && h.items[0] != want[0]) {
					t.Fatalf("%v, want %v", h.items, want)
				}
			},
		})
		for ; len(want) > 0; want = want[1:] {
			if h.items[0] != want[0] {
				t.Fatalf("%v comes before %v", h.items[0], want[0])
			}
			h.pop()
		}
	})
}

// The index against a map, with keys whose hashes meet often.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newIndex()
		keys := map[uint32]uint16{} // by place
		const hashes = 37           // few, so that chains form, and over two of the index's parts
		hash := func(key uint16) uint32 { return uint32(key)%hashes<<8 | uint32(key)%2 }
		free := uint32(0)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "n") {
					key := uint16(rapid.IntRange(0, 500).Draw(t, "key"))
					if slices.Contains(slices.Collect(maps.Values(keys)), key) {
						continue
					}
					free++
					x.add(hash(key), free)
					keys[free] = key
				}
			},
			"remove": func(t *rapid.T) {
				for range min(len(keys), rapid.IntRange(1, 30).Draw(t, "n")) {
					place := rapid.SampledFrom(slices.Sorted(maps.Keys(keys))).Draw(t, "place")
					x.remove(hash(keys[place]), place)
					delete(keys, place)
				}
			},
			"": func(t *rapid.T) {
				byKey := map[uint16]uint32{}
				for place, key := range keys {
					byKey[key] = place
				}
				for key := range uint16(501) {
					place, ok := x.find(hash(key), func(place uint32) bool { return keys[place] == key })
					if want, there := byKey[key]; ok != there || place != want {
						t.Fatalf("key %d is at %d, %t; want %d, %t", key, place, ok, want, there)
					}
				}
				if x.count != len(keys) {
					t.Fatalf("%d keys are counted, %d are there", x.count, len(keys))
				}
			},
		})
	})
}

// The versions of seats survive the wrap of their 24 bits: a change is told to everybody who has not seen it, or they
// are told to read the whole map.
func TestSeatVersions(t *testing.T) {
	const seats = 8
	s := newSeatMap(seats, 1, 0)
	want := [seats]uint64{}
	version := uint64(1)
	for i := range 400 {
		version += uint64(i*i) * 997
		seat := SeatIndex(i % (seats - 1)) // the last seat never changes
		s.mark(seat, version)
		want[seat] = version
		if i%10 == 0 {
			s = s.clone(1)
		}
		for seat, at := range want {
			if got := s.changedAt(SeatIndex(seat)); got != max(at, s.base) {
				t.Fatalf("at version %d seat %d changed at %d, want %d (base %d)", version, seat, got, at, s.base)
			}
		}
	}
	if s.base < 1<<24 {
		t.Fatal("the base never moved")
	}
}

// M-31: changes since a version are all there, over random sales, and none too many.
func TestSeatChanges(t *testing.T) {
	r := newShowRig(t, nil)
	seen := map[uint64][]SeatStatus{}
	look := func() {
		statuses, view, _ := r.m.SeatStatuses("1", r.now, nil)
		seen[view.Version] = statuses
		for since, then := range seen {
			changes, now, complete, ok := r.m.SeatChanges("1", r.now, since, nil)
			if !ok || !complete || now.Version != view.Version {
				t.Fatalf("changes since %d: %t %t %+v", since, complete, ok, now)
			}
			followed := slices.Clone(then)
			for _, change := range changes {
				followed[change.Seat] = change.Status
			}
			if !slices.Equal(followed, statuses) {
				t.Fatalf("whoever follows from version %d sees another map", since)
			}
		}
	}
	look()
	for i := range 60 {
		var seat [8]byte
		binary.LittleEndian.PutUint64(seat[:], uint64(i*i*2654435761))
		label := string('A'+rune(seat[1]%5)) + string('1'+rune(seat[2]%8))
		switch b := r.hold("u"+label, "1", label); {
		case b.Code != CodeOK:
			r.block("1", label)
			r.unblock("1", label)
		case i%3 == 0:
			r.must(r.confirm(b.Booking, "PAY-"+label), CodeOK)
		case i%3 == 1:
			r.must(r.release(b.Booking, false), CodeOK)
		}
		r.now += 20_000
		look()
	}
	if _, _, complete, ok := r.m.SeatChanges("1", r.now, 1<<40, nil); complete || !ok {
		t.Error("changes since a version of the future were called complete")
	}
	if _, _, _, ok := r.m.SeatChanges("none", r.now, 1, nil); ok {
		t.Error("changes of a show that is not there")
	}
}
