package logstore

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// scanDatabase reads every record once: checksums hold and the indexes of each replica follow each other. It returns what each replica has.
func scanDatabase(db *pebble.DB, dir string) (contents map[uint64]span, err error) {
	iterator, err := db.NewIter(nil)
	if err != nil {
		return nil, classify(err, dir)
	}
	defer func() {
		if closing := iterator.Close(); err == nil {
			err = closing // after an error Close repeats it
		}
	}()
	contents = make(map[uint64]span)
	for valid := iterator.First(); valid; valid = iterator.Next() {
		record, err := iterator.ValueAndErr()
		if err != nil {
			return nil, classify(err, dir)
		}
		if err := scanRecord(contents, iterator.Key(), record, dir); err != nil {
			return nil, err
		}
	}
	if err := iterator.Error(); err != nil {
		return nil, classify(err, dir)
	}
	return contents, nil
}

func scanRecord(contents map[uint64]span, key, record []byte, dir string) error {
	if len(key) <= keyPrefixBytes {
		return corrupt(dir, 0, "key %x is none of ours", key)
	}
	replica, kind, rest := binary.BigEndian.Uint64(key), key[8], key[keyPrefixBytes:]
	held := contents[replica]
	var err error
	switch {
	case kind == kindStable:
		_, err = getStableRecord(record, key)
	case kind == kindLog && len(rest) == 8:
		index := binary.BigEndian.Uint64(rest)
		if held.first == 0 {
			held.first = index
		} else if index != held.last+1 {
			return lost(dir, 0, "replica %d: entry %d follows entry %d", replica, index, held.last)
		}
		held.last = index
		err = checkLogRecord(record, key)
	default:
		return corrupt(dir, 0, "key %x is none of ours", key)
	}
	if err != nil {
		return &CorruptError{File: dir, Reason: fmt.Sprintf("replica %d, key %x", replica, rest), Err: err}
	}
	contents[replica] = held
	return nil
}
