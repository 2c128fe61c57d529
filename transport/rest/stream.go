package rest

import (
	"net"
	"strconv"

	"github.com/valyala/fasthttp"
)

// streamShow answers with server-sent events about a show's seats until one side ends it.
//
// The connection leaves the HTTP server: a stream outlives the limits of a request, writes shared bytes without a
// copy, and must not hold up the server's shutdown.
func (s *Server) streamShow(c *Call) error {
	since, resume, err := streamPosition(c)
	if err != nil {
		return err
	}
	m, err := s.currentMap(c) // where the stream begins, so that ?minVersion holds for its first event
	if err != nil {
		return err
	}
	show := m.show
	s.mapHeaders(c, show.ID)
	header := &c.Response.Header
	header.SetContentType("text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // for nginx
	if c.IsHead() {
		return nil
	}
	if err := s.streams.full(); err != nil {
		return unavailable(codeOverloaded, notApplied, err.Error()+"; ask again")
	}
	header.SetContentLength(-2) // the end of the connection is the end of the stream
	header.SetConnectionClose()
	head := append([]byte(nil), header.Header()...)
	head = append(head, "retry: "+strconv.Itoa(streamRetryMs)+"\n\n"...)
	c.HijackSetNoResponse(true)
	c.Hijack(func(conn net.Conn) { s.streams.serve(conn, head, show, resume, since) })
	return nil
}

// streamPosition gives the version that the client has. A browser that connects again sends Last-Event-ID beside the
// ?since= of its first request, so that one counts; one that is no version of ours is as good as none.
func streamPosition(c *Call) (since uint64, ok bool, err error) {
	if last := c.headers.lastEventID; len(last) > 0 {
		v, err := fasthttp.ParseUint(last)
		return uint64(v), err == nil, nil
	}
	since, err = c.queryInteger("since", 0, 0, versionMax)
	return since, err == nil && c.QueryArgs().Has("since"), err
}
