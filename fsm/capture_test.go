package fsm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"unsafe"
)

// A machine keeps no memory of a log entry: for every kind of command, entries that are overwritten right after they
// were applied leave the same state as entries that live on.
func TestEntryMemoryIsNotKept(t *testing.T) {
	r := readRecording(t, RulesVersion)
	kept, overwritten := New(3), New(3)
	for i, data := range r.entries {
		if _, err := kept.ApplyEntry(bytes.Clone(data)); err != nil {
			t.Fatal(err)
		}
		results := applyAndOverwrite(t, overwritten, data)
		if i%20 == 0 || i > len(r.entries)-12 {
			if mustAudit(t, kept).Digest != mustAudit(t, overwritten).Digest {
				t.Fatalf("entry %d was overwritten and the state with it", i)
			}
		}
		for _, result := range results {
			encodedResult(t, result) // and the result can still be read
		}
	}
	if !bytes.Equal(snapshotOf(t, kept), snapshotOf(t, overwritten)) {
		t.Fatal("the snapshots differ")
	}
}

// No text of a result points into its entry: it is kept for retries, and encoded after the entry's buffer has gone back.
func TestResultsOwnTheirMemory(t *testing.T) {
	r := readRecording(t, RulesVersion)
	m := New(3)
	for i, data := range r.entries {
		data = bytes.Clone(data)
		results, err := m.ApplyEntry(data)
		if err != nil {
			t.Fatal(err)
		}
		inside := func(text string) bool {
			at := uintptr(unsafe.Pointer(unsafe.StringData(text)))
			from := uintptr(unsafe.Pointer(&data[0]))
			return text != "" && at >= from && at < from+uintptr(len(data))
		}
		for _, result := range results {
			texts := []string{result.Field, result.Reason}
			if b := result.Booking; b != nil {
				texts = append(texts, string(b.Show), string(b.User), b.UserName, b.Contact.Email, b.Contact.Phone, b.Contact.Locale,
					b.MovieTitle, b.TheatreName, b.ScreenName, b.Currency, b.ConfirmedBy)
				for _, p := range b.Payments {
					texts = append(texts, p.Ref, p.Method, p.Currency)
				}
			}
			if s := result.Show; s != nil {
				texts = append(texts, string(s.ID), s.Definition.MovieTitle, s.Definition.Layout.Label(0), s.Definition.Spec.Currency)
			}
			for _, text := range texts {
				if inside(text) {
					t.Fatalf("entry %d: %q points into it", i, text)
				}
			}
		}
	}
}

// A capture may be written and audited while entries are applied (the race detector looks on), and is the state it was
// taken at; several may be alive at once, and be released in any order.
func TestCaptureBesideApply(t *testing.T) {
	r := readRecording(t, RulesVersion)
	m := New(3)
	var readers sync.WaitGroup
	defer readers.Wait()
	for i, data := range r.entries {
		if i%9 == 0 {
			want := mustAudit(t, m).Digest
			c := m.Capture()
			readers.Add(1)
			go func() {
				defer readers.Done()
				defer c.Release()
				report, err := c.Audit(context.Background())
				if err != nil || report.Digest != want || !report.OK {
					t.Errorf("after %d entries: a capture changed: %v %v", i, err, report)
				}
				var out bytes.Buffer
				if _, err := c.WriteTo(&out); err != nil {
					t.Error(err)
				}
				copied := New(3)
				if err := copied.Restore(&out); err != nil {
					t.Error(err)
				}
				again := copied.Capture()
				defer again.Release()
				if report, err := again.Audit(context.Background()); err != nil || report.Digest != want {
					t.Errorf("after %d entries: a capture was written as another state: %v", i, err)
				}
				c.Release() // twice is once
			}()
		}
		applyAndOverwrite(t, m, data)
	}
	readers.Wait()
	if alive := m.captures.alive.Load(); alive != 0 {
		t.Errorf("%d captures are counted as alive", alive)
	}
}

// Without a capture alive nothing is copied; with one, each page is copied once.
func TestCopiesOnlyForCaptures(t *testing.T) {
	r := newShowRig(t, nil)
	b := r.held("u1", "1", "A1")
	seats := func() *seatMap { return r.m.shows.get(r.m.showByID["1"]).seats }
	page := func() *page[booking] { return r.m.bookings.pages[0] }
	c := r.m.Capture()
	beforeSeats, beforePage := seats(), page()
	r.must(r.cancel(b), CodeOK)
	copiedSeats, copiedPage := seats(), page()
	if copiedSeats == beforeSeats || copiedPage == beforePage {
		t.Fatal("what a capture sees was written in place")
	}
	b = r.held("u1", "1", "A1")
	if seats() != copiedSeats || page() != copiedPage {
		t.Fatal("a page was copied twice for one capture")
	}
	c.Release()
	r.m.Capture().Release()
	r.must(r.cancel(b), CodeOK)
	if seats() != copiedSeats || page() != copiedPage {
		t.Fatal("a page was copied for a capture that has gone")
	}
}

// An error of the writer ends the writing and is reported; a cancelled audit too.
func TestCaptureErrors(t *testing.T) {
	r := newShowRig(t, nil)
	r.held("u1", "1", "A1")
	c := r.m.Capture()
	defer c.Release()
	whole, err := c.WriteTo(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for room := range whole {
		w := &narrowWriter{room: int(room)}
		if n, err := c.WriteTo(w); err == nil || n != room {
			t.Fatalf("a writer with room for %d took %d: %v", room, n, err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := c.Audit(ctx); err == nil {
		t.Error("a cancelled audit gave a report")
	}
	if _, err := c.AuditShow(ctx, "1"); err == nil {
		t.Error("a cancelled audit of a show gave a report")
	}
	if audit, err := c.AuditShow(context.Background(), "none"); audit != nil || err != nil {
		t.Errorf("an audit of no show: %v %v", audit, err)
	}
}

type narrowWriter struct{ room int }

func (w *narrowWriter) Write(p []byte) (int, error) {
	if len(p) > w.room {
		n := w.room
		w.room = 0
		return n, fmt.Errorf("full: %w", errBroken)
	}
	w.room -= len(p)
	return len(p), nil
}
