package rest

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"
)

// latencyBucketsSeconds covers an idle hold (under a millisecond) to a command that runs into its timeout.
var latencyBucketsSeconds = []float64{
	.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10,
}

// serverMetrics are the server's own counters. Counting a request touches handles that were looked up before.
type serverMetrics struct {
	requests           *prometheus.CounterVec
	connectionsRefused prometheus.Counter
	unrouted           *routeMetrics
}

// routeMetrics are one route's handles. A status is looked up the first time it occurs.
type routeMetrics struct {
	requests *prometheus.CounterVec
	name     string
	method   string
	byStatus [fasthttp.StatusNetworkAuthenticationRequired + 1]atomic.Pointer[prometheus.Counter]
	seconds  prometheus.Observer
}

func newServerMetrics(s *Server, registry *prometheus.Registry) (*serverMetrics, error) {
	m := &serverMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "houseful_http_requests_total", Help: "Requests answered, by route, method and status.",
		}, []string{"route", "method", "status"}),
		connectionsRefused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "houseful_http_connections_refused_total", Help: "Connections refused because too many were open.",
		}),
	}
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "houseful_http_request_seconds", Help: "Time from a request's last byte to its answer's first, by route.",
		Buckets: latencyBucketsSeconds,
	}, []string{"route"})
	inFlight := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "houseful_http_requests_in_flight", Help: "Requests in work.",
	}, func() float64 { return float64(s.inFlight.Load()) })
	connections := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "houseful_http_connections", Help: "Open connections, streams included.",
	}, func() float64 { return float64(s.http.GetOpenConnectionsCount()) })
	for _, collector := range []prometheus.Collector{m.requests, m.connectionsRefused, seconds, inFlight, connections} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	for i := range s.table {
		route := &s.table[i]
		route.metrics = &routeMetrics{
			requests: m.requests, name: route.Name, method: route.Method, seconds: seconds.WithLabelValues(route.Name),
		}
	}
	m.unrouted = &routeMetrics{requests: m.requests, name: "none", method: "any", seconds: seconds.WithLabelValues("none")}
	return m, nil
}

// observe counts a call that has its answer.
func (m *serverMetrics) observe(c *Call) {
	route := m.unrouted
	if c.route != nil {
		route = c.route.metrics
	}
	route.count(c.Response.StatusCode())
	route.seconds.Observe(time.Since(c.started).Seconds())
}

// countUnreadable counts a request that never became a call.
func (m *serverMetrics) countUnreadable(status int) { m.unrouted.count(status) }

func (r *routeMetrics) count(status int) {
	if status < 0 || status >= len(r.byStatus) {
		return
	}
	counter := r.byStatus[status].Load()
	if counter == nil {
		resolved := r.requests.WithLabelValues(r.name, r.method, strconv.Itoa(status))
		r.byStatus[status].Store(&resolved)
		counter = &resolved
	}
	(*counter).Inc()
}
