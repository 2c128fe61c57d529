package rest

import (
	"strconv"

	"github.com/cespare/xxhash/v2"
	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/fsm"
)

// getLayout answers with what never changes about a show's seats: a layout version names it for good. Asked for the
// current version, the answer may be kept for ever; asked for none or for another one, it must be asked for again.
func (s *Server) getLayout(c *Call) error {
	id, err := c.showID()
	if err != nil {
		return err
	}
	wanted, err := c.queryInteger("v", 0, 0, versionMax)
	if err != nil {
		return err
	}
	show, ok, err := s.node.Show(id)
	switch {
	case err != nil:
		return err
	case !ok:
		return errNoShow()
	}
	body := appendLayout(nil, &show)
	etag := `W/"` + strconv.FormatUint(xxhash.Sum64(body), 36) + `"`
	c.setHeader("ETag", etag)
	if wanted == show.LayoutVersion {
		c.setHeader("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		c.setHeader("Cache-Control", "public, no-cache")
	}
	if notModified(c, etag) {
		return nil
	}
	return c.answer(fasthttp.StatusOK, body)
}

// appendLayout writes rows as a screen's are written (a comma is an aisle), with the price and the first seatId of each.
func appendLayout(dst []byte, show *fsm.Show) []byte {
	definition := show.Definition
	layout := definition.Layout.Wire()
	dst = appendString(append(dst, `{"showId":`...), string(show.ID))
	dst = appendUint(append(dst, `,"layoutVersion":`...), show.LayoutVersion)
	dst = appendString(append(dst, `,"currency":`...), definition.Spec.Currency)
	dst = appendInt(append(dst, `,"seatCount":`...), int64(definition.Layout.Seats()))
	dst = append(dst, `,"rows":[`...)
	for i, row := range layout.Rows {
		dst = appendRowFields(append(appendComma(dst, i), '{'), layout, row)
		first, _ := definition.Layout.RowSeats(i)
		dst = appendUint(append(dst, `,"firstSeatId":`...), uint64(first)+1)
		dst = append(appendInt(append(dst, `,"price":`...), definition.TierPrices[row.Tier]), '}')
	}
	dst = append(dst, `],"tiers":{`...)
	for i, tier := range layout.Tiers {
		dst = append(appendString(appendComma(dst, i), tier.Name), ':', '{')
		dst = appendTierFields(dst, tier)
		dst = append(appendInt(append(dst, `,"price":`...), definition.TierPrices[i]), '}')
	}
	return append(dst, `}}`...)
}
