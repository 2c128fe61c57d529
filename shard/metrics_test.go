package shard

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// The metrics show the group, survive its closing and opening again, and two groups live beside each other.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	named := func(name string) benchOption {
		return withConfig(func(c *Config) { c.Registerer, c.Name = registry, name })
	}
	b, other := newBench(t, named("0")), newBench(t, named("meta"))
	b.must(command(commandAdd, 1))
	other.must(command(commandAdd, 1))
	if _, err := b.Propose(nil, time.Now().Add(patience)); err == nil {
		t.Fatal("accepted")
	}
	check := func() {
		t.Helper()
		if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		want := "# HELP houseful_shard_leads 1 while this replica leads and takes commands.\n# TYPE houseful_shard_leads gauge\n" +
			`houseful_shard_leads{group="0"} 1` + "\n" + `houseful_shard_leads{group="meta"} 1` + "\n"
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), metricLeads); err != nil {
			t.Fatal(err)
		}
	}
	check()
	if series := testutil.CollectAndCount(newMetrics().refusals); series != len(refusals()) {
		t.Fatalf("%d reasons are shown before the first refusal, not %d", series, len(refusals()))
	}
	if got := testutil.ToFloat64(b.metrics.refusals.WithLabelValues(reasonTooLarge)); got != 1 {
		t.Fatalf("%v refusals counted", got)
	}
	b.reopen()
	check()
	b.close()
	other.close()
	if families, err := registry.Gather(); err != nil || len(families) != 0 {
		t.Fatal("metrics of closed groups are left", families, err)
	}

	if err := b.tryOpen(); err != nil {
		t.Fatal(err)
	}
	second := quickConfig()
	second.Name, second.Registerer = "0", registry
	if _, err := Open(second, &tallyMachine{}, b.stores); err == nil {
		t.Fatal("two open groups of one name")
	}
}
