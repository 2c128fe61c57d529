package rest

import (
	"bytes"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/fsm"
)

func (s *Server) seatMapRoutes() []Route {
	return []Route{
		{Name: "getSeats", Method: "GET", Pattern: apiBase + "/shows/{id}/seats", Role: RolePublic, Handle: s.getSeats},
		{Name: "getLayout", Method: "GET", Pattern: apiBase + "/shows/{id}/layout", Role: RolePublic, Handle: s.getLayout},
		{Name: "getAvailability", Method: "GET", Pattern: apiBase + "/shows/{id}/availability", Role: RolePublic, Handle: s.getAvailability},
		{Name: "streamShow", Method: "GET", Pattern: apiBase + "/shows/{id}/stream", Role: RolePublic, Handle: s.streamShow},
	}
}

// getSeats answers with a show's seat map: ready-encoded bytes, shared by everybody who asks for that version.
func (s *Server) getSeats(c *Call) error {
	m, err := s.currentMap(c)
	if err != nil {
		return err
	}
	if s.mapUnchanged(c, m) {
		return nil
	}
	encoding := acceptedEncoding(c.headers.acceptEncoding, seatBytesEstimate*len(m.letters))
	return answerShared(c, s.maps.seatsBody(m, encoding), encoding)
}

// currentMap gives the map of the show that the path names, not older than ?minVersion.
func (s *Server) currentMap(c *Call) (*seatMap, error) {
	id, err := c.showID()
	if err != nil {
		return nil, err
	}
	minVersion, err := c.queryInteger("minVersion", 0, 0, versionMax)
	if err != nil {
		return nil, err
	}
	m, err := s.maps.get(id, minVersion)
	switch {
	case err != nil:
		return nil, err
	case m == nil:
		return nil, errNoShow()
	case m.show.Version < minVersion:
		return s.awaitVersion(id, minVersion)
	}
	return m, nil
}

// awaitVersion waits until this node's replica has a version that it may not have yet. Where the replica is level
// with its leader, nobody has it.
func (s *Server) awaitVersion(id fsm.ShowID, minVersion uint64) (*seatMap, error) {
	deadline := time.NewTimer(MinVersionWait)
	defer deadline.Stop()
	poll := time.NewTicker(minVersionPoll)
	defer poll.Stop()
	for {
		lag := s.node.Lag(id) // before the look: a replica that was level then has seen everything
		m, err := s.maps.get(id, minVersion)
		switch {
		case err != nil:
			return nil, err
		case m == nil:
			return nil, errNoShow()
		case m.show.Version >= minVersion:
			return m, nil
		case lag == 0:
			return nil, invalid("minVersion", "%d is beyond the show's version, %d", minVersion, m.show.Version)
		}
		select {
		case <-poll.C:
		case <-deadline.C:
			return nil, unavailable(codeUnavailable, notApplied, "this node has not reached that version yet; ask again")
		case <-s.Stopping():
			return nil, unavailable(codeUnavailable, notApplied, "the server is stopping; ask again")
		}
	}
}

// mapUnchanged writes the headers of a map, and the whole answer if the client has that version already.
func (s *Server) mapUnchanged(c *Call, m *seatMap) bool {
	s.mapHeaders(c, m.show.ID)
	header := &c.Response.Header
	header.Set("ETag", m.etag)
	header.Add("Vary", "Accept-Encoding")
	return notModified(c, m.etag)
}

// mapHeaders writes what every answer about seats carries.
func (s *Server) mapHeaders(c *Call, id fsm.ShowID) {
	c.setHeader("Cache-Control", "public, max-age=1")
	c.setHeader("X-Houseful-Lag-Ms", strconv.FormatInt(s.node.Lag(id).Milliseconds(), 10))
}

// notModified answers 304 if the client has what the tag names.
func notModified(c *Call, etag string) bool {
	match := c.headers.ifNoneMatch
	if len(match) == 0 || !etagMatches(match, etag) {
		return false
	}
	c.Response.SetStatusCode(fasthttp.StatusNotModified)
	return true
}

// etagMatches compares weakly, as If-None-Match does: W/ counts for nothing (RFC 9110, 13.1.2).
func etagMatches(header []byte, etag string) bool {
	if string(header) == etag {
		return true
	}
	opaque := trimWeak([]byte(etag))
	for part := range bytes.SplitSeq(header, []byte(",")) {
		part = bytes.TrimSpace(part)
		if string(part) == "*" || bytes.Equal(trimWeak(part), opaque) {
			return true
		}
	}
	return false
}

func trimWeak(tag []byte) []byte { return bytes.TrimPrefix(tag, []byte("W/")) }

// answerShared answers with bytes that other requests share: they are sent, never changed.
func answerShared(c *Call, shared []byte, encoding contentEncoding) error {
	c.Response.SetStatusCode(fasthttp.StatusOK)
	c.Response.Header.SetContentType(mimeJSON)
	if name := encoding.name(); name != "" {
		c.Response.Header.SetContentEncoding(name)
	}
	c.Response.SetBodyRaw(shared)
	return nil
}

// contentEncoding is a form in which a body travels.
type contentEncoding uint8

const (
	encodingIdentity contentEncoding = iota
	encodingGzip
	encodingZstd
)

func (e contentEncoding) name() string { return [...]string{"", "gzip", "zstd"}[e] }

// acceptedEncoding chooses the form of a body of about size bytes: the quicker zstd, then gzip, of what the client
// takes (RFC 9110, 12.5.3).
func acceptedEncoding(accept []byte, size int) contentEncoding {
	if len(accept) == 0 || size < compressBytesMin {
		return encodingIdentity
	}
	best := encodingIdentity
	for part := range bytes.SplitSeq(accept, []byte(",")) {
		name, params, _ := bytes.Cut(part, []byte(";"))
		if refusedByWeight(params) {
			continue
		}
		switch string(bytes.ToLower(bytes.TrimSpace(name))) {
		case "zstd":
			best = encodingZstd
		case "gzip", "x-gzip":
			best = max(best, encodingGzip)
		}
	}
	return best
}

// refusedByWeight reports whether the parameters are a weight of zero.
func refusedByWeight(params []byte) bool {
	weight, ok := bytes.CutPrefix(bytes.ToLower(bytes.TrimSpace(params)), []byte("q="))
	if !ok {
		return false
	}
	return len(bytes.Trim(weight, "0.")) == 0
}
