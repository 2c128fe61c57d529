package logstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
)

// The layout of a bbolt file, little endian on every machine we run on. A page is
//
//	id 8B | flags 2B | count 2B | overflow 4B | elements | keys and values, in order and without holes
//
// with branch elements (pos 4B, key size 4B, page 8B) or leaf elements (flags 4B, pos 4B, key size 4B, value size 4B), where pos counts
// from the element; or it has the free list: page ids (8B), with count 0xFFFF their count first. Pages 0 and 1 are meta pages, written
// in turn:
//
//	magic 4B | version 4B | page size 4B | flags 4B | root 8B | sequence 8B | free list 8B | pages 8B | transaction 8B | fnv64a 8B
//
// A bucket is a leaf element with flag 1 whose value is root 8B | sequence 8B; root 0: its only page follows within the value.
const (
	boltMagic           = 0xED0CDAED
	boltVersion         = 2
	boltPageHeaderBytes = 16
	boltElementBytes    = 16
	boltBucketBytes     = 16
	boltMetaBytes       = 64
	boltMetaSummedBytes = 56

	boltBranchPage    = 1
	boltLeafPage      = 2
	boltMetaPage      = 4
	boltFreePage      = 16
	boltBucketElement = 1

	boltPageSizeMin = 1 << 10
	boltPageSizeMax = 64 << 10
	// boltDepthMax bounds the tree: 2 children a branch would fill any disk long before.
	boltDepthMax = 40
	// boltFreeMany is the count of a free list whose first element is its count.
	boltFreeMany = 0xFFFF
	// boltNoFreeList is where the free list is in a file that has none. bbolt adds it on opening.
	boltNoFreeList = 1<<64 - 1
)

// boltContents is what the check found.
type boltContents struct {
	pageSize    int64
	transaction uint64
	metaOffset  int64
	span        span
	offsets     map[uint64]int64 // of entries, by index
	stable      map[string]int64 // offsets of stable values, by key
}

func (c *boltContents) empty() bool { return c.span.first == 0 && len(c.stable) == 0 }

type boltMeta struct {
	pageSize    int64
	root        uint64
	free        uint64 // page of the free list
	pages       uint64
	transaction uint64
}

// boltFile walks the pages of one file.
type boltFile struct {
	path    string
	content []byte
	meta    boltMeta
	used    map[uint64]bool
}

// boltPage is a page with its place in the file. An inline one is part of a value.
type boltPage struct {
	body   []byte
	offset int64
	leaf   bool
	count  int
}

// boltElement is one element of a page.
type boltElement struct {
	key, value []byte
	offset     int64
	bucket     bool
	child      uint64
}

// verifyBolt checks the structure of the file: bbolt has no checksums but on its meta pages and follows whatever is there, up to a
// panic in a goroutine of its own or a read beyond the file.
func verifyBolt(path string) (*boltContents, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("logstore: %w", err)
	}
	f := &boltFile{path: path, content: content, used: make(map[uint64]bool)}
	contents := &boltContents{offsets: make(map[uint64]int64), stable: make(map[string]int64)}
	if err := f.verifyMeta(contents); err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	err = f.walk(f.meta.root, nil, nil, 0, func(e boltElement) error {
		seen[string(e.key)] = true
		return f.verifyBucket(e, contents)
	})
	if err != nil {
		return nil, err
	}
	if len(seen) != 2 || !seen["logs"] || !seen["conf"] {
		return nil, corrupt(path, int64(f.meta.root)*f.meta.pageSize, "buckets are %v, not conf and logs", seen)
	}
	return contents, f.verifyFree()
}

// locateEntry finds where entry index is, as well as that goes beside writers; 0 if it cannot be told.
func locateEntry(path string, index uint64) int64 {
	contents, err := verifyBolt(path)
	if err != nil {
		return 0
	}
	return contents.offsets[index]
}

