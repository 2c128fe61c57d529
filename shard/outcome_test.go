package shard

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// Every answer of raft is in exactly one class; what is not known to be out of the log is unknown.
func TestOutcomes(t *testing.T) {
	for _, row := range []struct {
		raft error
		want error // sentinel
	}{
		{nil, nil},
		{raft.ErrNotLeader, ErrNotLeader},
		{raft.ErrEnqueueTimeout, ErrNotLeader},
		{raft.ErrLeadershipTransferInProgress, ErrTransfer},
		{raft.ErrLeadershipLost, ErrUnknown},
		{raft.ErrRaftShutdown, ErrUnknown},
		{raft.ErrAbortedByRestore, ErrUnknown},
		{fmt.Errorf("%w: no space left on device", ErrStore), ErrUnknown},
		{errors.New("anything else"), ErrUnknown},
	} {
		got := outcome(row.raft)
		if !errors.Is(got, row.want) {
			t.Errorf("%v gives %v, want %v", row.raft, got, row.want)
		}
		if got != nil && errors.Is(got, ErrUnknown) == errors.Is(got, ErrNotApplied) {
			t.Errorf("%v gives %v, which is not in exactly one class", row.raft, got)
		}
	}
	for _, err := range []error{ErrOverloaded, ErrDiskFull, ErrNotLeader, ErrTransfer, ErrDeadline, ErrTooLarge, ErrClosed} {
		if !errors.Is(err, ErrNotApplied) || errors.Is(err, ErrUnknown) {
			t.Errorf("%v is not of the class not applied", err)
		}
		if reason(err) == reasonUnknown {
			t.Errorf("%v has no reason in the metrics", err)
		}
	}
}

// Only an unbroken row of refusals counts as a stuck transfer (raft #696).
func TestTransferWatch(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	for name, row := range map[string]struct {
		errs []error
		ms   []int
		want bool
	}{
		"stuck":        {[]error{ErrTransfer, ErrTransfer, ErrTransfer}, []int{0, 600, 1100}, true},
		"short":        {[]error{ErrTransfer, ErrTransfer}, []int{0, 900}, false},
		"ended":        {[]error{ErrTransfer, nil, ErrTransfer}, []int{0, 600, 1100}, false},
		"another, far": {[]error{ErrTransfer, ErrTransfer}, []int{0, 5000}, false},
	} {
		watch := transferWatch{limit: time.Second}
		var got bool
		for i, err := range row.errs {
			got = watch.stuck(err, at(row.ms[i]))
		}
		if got != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
