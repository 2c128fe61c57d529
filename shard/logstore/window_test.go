package logstore

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"
)

// A cut of the end and a compaction run beside each other: raft makes them on goroutines of their own. Neither undoes the other.
func TestCutKeepsCompaction(t *testing.T) {
	w := newWindow(span{first: 1, last: 100}, nil)
	inCut, compacted := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- w.delete(91, 100, func(min, max uint64) error {
			close(inCut)
			<-compacted
			return nil
		})
	}()
	<-inCut
	must(t, w.delete(1, 60, func(min, max uint64) error {
		if min != 0 || max != 60 {
			t.Errorf("compaction removes %d to %d", min, max)
		}
		return nil
	}))
	close(compacted)
	must(t, <-done)
	if w.span != (span{first: 61, last: 90}) {
		t.Fatalf("the log is %+v", w.span)
	}
}

// Both at once, many times, for the race detector and for what an interleaving could lose.
func TestCutsAndCompactionsAtOnce(t *testing.T) {
	const rounds = 100_000
	w := newWindow(span{first: 1, last: 2}, func() uint64 { return rounds + 1 })
	nothing := func(uint64, uint64) error { return nil }
	var committed atomic.Uint64
	done := make(chan error, 1)
	go func() {
		var err error
		for index := uint64(1); index <= rounds && err == nil; {
			if index >= committed.Load() { // raft compacts what is committed, and leaves an entry
				runtime.Gosched()
				continue
			}
			err = w.delete(1, index, nothing)
			for range 20 {
				if first, _ := w.FirstIndex(); first != index+1 {
					err = fmt.Errorf("after compaction to %d the log begins at %d", index, first)
				}
			}
			index++
		}
		done <- err
	}()
	before := span{}
	for last := uint64(2); ; {
		if err := w.append([]*raft.Log{{Index: last + 1}, {Index: last + 2}, {Index: last + 3}}, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		must(t, w.delete(last+3, last+3, nothing)) // a conflict behind what is committed
		last += 2
		committed.Store(last)
		now, err := w.current()
		must(t, err)
		if now.first < before.first || now.last != last {
			t.Fatalf("the log is %+v after %+v, its end is %d", now, before, last)
		}
		before = now
		select {
		case err := <-done:
			must(t, err)
			return
		default:
		}
	}
}