// verifyMeta takes the newer meta page. Both must be sound: each lies within one sector, so a crash leaves none half written, and they
// are always one transaction apart.
func (f *boltFile) verifyMeta(contents *boltContents) error {
	if len(f.content) < boltPageHeaderBytes+boltMetaBytes {
		return corrupt(f.path, 0, "file of %d bytes", len(f.content))
	}
	first, reason := parseBoltMeta(f.content)
	if reason != "" {
		return corrupt(f.path, 0, "meta page 0: %s", reason)
	}
	if int64(len(f.content)) < 2*first.pageSize {
		return corrupt(f.path, first.pageSize, "file of %d bytes", len(f.content))
	}
	second, reason := parseBoltMeta(f.content[first.pageSize:])
	if reason != "" {
		return corrupt(f.path, first.pageSize, "meta page 1: %s", reason)
	}
	if first.pageSize != second.pageSize || first.transaction%2 != 0 || second.transaction%2 != 1 ||
		first.transaction != second.transaction+1 && second.transaction != first.transaction+1 {
		return lost(f.path, 0, "meta pages of transactions %d and %d do not belong together", first.transaction, second.transaction)
	}
	f.meta = first
	if second.transaction > first.transaction {
		f.meta, contents.metaOffset = second, first.pageSize
	}
	contents.pageSize, contents.transaction = f.meta.pageSize, f.meta.transaction
	if f.meta.pages > uint64(len(f.content))/uint64(f.meta.pageSize) {
		return lost(f.path, int64(len(f.content)), "the file ends here, it has %d pages of %d bytes", f.meta.pages, f.meta.pageSize)
	}
	return nil
}

func parseBoltMeta(page []byte) (boltMeta, string) {
	if len(page) < boltPageHeaderBytes+boltMetaBytes {
		return boltMeta{}, "cut off"
	}
	b := page[boltPageHeaderBytes:]
	sum := fnv.New64a()
	sum.Write(b[:boltMetaSummedBytes])
	m := boltMeta{
		pageSize:    int64(binary.LittleEndian.Uint32(b[8:])),
		root:        binary.LittleEndian.Uint64(b[16:]),
		free:        binary.LittleEndian.Uint64(b[32:]),
		pages:       binary.LittleEndian.Uint64(b[40:]),
		transaction: binary.LittleEndian.Uint64(b[48:]),
	}
	switch {
	case binary.LittleEndian.Uint32(b) != boltMagic || binary.LittleEndian.Uint32(b[4:]) != boltVersion:
		return m, "not of a bbolt file of version 2"
	case binary.LittleEndian.Uint64(b[boltMetaSummedBytes:]) != sum.Sum64():
		return m, "checksum mismatch"
	case binary.LittleEndian.Uint16(page[8:]) != boltMetaPage:
		return m, "page is not a meta page"
	case m.pageSize < boltPageSizeMin || m.pageSize > boltPageSizeMax || m.pageSize&(m.pageSize-1) != 0:
		return m, fmt.Sprintf("page size %d", m.pageSize)
	}
	return m, ""
}

func (f *boltFile) verifyBucket(bucket boltElement, contents *boltContents) error {
	if !bucket.bucket || len(bucket.value) < boltBucketBytes {
		return corrupt(f.path, bucket.offset, "element %q is not a bucket", bucket.key)
	}
	visit := func(e boltElement) error {
		if e.bucket {
			return corrupt(f.path, e.offset, "bucket %q within %q", e.key, bucket.key)
		}
		if string(bucket.key) == "conf" {
			contents.stable[string(e.key)] = e.offset
			return nil
		}
		return f.noteEntry(e, contents)
	}
	root := binary.LittleEndian.Uint64(bucket.value)
	if root != 0 {
		return f.walk(root, nil, nil, 0, visit)
	}
	page, err := f.parsePage(bucket.value[boltBucketBytes:], bucket.offset+int64(len(bucket.key))+boltBucketBytes)
	if err != nil {
		return err
	}
	if !page.leaf {
		return corrupt(f.path, page.offset, "inline page is not a leaf")
	}
	return f.eachElement(page, nil, nil, visit)
}

func (f *boltFile) noteEntry(e boltElement, contents *boltContents) error {
	if len(e.key) != 8 {
		return corrupt(f.path, e.offset, "key %x is not an index", e.key)
	}
	index := binary.BigEndian.Uint64(e.key)
	if contents.span.first == 0 {
		contents.span.first = index
	} else if index != contents.span.last+1 {
		return lost(f.path, e.offset, "entry %d follows entry %d", index, contents.span.last)
	}
	contents.span.last = index
	contents.offsets[index] = e.offset
	return nil
}

// walk visits the leaves under page id, whose keys must be from low on and before high (nil: no bound).
func (f *boltFile) walk(id uint64, low, high []byte, depth int, visit func(boltElement) error) error {
	offset := int64(id) * f.meta.pageSize
	if id < 2 || id >= f.meta.pages || depth > boltDepthMax {
		return corrupt(f.path, 0, "page %d, of %d, is part of a tree", id, f.meta.pages)
	}
	page, err := f.parsePage(f.content[offset:f.meta.pages*uint64(f.meta.pageSize)], offset)
	if err != nil {
		return err
	}
	if err := f.claim(id, page); err != nil {
		return err
	}
	if page.leaf {
		return f.eachElement(page, low, high, visit)
	}
	if page.count == 0 {
		return corrupt(f.path, offset, "branch page without children")
	}
	var children []boltElement
	err = f.eachElement(page, low, high, func(e boltElement) error {
		children = append(children, e)
		return nil
	})
	for i := 0; err == nil && i < len(children); i++ {
		until := high
		if i+1 < len(children) {
			until = children[i+1].key
		}
		err = f.walk(children[i].child, children[i].key, until, depth+1, visit)
	}
	return err
}

