package logstore

import "encoding/binary"

// verifyFree checks that every page is either part of the tree or free. A reference to a page with a flipped bit may lead to what a page
// of the tree was earlier, which looks sound and holds an old log; but then a page is in two places, and another in none.
func (f *boltFile) verifyFree() error {
	if f.meta.free == boltNoFreeList {
		return nil
	}
	free, err := f.freeList()
	if err != nil {
		return err
	}
	for _, id := range free {
		if err := f.use(id, 0); err != nil {
			return err
		}
	}
	for id := uint64(2); id < f.meta.pages; id++ {
		if !f.used[id] {
			return corrupt(f.path, int64(id)*f.meta.pageSize, "page %d is neither in use nor free", id)
		}
	}
	return nil
}

// freeList reads the page of the free list, which is in use itself.
func (f *boltFile) freeList() ([]uint64, error) {
	id, offset := f.meta.free, int64(f.meta.free)*f.meta.pageSize
	if id < 2 || id >= f.meta.pages {
		return nil, corrupt(f.path, 0, "page %d, of %d, has the free list", id, f.meta.pages)
	}
	page := f.content[offset : f.meta.pages*uint64(f.meta.pageSize)]
	overflow := uint64(binary.LittleEndian.Uint32(page[12:]))
	if binary.LittleEndian.Uint64(page) != id || binary.LittleEndian.Uint16(page[8:]) != boltFreePage || overflow >= f.meta.pages-id {
		return nil, corrupt(f.path, offset, "page %d is not the free list", id)
	}
	if err := f.use(id, overflow); err != nil {
		return nil, err
	}
	elements := page[boltPageHeaderBytes : (overflow+1)*uint64(f.meta.pageSize)]
	count := uint64(binary.LittleEndian.Uint16(page[10:]))
	if count == boltFreeMany {
		count, elements = binary.LittleEndian.Uint64(elements), elements[8:]
	}
	if count > uint64(len(elements))/8 {
		return nil, corrupt(f.path, offset, "free list of %d pages does not fit", count)
	}
	free := make([]uint64, count)
	for i := range free {
		free[i] = binary.LittleEndian.Uint64(elements[8*i:])
		if free[i] < 2 || free[i] >= f.meta.pages {
			return nil, corrupt(f.path, offset, "page %d, of %d, is free", free[i], f.meta.pages)
		}
	}
	return free, nil
}
