package fsm

import (
	"iter"
	"math/bits"
	"sync/atomic"
)

// pageItems is how many items a page holds: what one write during a capture has to copy.
const pageItems = 64

// captures counts the views of a machine that are alive, and numbers the moments they were taken at. Pages and seat
// arrays carry the epoch they were last copied in; one that is older than the current epoch may be shared with a
// view and is copied before it is written.
type captures struct {
	epoch uint64
	alive atomic.Int64
}

// shared reports whether something last copied in an epoch may be in the hands of a view.
func (c *captures) shared(epoch uint64) bool { return epoch < c.epoch && c.alive.Load() > 0 }

// slab keeps items at stable places, in pages that a view shares until they are written.
type slab[T any] struct {
	captures *captures
	pages    []*page[T]
	free     []uint32
	count    int
}

type page[T any] struct {
	epoch uint64
	used  uint64        // a bit an item
	items *[pageItems]T // apart, since 64 items of 128 bytes fill an allocation and a header would waste an eighth
}

func newSlab[T any](c *captures) slab[T] { return slab[T]{captures: c} }

// get gives an item to read. The pointer must not be kept over a call of edit for the same page.
func (s *slab[T]) get(place uint32) *T { return &s.pages[place/pageItems].items[place%pageItems] }

// edit gives an item to write, after parting its page from any view.
func (s *slab[T]) edit(place uint32) *T { return &s.own(place / pageItems).items[place%pageItems] }

func (s *slab[T]) own(number uint32) *page[T] {
	p := s.pages[number]
	if p.epoch != s.captures.epoch {
		if s.captures.shared(p.epoch) {
			items := *p.items
			p = &page[T]{used: p.used, items: &items}
			s.pages[number] = p
		}
		p.epoch = s.captures.epoch
	}
	return p
}

// add puts a new item at a free place.
func (s *slab[T]) add(item T) uint32 {
	var place uint32
	if n := len(s.free); n > 0 {
		place = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		number := len(s.pages)
		s.pages = append(s.pages, &page[T]{epoch: s.captures.epoch, items: new([pageItems]T)})
		for i := pageItems - 1; i > 0; i-- {
			s.free = append(s.free, uint32(number*pageItems+i))
		}
		place = uint32(number * pageItems)
	}
	p := s.own(place / pageItems)
	p.used |= 1 << (place % pageItems)
	p.items[place%pageItems] = item
	s.count++
	return place
}

// remove empties a place.
func (s *slab[T]) remove(place uint32) {
	p := s.own(place / pageItems)
	assert(p.used&(1<<(place%pageItems)) != 0, "removed an empty place")
	var zero T
	p.used &^= 1 << (place % pageItems)
	p.items[place%pageItems] = zero
	s.free = append(s.free, place)
	s.count--
}

// holds reports whether a place has an item.
func (s *slab[T]) holds(place uint32) bool {
	number := place / pageItems
	return int(number) < len(s.pages) && s.pages[number].used&(1<<(place%pageItems)) != 0
}

// view is a slab as it was at a capture.
type view[T any] struct {
	pages []*page[T]
	count int
}

func (s *slab[T]) view() view[T] {
	return view[T]{pages: append([]*page[T](nil), s.pages...), count: s.count}
}

// all gives every item with its place, in order of place.
func (v view[T]) all() iter.Seq2[uint32, *T] {
	return func(yield func(uint32, *T) bool) {
		for number, p := range v.pages {
			for used := p.used; used != 0; used &= used - 1 {
				i := bits.TrailingZeros64(used)
				if !yield(uint32(number*pageItems+i), &p.items[i]) {
					return
				}
			}
		}
	}
}

// holds reports whether a place has an item.
func (v view[T]) holds(place uint32) bool {
	number := place / pageItems
	return int(number) < len(v.pages) && v.pages[number].used&(1<<(place%pageItems)) != 0
}

func (v view[T]) get(place uint32) *T { return &v.pages[place/pageItems].items[place%pageItems] }

// fifo is a queue whose items are never changed once they are in: a view of it costs a copy of its page table.
// Items have positions that go on counting, so an index may point into it.
type fifo[T any] struct {
	pages []*[pageItems]T
	base  uint64 // position of pages[0][0]
	head  uint64 // position of the oldest item
	tail  uint64 // position after the newest item
}

func (q *fifo[T]) len() int { return int(q.tail - q.head) }

func (q *fifo[T]) at(position uint64) *T {
	offset := position - q.base
	return &q.pages[offset/pageItems][offset%pageItems]
}

// push appends an item and gives its position.
func (q *fifo[T]) push(item T) uint64 {
	if q.tail-q.base == uint64(len(q.pages)*pageItems) {
		q.pages = append(q.pages, new([pageItems]T))
	}
	*q.at(q.tail) = item
	q.tail++
	return q.tail - 1
}

// pop drops the oldest item. Its page goes with the page's last item.
func (q *fifo[T]) pop() {
	assert(q.head < q.tail, "popped an empty queue")
	q.head++
	if q.head-q.base == pageItems {
		q.pages[0] = nil
		q.pages = q.pages[1:]
		q.base += pageItems
	}
}

// view copies the page table, so that later pushes and pops are not seen.
func (q *fifo[T]) view() fifo[T] {
	v := *q
	v.pages = append([]*[pageItems]T(nil), q.pages...)
	return v
}

// dueItem is a place whose turn comes at a time. Its order is the low half of a sequence number: it breaks ties, and
// tells whether the place still holds what it held.
type dueItem struct {
	at    Time
	place uint32
	order uint32
}

// dueHeap orders places by time, then by order of creation. Items may be stale; whoever pops one checks it.
type dueHeap struct{ items []dueItem }

func (h *dueHeap) less(a, b dueItem) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return int32(a.order-b.order) < 0 // right across the wrap: ties are never 2³¹ creations apart
}

func (h *dueHeap) push(item dueItem) {
	h.items = append(h.items, item)
	i := len(h.items) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(h.items[i], h.items[parent]) {
			return
		}
		h.items[i], h.items[parent] = h.items[parent], h.items[i]
		i = parent
	}
}

func (h *dueHeap) pop() {
	last := len(h.items) - 1
	h.items[0] = h.items[last]
	h.items = h.items[:last]
	h.down(0)
}

// postpone moves the first item to a later time.
func (h *dueHeap) postpone(at Time) {
	h.items[0].at = at
	h.down(0)
}

// keep drops every item but those that wanted says.
func (h *dueHeap) keep(wanted func(dueItem) bool) {
	kept := make([]dueItem, 0, len(h.items)/2)
	for _, item := range h.items {
		if wanted(item) {
			kept = append(kept, item)
		}
	}
	h.items = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h *dueHeap) down(i int) {
	for {
		least := 2*i + 1
		if least >= len(h.items) {
			return
		}
		if right := least + 1; right < len(h.items) && h.less(h.items[right], h.items[least]) {
			least = right
		}
		if !h.less(h.items[least], h.items[i]) {
			return
		}
		h.items[i], h.items[least] = h.items[least], h.items[i]
		i = least
	}
}

// assert stops the group when the machine has broken a rule of its own: going on would answer from wrong state.
func assert(ok bool, message string) {
	if !ok {
		panic("fsm: " + message)
	}
}
