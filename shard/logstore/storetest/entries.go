package storetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/hashicorp/raft"
)

// Entries returns count entries from first on. Their contents follow from index and term, so that a wrong one is recognised.
func Entries(first, count, term uint64) []*raft.Log {
	logs := make([]*raft.Log, count)
	for i := range logs {
		logs[i] = entry(first+uint64(i), term)
	}
	return logs
}

func entry(index, term uint64) *raft.Log {
	random := rand.New(rand.NewPCG(index, term))
	data := make([]byte, 1+random.IntN(200))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return &raft.Log{Index: index, Term: term, Type: raft.LogCommand, Data: data}
}

func same(got, want *raft.Log) error {
	if got.Index != want.Index || got.Term != want.Term || got.Type != want.Type || !got.AppendedAt.Equal(want.AppendedAt) ||
		!bytes.Equal(got.Data, want.Data) || !bytes.Equal(got.Extensions, want.Extensions) {
		return fmt.Errorf("entry %d differs: got %+v, want %+v", want.Index, got, want)
	}
	return nil
}
