package rest

import (
	"errors"
	"net"

	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/cluster"
)

// The outcomes of a call that was answered 503.
const (
	notApplied     = "not_applied" // nothing was done and nothing will be
	outcomeUnknown = "unknown"     // it may or may not have been done
)

const messageInternal = "something went wrong here; the request id finds it in the server's log"

// answerError writes the error a handler returned.
func (s *Server) answerError(c *Call, err error) {
	known := s.classify(err)
	if known.status >= fasthttp.StatusInternalServerError {
		s.logFailure(c, known, err)
	}
	if known.retryAfter > 0 {
		c.Response.Header.SetBytesV("Retry-After", appendInt(nil, int64(known.retryAfter)))
	}
	if known.allow != "" {
		c.setHeader("Allow", known.allow)
	}
	if known.status == fasthttp.StatusUnauthorized {
		c.setHeader("WWW-Authenticate", "Bearer")
	}
	c.setHeader("Cache-Control", "no-store")
	c.Response.Header.Del("Location")
	dst := c.beginError(known.code, known.message)
	if len(known.details) > 0 {
		dst = append(dst, `,"details":{`...)
		dst = append(append(dst, known.details...), '}')
	}
	_ = c.answer(known.status, append(dst, '}'))
}

// beginError starts an error's body; the caller may append details, and closes it.
func (c *Call) beginError(code, message string) []byte {
	dst := append(c.buffer(), `{"error":"`...)
	dst = append(dst, code...)
	dst = appendString(append(dst, `","message":`...), message)
	dst = appendTime(append(dst, `,"timestamp":`...), c.server.node.Now())
	dst = append(append(dst, `,"requestId":"`...), c.requestID...) // validRequestID: nothing to escape
	return append(dst, '"')
}

// classify turns what a handler returned into an answer. Outcomes are never guessed: what is not known to be not
// applied is unknown.
func (s *Server) classify(err error) *apiError {
	var known *apiError
	var wrong *cluster.InvalidError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &wrong):
		return invalid(wrong.Field, "%s", wrong.Reason)
	case errors.Is(err, cluster.ErrOverloaded):
		return unavailable(codeOverloaded, notApplied, "too much is waiting to be decided; nothing was done, ask again")
	case errors.Is(err, cluster.ErrDiskFull):
		return unavailable(codeUnavailable, notApplied, "the disk is nearly full, so nothing new is accepted; nothing was done")
	case errors.Is(err, cluster.ErrClosed):
		return unavailable(codeUnavailable, notApplied, "the server is stopping; nothing was done, ask again")
	case errors.Is(err, cluster.ErrNotApplied):
		return unavailable(codeUnavailable, notApplied, "the server cannot decide this right now; nothing was done, ask again")
	case errors.Is(err, cluster.ErrUnknown):
		return unavailable(codeUnavailable, outcomeUnknown, "the outcome is not known yet; ask again with the same idempotency key, or look the booking up")
	}
	return refuse(fasthttp.StatusInternalServerError, codeInternal, messageInternal)
}

func unavailable(code, outcome, message string) *apiError {
	e := refuse(fasthttp.StatusServiceUnavailable, code, message).withText("outcome", outcome)
	e.retryAfter, e.quiet = retrySoonSeconds, outcome == notApplied
	return e
}

// logFailure writes one line for an answer of the 500s that somebody should look into: what went wrong here, and what
// is not known to be done. What was refused without effect is counted, not logged: the node says once why it refuses,
// and a line for each caller would be the next thing to fall over.
func (s *Server) logFailure(c *Call, known *apiError, err error) {
	if known.quiet {
		return
	}
	s.logger.Error("request failed", "requestId", string(c.requestID), "method", string(c.Method()), "path", clip(string(c.rawPath())),
		"status", known.status, "error", known.code, "cause", err.Error())
}

// answerUnreadable answers a request that fasthttp could not read; the connection closes behind it.
func (s *Server) answerUnreadable(ctx *fasthttp.RequestCtx, err error) {
	c := s.calls.Get().(*Call)
	c.reset(ctx)
	c.Response.Reset()
	c.takeRequestID()
	c.Response.Header.SetCanonical(headerNode, s.nodeID)
	s.allowOrigin(c)
	refusal := unreadable(err)
	s.answerError(c, refusal)
	s.metrics.countUnreadable(refusal.status)
	c.RequestCtx = nil
	s.calls.Put(c)
	if refusal.status != fasthttp.StatusRequestTimeout {
		parting(ctx)
	}
}

// unreadable names what was wrong with the bytes of a request.
func unreadable(err error) *apiError {
	var tooSmall *fasthttp.ErrSmallBuffer
	var timeout net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return refuse(fasthttp.StatusRequestEntityTooLarge, codeBodyTooLarge, "the body is larger than this server accepts")
	case errors.As(err, &tooSmall):
		return refuse(fasthttp.StatusRequestHeaderFieldsTooLarge, codeInvalidRequest, "the request line and headers are larger than this server accepts")
	case errors.As(err, &timeout) && timeout.Timeout():
		return refuse(fasthttp.StatusRequestTimeout, codeInvalidRequest, "the request did not arrive in time")
	}
	return refuse(fasthttp.StatusBadRequest, codeInvalidRequest, "this is not a valid HTTP/1.1 request")
}
