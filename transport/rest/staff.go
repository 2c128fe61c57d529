package rest

import (
	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

var blockFields = []string{"seats", "seatIds", "reason"}

// blockSeats takes seats off sale, all or none.
func (s *Server) blockSeats(c *Call) error { return s.changeBlock(c, false) }

// unblockSeats puts blocked seats back on sale, all or none.
func (s *Server) unblockSeats(c *Call) error { return s.changeBlock(c, true) }

func (s *Server) changeBlock(c *Call, unblock bool) error {
	show, err := c.showID()
	if err != nil {
		return err
	}
	command, err := c.readBlock(show, unblock)
	if err != nil {
		return err
	}
	result, err := s.commands.Block(command)
	deed := "blocked"
	if unblock {
		deed = "unblocked"
	}
	return c.answerShowState(result, err, deed)
}

func (c *Call) readBlock(show fsm.ShowID, unblock bool) (*wire.Block, error) {
	body, err := c.body(blockFields)
	if err != nil {
		return nil, err
	}
	seats := &c.hold.seats
	seats.read(&body, fsm.SeatsPerScreenMax, true)
	command := &wire.Block{
		ShowId: string(show), Labels: seats.labels, SeatIds: seats.seatIDs, Unblock: unblock,
		Reason: body.optionalText("reason", TextCharsMax),
	}
	if body.err != nil {
		return nil, body.err
	}
	return command, nil
}

// pauseShow stops the sale for now; live holds may still be paid.
func (s *Server) pauseShow(c *Call) error { return s.control(c, wire.ShowAction_SHOW_ACTION_PAUSE) }

// resumeShow goes on with a sale that is paused or closed.
func (s *Server) resumeShow(c *Call) error { return s.control(c, wire.ShowAction_SHOW_ACTION_RESUME) }

// closeShow ends the sale.
func (s *Server) closeShow(c *Call) error { return s.control(c, wire.ShowAction_SHOW_ACTION_CLOSE) }

// cancelShow ends the show: everybody gets everything back.
func (s *Server) cancelShow(c *Call) error { return s.control(c, wire.ShowAction_SHOW_ACTION_CANCEL) }

func (s *Server) control(c *Call, action wire.ShowAction) error {
	show, err := c.showID()
	if err != nil {
		return err
	}
	if err := c.noBody(); err != nil {
		return err
	}
	result, err := s.commands.ControlShow(&wire.ControlShow{ShowId: string(show), Action: action})
	return c.answerShowState(result, err, "changed")
}

// answerShowState answers a staff call with the show's state, or why not.
func (c *Call) answerShowState(result *fsm.Result, err error, deed string) error {
	if err != nil {
		return err
	}
	if result.Code != fsm.CodeOK {
		return c.refuseResult(result, deed)
	}
	return c.answer(fasthttp.StatusOK, appendShowState(c.buffer(), result.Show))
}

// auditShow recomputes a show from scratch; its digest can be compared between replicas at the same version.
func (s *Server) auditShow(c *Call) error {
	show, err := c.showID()
	if err != nil {
		return err
	}
	if _, err := c.consistency(); err != nil {
		return err
	}
	ctx, cancel := s.untilStopping(auditTimeout)
	defer cancel()
	audit, ok, err := s.node.AuditShow(ctx, show)
	if err != nil {
		return err
	}
	if !ok {
		return errNoShow()
	}
	dst := appendBool(append(c.buffer(), `{"ok":`...), audit.OK)
	dst = appendUint(append(dst, `,"version":`...), audit.Version)
	dst = appendTime(append(dst, `,"asOf":`...), audit.AsOf)
	dst = appendDigest(append(dst, `,"digest":`...), audit.Digest)
	dst = appendCounts(append(dst, `,"counts":`...), audit.Counts)
	return c.answer(fasthttp.StatusOK, append(appendProblems(dst, audit.Problems), '}'))
}
