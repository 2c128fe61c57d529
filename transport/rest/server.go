package rest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/cluster"
	"github.com/houseful/houseful/transport/payment"
)

// Headers of every answer, in canonical form: setting them need not normalise.
var (
	headerNode         = []byte("X-Houseful-Node")
	headerRequestID    = []byte("X-Request-Id")
	headerCacheControl = []byte("Cache-Control")
	noStore            = []byte("no-store")
)

// Server is the HTTP API of one node. Make it with New; Serve it on one or more listeners; Shutdown it once.
type Server struct {
	cfg         Config
	corsOrigins map[string]struct{}

	node     *cluster.Node
	commands commands // of the node
	nodeID   []byte
	version  string // of the program
	payments *payment.Providers
	logger   *slog.Logger
	maps     *seatMapCache
	streams  *streamHub
	reaper   *reaper

	http        *fasthttp.Server
	table       []Route
	router      *router
	metrics     *serverMetrics
	metricsPage fasthttp.RequestHandler
	calls       sync.Pool // of *Call

	requestIDs  idSource
	stopContext context.Context // ends when Shutdown begins
	stop        context.CancelFunc
	inFlight    atomic.Int64
}

// New makes a server for a node. The node must outlive it.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, corsOrigins: make(map[string]struct{}, len(cfg.CORSOrigins)),
		node: cfg.Node, commands: cfg.Node, nodeID: []byte(cfg.Node.ID()), payments: cfg.Payments, logger: cfg.Logger,
		requestIDs: newIDSource(), version: buildVersion(),
	}
	s.stopContext, s.stop = context.WithCancel(context.Background())
	s.metricsPage = s.metricsHandler()
	for _, origin := range cfg.CORSOrigins {
		s.corsOrigins[origin] = struct{}{}
	}
	s.maps = newSeatMapCache(cfg.Node, SeatMapCacheBytesMax, SeatMapRefreshInterval)
	s.streams = newStreamHub(cfg.Node, s.maps, streamTimes{
		look: SeatMapRefreshInterval, comment: StreamCommentInterval, write: StreamWriteTimeout,
	}, StreamsMax)
	s.calls.New = func() any { return &Call{server: s} }
	s.table = s.routes()
	var err error
	if s.router, err = newRouter(s.table); err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	s.reaper = newReaper(&s.cfg)
	s.http = s.httpServer()
	if s.metrics, err = newServerMetrics(s, cfg.Registry); err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	return s, nil
}

func (s *Server) httpServer() *fasthttp.Server {
	return &fasthttp.Server{
		Handler:                      s.serve,
		ErrorHandler:                 s.answerUnreadable,
		Concurrency:                  s.cfg.ConnectionsMax + connectionsSlack,
		ReadBufferSize:               s.cfg.HeaderBytesMax,
		WriteBufferSize:              WriteBufferBytes,
		MaxRequestBodySize:           s.cfg.BodyBytesMax,
		ConnState:                    s.reaper.changed, // and so no timeouts of fasthttp's own
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		CloseOnShutdown:              true,
		SecureErrorLogMessage:        true,
		Logger:                       fasthttpLogger{s.logger},
	}
}

// Serve answers on a listener until Shutdown, then returns nil. Without keys the listener must be on loopback
// (ErrOpenMode).
func (s *Server) Serve(listener net.Listener) error {
	if !loopbackListener(listener.Addr()) {
		return fmt.Errorf("%s: %w", listener.Addr(), ErrOpenMode)
	}
	s.reaper.run()
	return s.http.Serve(newLimitedListener(listener, s))
}

// Stopping is closed when Shutdown begins: what streams must end.
func (s *Server) Stopping() <-chan struct{} { return s.stopContext.Done() }

// Shutdown stops accepting, lets what is in flight finish until ctx ends, and closes every connection.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	s.streams.close()
	err := s.http.ShutdownWithContext(ctx)
	s.reaper.close()
	if err != nil {
		return fmt.Errorf("stop HTTP: %w", err)
	}
	return nil
}

