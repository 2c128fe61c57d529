package shard

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Every metric of a group, with its help text. Each carries the label group.
const (
	metricPrefix = "houseful_shard_"

	metricBatch      = metricPrefix + "batch_commands"
	metricBatchHelp  = "Commands in a log entry."
	metricCommit     = metricPrefix + "commit_seconds"
	metricCommitHelp = "Time from handing an entry to raft until it is durable, committed and applied."
	metricApply      = metricPrefix + "apply_seconds"
	metricApplyHelp  = "Time the machine takes for an entry."
	metricCapture    = metricPrefix + "snapshot_capture_seconds"
	metricCapHelp    = "Time no entry is applied because a snapshot is captured."
	metricPersist    = metricPrefix + "snapshot_persist_seconds"
	metricPersHelp   = "Time to write a snapshot to disk."
	metricRefusals   = metricPrefix + "refusals_total"
	metricRefHelp    = "Commands without a result, by reason. Only reason unknown may be applied."

	metricQueue    = metricPrefix + "queue_commands"
	metricQueHelp  = "Commands waiting to join a batch."
	metricLeads    = metricPrefix + "leads"
	metricLeadHelp = "1 while this replica leads and takes commands."
	metricFailed   = metricPrefix + "failed"
	metricFailHelp = "1 when the group stopped for good."
	metricTerm     = metricPrefix + "raft_term"
	metricTermHelp = "Raft term."
	metricIndex    = metricPrefix + "raft_index"
	metricIdxHelp  = "Raft log index, by kind: first, last, commit, applied, snapshot."
	metricState    = metricPrefix + "raft_state"
	metricStatHelp = "Raft state of this replica: 1 for the current state."
)

// Reasons in metricRefusals.
const (
	reasonOverloaded = "overloaded"
	reasonDiskFull   = "disk_full"
	reasonNotLeader  = "not_leader"
	reasonTransfer   = "transfer"
	reasonDeadline   = "deadline"
	reasonTooLarge   = "too_large"
	reasonClosed     = "closed"
	reasonUnknown    = "unknown"
)

// metrics are one group's. They work unregistered too.
type metrics struct {
	registerer prometheus.Registerer
	registered []prometheus.Collector

	batchCommands  prometheus.Histogram
	commitSeconds  prometheus.Histogram
	applySeconds   prometheus.Histogram
	captureSeconds prometheus.Histogram
	persistSeconds prometheus.Histogram
	refusals       *prometheus.CounterVec
}

func newMetrics() *metrics {
	histogram := func(name, help string, start, factor float64, count int) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(start, factor, count),
		})
	}
	return &metrics{
		batchCommands:  histogram(metricBatch, metricBatchHelp, 1, 2, 11),       // 1 to 1,024
		commitSeconds:  histogram(metricCommit, metricCommitHelp, 50e-6, 2, 18), // 50 µs to 6.5 s
		applySeconds:   histogram(metricApply, metricApplyHelp, 1e-6, 2, 20),    // 1 µs to 0.5 s
		captureSeconds: histogram(metricCapture, metricCapHelp, 1e-6, 4, 12),    // 1 µs to 4 s
		persistSeconds: histogram(metricPersist, metricPersHelp, 1e-3, 2, 18),   // 1 ms to 131 s
		refusals:       refusalCounters(),
	}
}

// refusalCounters makes the series of every reason at once: a rate needs a value before the first refusal.
func refusalCounters() *prometheus.CounterVec {
	counters := prometheus.NewCounterVec(prometheus.CounterOpts{Name: metricRefusals, Help: metricRefHelp}, []string{"reason"})
	for _, r := range refusals() {
		counters.WithLabelValues(r.reason)
	}
	return counters
}

// register makes the metrics visible under the group's name. Two open groups of one name are an error.
func (m *metrics) register(config Config, read func() Status) error {
	if config.Registerer == nil {
		return nil
	}
	m.registerer = prometheus.WrapRegistererWith(prometheus.Labels{"group": config.Name}, config.Registerer)
	for _, c := range []prometheus.Collector{
		m.batchCommands, m.commitSeconds, m.applySeconds, m.captureSeconds, m.persistSeconds, m.refusals, newGauges(read),
	} {
		if err := m.registerer.Register(c); err != nil {
			m.unregister()
			return fmt.Errorf("register metrics: %w", err)
		}
		m.registered = append(m.registered, c)
	}
	return nil
}

func (m *metrics) unregister() {
	for _, c := range m.registered {
		m.registerer.Unregister(c)
	}
	m.registered = nil
}

func (m *metrics) refused(err error) { m.refusals.WithLabelValues(reason(err)).Inc() }

// refusal is an error of Propose with its reason in metricRefusals.
type refusal struct {
	err    error
	reason string
}

func refusals() []refusal {
	return []refusal{
		{ErrOverloaded, reasonOverloaded},
		{ErrNotLeader, reasonNotLeader},
		{ErrDiskFull, reasonDiskFull},
		{ErrDeadline, reasonDeadline},
		{ErrTransfer, reasonTransfer},
		{ErrTooLarge, reasonTooLarge},
		{ErrClosed, reasonClosed},
		{ErrUnknown, reasonUnknown},
	}
}

func reason(err error) string {
	for _, known := range refusals() {
		if errors.Is(err, known.err) {
			return known.reason
		}
	}
	return reasonUnknown
}

// gauges reads a group's state when it is asked for.
type gauges struct {
	read func() Status

	queue, leads, failed, term, index, state *prometheus.Desc
}

func newGauges(read func() Status) *gauges {
	return &gauges{
		read:   read,
		queue:  prometheus.NewDesc(metricQueue, metricQueHelp, nil, nil),
		leads:  prometheus.NewDesc(metricLeads, metricLeadHelp, nil, nil),
		failed: prometheus.NewDesc(metricFailed, metricFailHelp, nil, nil),
		term:   prometheus.NewDesc(metricTerm, metricTermHelp, nil, nil),
		index:  prometheus.NewDesc(metricIndex, metricIdxHelp, []string{"kind"}, nil),
		state:  prometheus.NewDesc(metricState, metricStatHelp, []string{"state"}, nil),
	}
}

// Describe is prometheus.Collector's.
func (c *gauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.queue, c.leads, c.failed, c.term, c.index, c.state} {
		out <- d
	}
}

// Collect is prometheus.Collector's.
func (c *gauges) Collect(out chan<- prometheus.Metric) {
	s := c.read()
	send := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	send(c.queue, float64(s.QueueDepth))
	send(c.leads, one(s.Open))
	send(c.failed, one(s.State == stateFailed))
	send(c.term, float64(s.Term))
	send(c.index, float64(s.FirstIndex), "first")
	send(c.index, float64(s.LastIndex), "last")
	send(c.index, float64(s.CommitIndex), "commit")
	send(c.index, float64(s.AppliedIndex), "applied")
	send(c.index, float64(s.SnapshotIndex), "snapshot")
	for _, state := range []string{"Follower", "Candidate", "Leader", "Shutdown", stateFailed} {
		send(c.state, one(s.State == state), state)
	}
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
