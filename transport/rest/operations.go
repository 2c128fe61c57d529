package rest

import (
	"context"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"github.com/houseful/houseful/cluster"
	"github.com/houseful/houseful/fsm"
)

// auditTimeout bounds an audit, which reads everything.
const auditTimeout = 5 * time.Minute

// root answers who looks what is here.
func (s *Server) root(c *Call) error {
	dst := appendString(append(c.buffer(), `{"name":"Houseful","version":`...), s.version)
	return c.answer(fasthttp.StatusOK, append(dst, `,"links":{"cities":"`+apiBase+`/cities","ready":"/readyz","metrics":"/metrics"},`+
		`"docs":"docs/openapi.yaml beside the source describes every call under `+apiBase+`"}`...))
}

// buildVersion is what the Go tool stamped into the program.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// healthz says that the process lives.
func (s *Server) healthz(c *Call) error {
	return c.answer(fasthttp.StatusOK, append(c.buffer(), `{"status":"ok"}`...))
}

// readyz says whether a load balancer should send callers here, and if not, why not (yet). A node whose disk is below
// its floor answers reads, but refuses whoever wants to buy: others should have those callers.
func (s *Server) readyz(c *Call) error {
	err := s.node.Ready()
	if err == nil {
		err = s.node.Writable()
	}
	if s.stopContext.Err() != nil {
		err = cluster.ErrClosed
	}
	if err != nil {
		refusal := refuse(fasthttp.StatusServiceUnavailable, codeUnavailable, "not ready: "+err.Error())
		refusal.retryAfter, refusal.quiet = retrySoonSeconds, true
		return refusal
	}
	return c.answer(fasthttp.StatusOK, append(c.buffer(), `{"status":"ready"}`...))
}

// metricsHandler shows the registry in Prometheus' formats.
func (s *Server) metricsHandler() fasthttp.RequestHandler {
	return fasthttpadaptor.NewFastHTTPHandler(promhttp.HandlerFor(s.cfg.Registry, promhttp.HandlerOpts{}))
}

func (s *Server) showMetrics(c *Call) error {
	s.metricsPage(c.RequestCtx)
	return nil
}

// getCluster describes the cluster as this node sees it.
func (s *Server) getCluster(c *Call) error {
	return c.answer(fasthttp.StatusOK, appendCluster(c.buffer(), s.node.Status()))
}

func appendCluster(dst []byte, status cluster.Status) []byte {
	dst = appendString(append(dst, `{"clusterId":`...), status.ClusterID)
	dst = appendUint(append(dst, `,"featureVersion":`...), uint64(status.FeatureVersion))
	dst = append(dst, `,"nodes":[`...)
	for i, node := range status.Nodes {
		dst = appendString(append(appendComma(dst, i), `{"id":`...), node.ID)
		dst = appendString(append(dst, `,"zone":`...), node.Zone)
		dst = appendString(append(dst, `,"http":`...), node.HTTP)
		dst = appendString(append(dst, `,"peer":`...), node.Peer)
		dst = appendString(append(dst, `,"status":`...), node.Status)
		dst = appendInt(append(dst, `,"replicas":`...), int64(node.Replicas))
		dst = append(appendInt(append(dst, `,"leaders":`...), int64(node.Leaders)), '}')
	}
	dst = append(dst, `],"shards":[`...)
	for i, group := range status.Shards {
		dst = appendGroup(appendComma(dst, i), group)
	}
	dst = append(dst, `],"moves":[`...)
	for i, move := range status.Moves {
		dst = appendString(append(appendComma(dst, i), `{"shard":`...), move.Shard)
		dst = appendString(append(dst, `,"from":`...), move.From)
		dst = appendString(append(dst, `,"to":`...), move.To)
		dst = appendString(append(dst, `,"step":`...), move.Step)
		dst = strconv.AppendFloat(append(dst, `,"progress":`...), move.Progress, 'f', 2, 64)
		dst = append(dst, '}')
	}
	return append(dst, `]}`...)
}