// serve is fasthttp's handler: it runs one request from its first check to its answer.
func (s *Server) serve(ctx *fasthttp.RequestCtx) {
	c := s.calls.Get().(*Call)
	c.reset(ctx)
	c.started = ctx.Time()
	c.watch = s.reaper.watch(ctx.Conn())
	s.reaper.enter(c.watch, phaseHandling)
	defer s.finish(c)
	c.takeRequestID()
	c.Response.Header.SetCanonical(headerNode, s.nodeID)
	if s.inFlight.Add(1) > int64(s.cfg.RequestsMax) {
		s.answerError(c, unavailable(codeOverloaded, notApplied, "too many requests are in work; ask again"))
		return
	}
	if err := s.run(c); err != nil {
		s.answerError(c, err)
	}
}

// run checks a request and hands it to its route.
func (s *Server) run(c *Call) error {
	principal, refusal := s.authenticate(c)
	if refusal != nil {
		return refusal
	}
	c.principal = principal
	s.allowOrigin(c)
	node := s.router.find(c.rawPath(), &c.params)
	if node == nil {
		return notFound(codeNotFound, "there is nothing at this path; the API is under "+apiBase)
	}
	if c.IsOptions() {
		s.answerOptions(c, node)
		return nil
	}
	if method := methodIndex(c.Method()); method != methodUnknown {
		c.route = node.routes[method]
	}
	if c.route == nil {
		err := refuse(fasthttp.StatusMethodNotAllowed, codeMethodNotAllowed, "this path takes "+node.allow)
		err.allow = node.allow
		return err
	}
	if !c.principal.Role.permits(c.route.Role) {
		return refuse(fasthttp.StatusForbidden, codeForbidden, "this call needs the role "+c.route.Role.String())
	}
	if c.route.noStore {
		c.Response.Header.SetCanonical(headerCacheControl, noStore)
	}
	return c.route.Handle(c)
}

// finish ends a call: a panic becomes INTERNAL and is logged with its stack, the request is counted, the call reused.
func (s *Server) finish(c *Call) {
	if cause := recover(); cause != nil {
		s.logger.Error("request panicked", "requestId", string(c.requestID), "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
		c.Response.ResetBody()
		s.answerError(c, errPanicked)
	}
	s.inFlight.Add(-1)
	s.metrics.observe(c)
	s.reaper.enter(c.watch, phaseWriting)
	c.RequestCtx, c.watch = nil, nil
	if cap(c.scratch) > bodyBytesKept || c.oversized {
		return // let go of what a large body made it grow to
	}
	s.calls.Put(c)
}

// errPanicked is the answer to a request whose handler panicked, which is logged already.
var errPanicked = &apiError{
	status: fasthttp.StatusInternalServerError, code: codeInternal, message: messageInternal, quiet: true,
}

// takeRequestID takes the client's X-Request-Id, or makes one.
func (c *Call) takeRequestID() {
	c.requestID = c.requestID[:0]
	if given := c.headers.requestID; validRequestID(given) {
		c.requestID = append(c.requestID, given...)
	} else {
		c.requestID = c.server.requestIDs.append(c.requestID)
	}
	c.Response.Header.SetCanonical(headerRequestID, c.requestID)
}

// validRequestID reports whether a request id is safe to repeat in headers, answers and logs.
func validRequestID(id []byte) bool {
	for _, ch := range id {
		if ch <= ' ' || ch >= 0x7f || ch == '"' || ch == '\\' || ch == '<' || ch == '>' {
			return false
		}
	}
	return len(id) > 0 && len(id) <= RequestIDCharsMax
}

// idSource makes ids that are unique over restarts: a random start, then counting.
type idSource struct {
	prefix [8]byte
	next   *atomic.Uint64
}

func newIDSource() idSource {
	source := idSource{next: &atomic.Uint64{}}
	_, _ = rand.Read(source.prefix[:]) // never fails
	return source
}

func (s *idSource) append(dst []byte) []byte {
	dst = hex.AppendEncode(dst, s.prefix[:])
	dst = append(dst, '-')
	return appendUint(dst, s.next.Add(1))
}

// fasthttpLogger passes on what fasthttp has to say, which is rare: a listener that fails, a full worker pool.
type fasthttpLogger struct{ logger *slog.Logger }

func (l fasthttpLogger) Printf(format string, args ...any) {
	l.logger.Debug("http server", "message", fmt.Sprintf(format, args...))
}
