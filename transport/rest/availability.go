package rest

import (
	"github.com/valyala/fasthttp"
)

// getAvailability answers with one letter a seat, or with what changed since a version.
func (s *Server) getAvailability(c *Call) error {
	m, err := s.currentMap(c)
	if err != nil {
		return err
	}
	if c.QueryArgs().Has("since") {
		return s.answerChanges(c, m)
	}
	if s.mapUnchanged(c, m) {
		return nil
	}
	encoding := acceptedEncoding(c.headers.acceptEncoding, len(m.letters))
	return answerShared(c, s.maps.availabilityBody(m, encoding), encoding)
}

// answerChanges answers with what changed since the client's version, or with everything when that is too old. A
// version that is not this show's past gets everything as well: the client has followed another history.
func (s *Server) answerChanges(c *Call, m *seatMap) error {
	since, err := c.queryInteger("since", 0, 0, versionMax)
	if err != nil {
		return err
	}
	if since == m.show.Version { // most who follow a show find nothing new
		s.mapHeaders(c, m.show.ID)
		return c.answer(fasthttp.StatusOK, appendChanges(c.buffer(), &m.show, nil))
	}
	changes, show, complete, ok, err := s.node.SeatChanges(m.show.ID, since, nil)
	switch {
	case err != nil:
		return err
	case !ok:
		return errNoShow()
	case !complete:
		s.mapHeaders(c, m.show.ID)
		return answerShared(c, s.maps.availabilityBody(m, encodingIdentity), encodingIdentity)
	}
	s.mapHeaders(c, m.show.ID)
	return c.answer(fasthttp.StatusOK, appendChanges(c.buffer(), &show, changes))
}