func appendGroup(dst []byte, group cluster.GroupStatus) []byte {
	dst = appendString(append(dst, `{"id":`...), group.ID)
	dst = appendStringOrNull(append(dst, `,"leader":`...), group.Leader)
	dst = appendUint(append(dst, `,"term":`...), group.Term)
	dst = append(dst, `,"replicas":[`...)
	for i, replica := range group.Replicas {
		dst = appendString(append(appendComma(dst, i), `{"node":`...), replica.Node)
		dst = appendString(append(dst, `,"role":`...), replica.Role)
		dst = appendUint(append(dst, `,"appliedIndex":`...), replica.AppliedIndex)
		dst = append(appendUint(append(dst, `,"lag":`...), replica.Lag), '}')
	}
	return append(dst, `]}`...)
}

// appendComma separates the i-th entry of a list from the one before it.
func appendComma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

// audit recomputes everything on this node from scratch.
func (s *Server) audit(c *Call) error {
	ctx, cancel := s.untilStopping(auditTimeout)
	defer cancel()
	groups, err := s.node.Audit(ctx)
	if err != nil {
		return err
	}
	ok := true
	for _, group := range groups {
		ok = ok && group.Report.OK
	}
	dst := appendBool(append(c.buffer(), `{"ok":`...), ok)
	dst = append(dst, `,"groups":[`...)
	for i, group := range groups {
		dst = appendGroupAudit(appendComma(dst, i), group)
	}
	return c.answer(fasthttp.StatusOK, append(dst, `]}`...))
}

func appendGroupAudit(dst []byte, group cluster.GroupAudit) []byte {
	report := group.Report
	dst = appendString(append(dst, `{"id":`...), group.Group)
	dst = appendBool(append(dst, `,"ok":`...), report.OK)
	dst = appendDigest(append(dst, `,"digest":`...), report.Digest)
	dst = appendTime(append(dst, `,"asOf":`...), report.Now)
	dst = appendInt(append(dst, `,"shows":`...), int64(report.Shows))
	dst = appendInt(append(dst, `,"bookings":`...), int64(report.Bookings))
	dst = appendCounts(append(dst, `,"counts":`...), report.Counts)
	return append(appendProblems(dst, report.Problems), '}')
}

// appendProblems appends what an audit found wrong, if anything.
func appendProblems(dst []byte, problems []string) []byte {
	if len(problems) == 0 {
		return dst
	}
	dst = append(dst, `,"problems":[`...)
	for i, problem := range problems {
		dst = appendString(appendComma(dst, i), problem)
	}
	return append(dst, ']')
}

// appendDigest appends a digest as hexadecimal text.
func appendDigest(dst []byte, digest [32]byte) []byte {
	dst = append(dst, '"')
	for _, b := range digest {
		dst = append(dst, hexDigits[b>>4], hexDigits[b&0xf])
	}
	return append(dst, '"')
}

// untilStopping gives a context that ends with the timeout or with the server.
func (s *Server) untilStopping(timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	stop := context.AfterFunc(s.stopContext, cancel)
	return ctx, func() { stop(); cancel() }
}

var clockFields = []string{"seconds"}

// advanceTestClock moves the node's clock, so that an integrator need not wait for a hold to expire.
func (s *Server) advanceTestClock(c *Call) error {
	seconds, err := c.readClock()
	if err != nil {
		return err
	}
	if err := s.node.AdvanceClock(time.Duration(seconds) * time.Second); err != nil {
		return err
	}
	return c.answer(fasthttp.StatusOK, append(appendTime(append(c.buffer(), `{"now":`...), s.node.Now()), '}'))
}

func (c *Call) readClock() (seconds int64, err error) {
	body, err := c.body(clockFields)
	if err != nil {
		return 0, err
	}
	seconds = body.integer("seconds", 0, testClockSecondsMax)
	return seconds, body.problem()
}

// appendShowState appends what staff calls answer.
func appendShowState(dst []byte, show *fsm.Show) []byte {
	dst = appendString(append(dst, `{"showId":`...), string(show.ID))
	dst = append(append(dst, `,"status":"`...), show.Status.String()...)
	dst = appendUint(append(dst, `","version":`...), show.Version)
	return append(appendCounts(append(dst, `,"counts":`...), show.Counts), '}')
}
