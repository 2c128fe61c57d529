package meta

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzApplyEntry: no entry panics; one that is refused leaves the state alone; after one that is taken the audit is
// clean and the snapshot restores.
func FuzzApplyEntry(f *testing.F) {
	seed := &fixture{t: f, m: New(), at: testStart}
	f.Add(encodeEntry(f, testStart, seed.command(testBirth(2)), seed.command(city("BLR")), seed.command(movie("M1", "Dune"))))
	f.Add(encodeEntry(f, testStart+1, seed.command(theatre("T1", "BLR")), seed.command(screen("S1", "T1")), seed.command(entry("1", 1))))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, base := range []*fixture{newFixture(t), fullFixture(t)} {
			before := base.m.Capture().Digest()
			if _, err := base.m.ApplyEntry(data); err != nil {
				if !errors.Is(err, ErrEntry) && !errors.Is(err, ErrFeature) {
					t.Fatalf("an untyped error: %v", err)
				}
				if base.m.Capture().Digest() != before {
					t.Fatal("refused, and changed the state")
				}
			}
			mustRestore(t, snapshotOf(t, base.m))
		}
	})
}

// FuzzRestore: no snapshot panics; one that is taken is a state that the audit accepts.
func FuzzRestore(f *testing.F) {
	f.Add(snapshotOf(f, New()))
	f.Add(snapshotOf(f, fullFixture(f).m))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := New()
		before := m.Capture().Digest()
		if err := m.Restore(bytes.NewReader(data)); err != nil {
			if m.Capture().Digest() != before {
				t.Fatal("refused, and changed the state")
			}
			return
		}
		if report := m.Audit(); !report.OK {
			t.Fatalf("audit: %q", report.Problems)
		}
	})
}
