package rest

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

const (
	corsExposed = "X-Request-Id, X-Houseful-Node, X-Houseful-Lag-Ms, Location, Idempotent-Replayed, ETag, Retry-After"
	corsAllowed = "Content-Type, Idempotency-Key, X-Idempotency-Key, X-Request-Id, Authorization, Houseful-Pass, " +
		"If-None-Match, Last-Event-ID"
	corsMaxAgeSeconds = "600"
)

// allowOrigin lets pages of the listed origins read the answer. Credentials are never allowed: there are no cookies.
func (s *Server) allowOrigin(c *Call) {
	if len(s.corsOrigins) == 0 {
		return
	}
	c.Response.Header.Add("Vary", "Origin")
	origin := c.headers.origin
	if _, listed := s.corsOrigins[string(origin)]; !listed {
		return
	}
	c.Response.Header.SetBytesV("Access-Control-Allow-Origin", origin)
	c.setHeader("Access-Control-Expose-Headers", corsExposed)
}

// answerOptions answers OPTIONS, and with it a browser's question before a call from another origin.
func (s *Server) answerOptions(c *Call, node *routeNode) {
	c.setHeader("Allow", node.allow)
	if len(c.Response.Header.Peek("Access-Control-Allow-Origin")) > 0 && len(c.headers.corsMethodWanted) > 0 {
		c.setHeader("Access-Control-Allow-Methods", node.allow)
		c.setHeader("Access-Control-Allow-Headers", corsAllowed)
		c.setHeader("Access-Control-Max-Age", corsMaxAgeSeconds)
	}
	c.Response.SetStatusCode(fasthttp.StatusNoContent)
}

// sameOrigin reports whether an origin is a page of this very server.
func sameOrigin(origin, host []byte) bool {
	_, name, ok := bytes.Cut(origin, []byte("://"))
	return ok && bytes.EqualFold(name, host)
}
