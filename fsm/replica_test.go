package fsm

import (
	"bytes"
	"context"
	"io"

	"pgregory.net/rapid"
)

// applyAndOverwrite applies a copy of an entry, and then destroys the copy: a machine keeps nothing of it.
func applyAndOverwrite(t rapid.TB, m *Machine, data []byte) []*Result {
	t.Helper()
	data = bytes.Clone(data)
	results, err := m.ApplyEntry(data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = 0xff
	}
	return results
}

func encodedResult(t rapid.TB, r *Result) []byte {
	t.Helper()
	encoded, err := r.Wire().MarshalVT()
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// mustAudit fails the test if the machine is not in order.
func mustAudit(t rapid.TB, m *Machine) *AuditReport {
	t.Helper()
	c := m.Capture()
	defer c.Release()
	report, err := c.Audit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK {
		t.Fatalf("the audit found: %v", report.Problems)
	}
	if err := m.checkIndexes(); err != nil {
		t.Fatal(err)
	}
	return report
}

func snapshotOf(t rapid.TB, m *Machine) []byte {
	t.Helper()
	c := m.Capture()
	defer c.Release()
	var out bytes.Buffer
	if _, err := c.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func restored(t rapid.TB, snapshot []byte) *Machine {
	t.Helper()
	m := New(3)
	if err := m.Restore(io.Reader(bytes.NewReader(snapshot))); err != nil {
		t.Fatal(err)
	}
	return m
}