// claim checks id and overflow of a page, and that no other page has a part of it.
func (f *boltFile) claim(id uint64, page boltPage) error {
	header := f.content[page.offset:]
	overflow := uint64(binary.LittleEndian.Uint32(header[12:]))
	needed := (uint64(len(page.body)) + uint64(f.meta.pageSize) - 1) / uint64(f.meta.pageSize)
	if binary.LittleEndian.Uint64(header) != id || overflow+1 != needed {
		return corrupt(f.path, page.offset, "header of page %d says page %d with overflow %d", id, binary.LittleEndian.Uint64(header), overflow)
	}
	return f.use(id, overflow)
}

func (f *boltFile) use(id, overflow uint64) error {
	for part := id; part <= id+overflow; part++ {
		if f.used[part] {
			return corrupt(f.path, int64(id)*f.meta.pageSize, "page %d is part of two others", part)
		}
		f.used[part] = true
	}
	return nil
}

// parsePage checks the header and cuts body to what the elements take up.
func (f *boltFile) parsePage(body []byte, offset int64) (boltPage, error) {
	if len(body) < boltPageHeaderBytes {
		return boltPage{}, corrupt(f.path, offset, "page cut off")
	}
	flags := binary.LittleEndian.Uint16(body[8:])
	page := boltPage{offset: offset, leaf: flags == boltLeafPage, count: int(binary.LittleEndian.Uint16(body[10:]))}
	if flags != boltLeafPage && flags != boltBranchPage {
		return page, corrupt(f.path, offset, "page is neither branch nor leaf")
	}
	end := uint64(boltPageHeaderBytes + page.count*boltElementBytes)
	if end > uint64(len(body)) {
		return page, corrupt(f.path, offset, "page of %d elements does not fit", page.count)
	}
	for i := range page.count {
		at := boltPageHeaderBytes + i*boltElementBytes
		pos, size := page.place(body[at:])
		if uint64(at)+uint64(pos) != end {
			return page, corrupt(f.path, offset+int64(at), "element %d does not follow the one before", i)
		}
		end += size
	}
	if end > uint64(len(body)) {
		return page, corrupt(f.path, offset, "elements go beyond the page")
	}
	page.body = body[:end]
	return page, nil
}

// place returns where an element's key begins, from the element, and how long key and value are.
func (p boltPage) place(element []byte) (pos uint32, size uint64) {
	if p.leaf {
		return binary.LittleEndian.Uint32(element[4:]),
			uint64(binary.LittleEndian.Uint32(element[8:])) + uint64(binary.LittleEndian.Uint32(element[12:]))
	}
	return binary.LittleEndian.Uint32(element), uint64(binary.LittleEndian.Uint32(element[4:]))
}

// eachElement visits the elements of a parsed page and checks that their keys ascend within the bounds.
func (f *boltFile) eachElement(page boltPage, low, high []byte, visit func(boltElement) error) error {
	var before []byte
	for i := range page.count {
		at := boltPageHeaderBytes + i*boltElementBytes
		e := page.element(at)
		if len(e.key) == 0 || before != nil && bytes.Compare(before, e.key) >= 0 ||
			bytes.Compare(e.key, low) < 0 || high != nil && bytes.Compare(e.key, high) >= 0 {
			return corrupt(f.path, e.offset, "key %x is out of order", e.key)
		}
		if flags := binary.LittleEndian.Uint32(page.body[at:]); page.leaf && flags > boltBucketElement {
			return corrupt(f.path, page.offset+int64(at), "element has flags %x", flags)
		}
		before = e.key
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

func (p boltPage) element(at int) boltElement {
	b := p.body[at:]
	pos, size := p.place(b)
	data := b[pos : uint64(pos)+size]
	e := boltElement{offset: p.offset + int64(at) + int64(pos)}
	if !p.leaf {
		e.key, e.child = data, binary.LittleEndian.Uint64(b[8:])
		return e
	}
	keySize := binary.LittleEndian.Uint32(b[8:])
	e.key, e.value = data[:keySize], data[keySize:]
	e.bucket = binary.LittleEndian.Uint32(b) == boltBucketElement
	return e
}
