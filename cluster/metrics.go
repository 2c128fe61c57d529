package cluster

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/houseful/houseful/fsm"
)

// metricPrefix starts the name of every metric of this package.
const metricPrefix = "houseful_"

// shardMetric is one metric of a shard: how it is named, and where it is in the machine's statistics.
type shardMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*fsm.Stats) float64
}

// shardMetrics reads the machines' statistics when it is asked for.
type shardMetrics struct {
	node    *Node
	metrics []shardMetric
	seats   *prometheus.Desc
	claims  *prometheus.Desc
}

// registerMetrics makes the machines' statistics visible; Close takes them back.
func (n *Node) registerMetrics() error {
	if n.config.Registerer == nil {
		return nil
	}
	n.metrics = newShardMetrics(n)
	if err := n.config.Registerer.Register(n.metrics); err != nil {
		n.metrics = nil
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

func newShardMetrics(n *Node) *shardMetrics {
	m := &shardMetrics{node: n}
	add := func(kind prometheus.ValueType, name, help string, value func(*fsm.Stats) float64) {
		desc := prometheus.NewDesc(metricPrefix+name, help, []string{"shard"}, nil)
		m.metrics = append(m.metrics, shardMetric{desc, kind, value})
	}
	counter, gauge := prometheus.CounterValue, prometheus.GaugeValue
	add(counter, "holds_total", "Bookings made.", func(s *fsm.Stats) float64 { return float64(s.Holds) })
	add(counter, "holds_extended_total", "Holds given a later deadline.", func(s *fsm.Stats) float64 { return float64(s.HoldsExtended) })
	add(counter, "conflicts_total", "Holds refused because a seat was taken.", func(s *fsm.Stats) float64 { return float64(s.Conflicts) })
	add(counter, "confirms_total", "Bookings confirmed.", func(s *fsm.Stats) float64 { return float64(s.Confirms) })
	add(counter, "releases_total", "Holds given back.", func(s *fsm.Stats) float64 { return float64(s.Releases) })
	add(counter, "expiries_total", "Holds that expired.", func(s *fsm.Stats) float64 { return float64(s.Expiries) })
	add(counter, "cancels_total", "Bookings cancelled, whole or in part.", func(s *fsm.Stats) float64 { return float64(s.Cancels) })
	add(counter, "late_payments_total", "Payments that could not confirm a booking.", func(s *fsm.Stats) float64 { return float64(s.LatePayments) })
	add(gauge, "shows", "Shows.", func(s *fsm.Stats) float64 { return float64(s.Shows) })
	add(gauge, "bookings", "Bookings in memory.", func(s *fsm.Stats) float64 { return float64(s.Bookings) })
	add(gauge, "live_holds", "Bookings that wait for payment.", func(s *fsm.Stats) float64 { return float64(s.Pending) })
	add(gauge, "payment_claims", "Payment references bound to bookings.", func(s *fsm.Stats) float64 { return float64(s.Claims) })
	add(gauge, "idempotency_keys", "Idempotency keys kept.", func(s *fsm.Stats) float64 { return float64(s.IdempotencyKeys) })
	add(gauge, "answers_kept", "Answers kept for retries.", func(s *fsm.Stats) float64 { return float64(s.Answers) })
	m.seats = prometheus.NewDesc(metricPrefix+"seats", "Seats of all shows, by status.", []string{"shard", "status"}, nil)
	m.claims = prometheus.NewDesc(metricPrefix+"claims_left_tentative_total",
		"Payment claims that were not settled before the answer; the next confirm that meets one settles it.", nil, nil)
	return m
}

// Describe is prometheus.Collector's.
func (m *shardMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, metric := range m.metrics {
		out <- metric.desc
	}
	out <- m.seats
	out <- m.claims
}

// Collect is prometheus.Collector's.
func (m *shardMetrics) Collect(out chan<- prometheus.Metric) {
	for _, s := range m.node.serving() {
		var stats fsm.Stats
		s.read(func(machine *fsm.Machine) { stats = machine.Stats() })
		for _, metric := range m.metrics {
			out <- prometheus.MustNewConstMetric(metric.desc, metric.kind, metric.value(&stats), s.name)
		}
		for status, seats := range map[fsm.SeatStatus]uint32{
			fsm.SeatAvailable: stats.Seats.Available, fsm.SeatHeld: stats.Seats.Held,
			fsm.SeatBooked: stats.Seats.Booked, fsm.SeatBlocked: stats.Seats.Blocked,
		} {
			out <- prometheus.MustNewConstMetric(m.seats, prometheus.GaugeValue, float64(seats), s.name, status.String())
		}
	}
	out <- prometheus.MustNewConstMetric(m.claims, prometheus.CounterValue, float64(m.node.claimsLeft.Load()))
}
