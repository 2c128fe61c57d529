package fsm

import "hash/maphash"

// index finds an item's place in a slab by the item's key. It stores no keys, only 32 bits of their hashes, so that
// a million bookings cost 16 MB where a Go map took 42 (measured). It is kept in parts that grow by themselves, so that
// growing never makes one command slow. The hash seed differs between processes; nothing but speed depends on it.
type index struct {
	seed  maphash.Seed
	parts [indexParts]indexPart
	count int
}

const (
	indexParts    = 256 // by the hash's lowest byte
	indexPartSize = 8   // slots of a part at first
)

// indexPart is a table with open addressing. A slot is 0 when empty, else hash<<32 | place+1.
type indexPart struct {
	slots []uint64
	count int
}

func newIndex() index { return index{seed: maphash.MakeSeed()} }

// A hash is never 0, so that no slot in use looks empty.
func (x *index) hashBytes(key []byte) uint32 { return uint32(maphash.Bytes(x.seed, key)) | 1<<31 }

func (x *index) hashText(key string) uint32 { return uint32(maphash.String(x.seed, key)) | 1<<31 }

// home is the slot that a hash would like to have.
func (p *indexPart) home(hash uint32) int { return int(hash>>8) & (len(p.slots) - 1) }

// touch loads the slot that a hash would like to have, and gives it so that the load is not left out.
func (x *index) touch(hash uint32) uint64 {
	p := &x.parts[hash%indexParts]
	if p.count == 0 {
		return 0
	}
	return p.slots[p.home(hash)]
}

// find gives the place of the item with a hash for which same says that it has the key.
func (x *index) find(hash uint32, same func(place uint32) bool) (uint32, bool) {
	p := &x.parts[hash%indexParts]
	if p.count == 0 {
		return 0, false
	}
	for i := p.home(hash); p.slots[i] != 0; i = (i + 1) & (len(p.slots) - 1) {
		if slot := p.slots[i]; uint32(slot>>32) == hash && same(uint32(slot)-1) {
			return uint32(slot) - 1, true
		}
	}
	return 0, false
}

// add notes the place of an item that is not in the index.
func (x *index) add(hash uint32, place uint32) {
	p := &x.parts[hash%indexParts]
	if 4*(p.count+1) > 3*len(p.slots) {
		p.grow()
	}
	p.put(uint64(hash)<<32 | uint64(place+1))
	p.count++
	x.count++
}

func (p *indexPart) put(slot uint64) {
	i := p.home(uint32(slot >> 32))
	for p.slots[i] != 0 {
		i = (i + 1) & (len(p.slots) - 1)
	}
	p.slots[i] = slot
}

func (p *indexPart) grow() {
	old := p.slots
	p.slots = make([]uint64, max(indexPartSize, 2*len(old)))
	for _, slot := range old {
		if slot != 0 {
			p.put(slot)
		}
	}
}

// remove takes out an item that is in the index, and closes the gap it leaves.
func (x *index) remove(hash uint32, place uint32) {
	p := &x.parts[hash%indexParts]
	mask := len(p.slots) - 1
	want := uint64(hash)<<32 | uint64(place+1)
	i := p.home(hash)
	for ; p.slots[i] != want; i = (i + 1) & mask {
		assert(p.slots[i] != 0, "removed what is not in the index")
	}
	for next := (i + 1) & mask; p.slots[next] != 0; next = (next + 1) & mask {
		// An item may move into the gap unless its home lies behind the gap, on the way to where it is.
		if home := p.home(uint32(p.slots[next] >> 32)); (next-home)&mask >= (next-i)&mask {
			p.slots[i] = p.slots[next]
			i = next
		}
	}
	p.slots[i] = 0
	p.count--
	x.count--
}

// findBooking gives a booking's place.
func (m *Machine) findBooking(ref BookingRef) (uint32, bool) {
	return m.byRef.find(m.byRef.hashBytes(ref[:]), func(place uint32) bool { return m.bookings.get(place).ref == ref })
}

// findUser gives a user's place.
func (m *Machine) findUser(id UserID) (uint32, bool) {
	return m.userByID.find(m.userByID.hashText(string(id)), func(place uint32) bool { return m.users.get(place).id == id })
}
