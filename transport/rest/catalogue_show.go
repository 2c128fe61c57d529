package rest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fastjson"

	"github.com/houseful/houseful/cluster"
	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

// The fields that a client may write about a show.
var (
	showFields = []string{
		"movieId", "screenId", "startsAt", "endsAt", "currency", "pricing", "holdSeconds", "maxSeatsPerBooking",
		"maxHoldsPerUser", "salesOpenAt", "salesCloseAt", "refundPolicy",
	}
	pricingFields = []string{"strategy", "amount", "base", "bands"}
	bandFields    = []string{"fromHour", "percent"}
	refundFields  = []string{"minutesBefore", "percent"}
)

func (s *Server) putShow(c *Call) error {
	id, err := c.showID()
	if err != nil {
		return err
	}
	o, err := c.body(showFields)
	if err != nil {
		return err
	}
	request, err := readShow(&o)
	if err != nil {
		return err
	}
	result, err := s.commands.PutShow(id, request)
	if err != nil {
		return catalogueError(err)
	}
	if result.Code != fsm.CodeOK {
		return resultError(result)
	}
	return c.answer(putStatus(result.Created), s.appendShow(c.buffer(), result.Show))
}

func readShow(o *object) (cluster.ShowRequest, error) {
	request := cluster.ShowRequest{
		MovieID: o.id("movieId"), ScreenID: o.id("screenId"), StartsAt: o.time("startsAt"), EndsAt: o.optionalTime("endsAt"),
		Currency:           o.currency("currency"),
		HoldSeconds:        optionalBound(o, "holdSeconds", 1, fsm.HoldSecondsMax),
		MaxSeatsPerBooking: optionalBound(o, "maxSeatsPerBooking", 1, fsm.SeatsPerBookingMax),
		MaxHoldsPerUser:    optionalBound(o, "maxHoldsPerUser", 1, fsm.HoldsPerUserMax),
		SalesOpenAt:        o.optionalTime("salesOpenAt"),
		SalesCloseAt:       o.optionalTime("salesCloseAt"),
		RefundPolicy:       readRefundPolicy(o),
	}
	o.need("pricing")
	pricing, _ := o.child("pricing", pricingFields)
	if o.err != nil {
		return request, o.err
	}
	request.Pricing = readPricing(&pricing)
	o.adopt(&pricing)
	return request, o.problem()
}

// optionalBound reads a whole number within bounds; nil when it is absent.
func optionalBound(o *object, field string, least, most int64) *int64 {
	if !o.has(field) {
		return nil
	}
	v := o.integer(field, least, most)
	return &v
}

// readRefundPolicy gives nil when there is none, which takes the default, and an empty list when there are no refunds.
func readRefundPolicy(o *object) []*wire.RefundRule {
	if !o.has("refundPolicy") {
		return nil
	}
	rules := []*wire.RefundRule{}
	for i, value := range o.list("refundPolicy", RefundRulesMax) {
		rule := readObject(value, "refundPolicy["+strconv.Itoa(i)+"].", refundFields)
		minutes := rule.integer("minutesBefore", 0, refundMinutesMax)
		percent := rule.integer("percent", 0, 100)
		if slices.ContainsFunc(rules, func(other *wire.RefundRule) bool { return other.MinutesBefore == minutes }) {
			rule.fail("minutesBefore", "%d comes twice", minutes)
		}
		if o.adopt(&rule); o.err != nil {
			return nil
		}
		rules = append(rules, &wire.RefundRule{MinutesBefore: minutes, Percent: uint32(percent)})
	}
	slices.SortFunc(rules, func(a, b *wire.RefundRule) int { return cmp.Compare(b.MinutesBefore, a.MinutesBefore) })
	return rules
}

// pricingUses says which fields each strategy needs; the others it refuses.
var pricingUses = map[string]struct{ amount, base, bands bool }{
	fsm.PricingFlat:       {amount: true},
	fsm.PricingMultiplier: {amount: true},
	fsm.PricingTier:       {base: true},
	fsm.PricingTierTime:   {base: true, bands: true},
}

func readPricing(o *object) *wire.Pricing {
	pricing := &wire.Pricing{Strategy: o.text("strategy", meta.NameBytesMax)}
	uses, known := pricingUses[pricing.Strategy]
	if !known {
		o.fail("strategy", "must be flat, tier, tier_time or multiplier")
		return pricing
	}
	for field, used := range map[string]bool{"amount": uses.amount, "base": uses.base, "bands": uses.bands} {
		if used {
			o.need(field)
		} else if o.has(field) {
			o.fail(field, "is not used by the strategy %s", pricing.Strategy)
		}
	}
	pricing.Amount = o.optionalInteger("amount", 0, 0, fsm.PriceMax)
	o.entries("base", meta.ScreenTiersMax, func(tier string, value *fastjson.Value) {
		amount, ok := integerOf(value)
		if !ok || amount < 0 || amount > fsm.PriceMax {
			o.fail("base."+clip(tier), "must be a whole number of minor units, 0 to %d", int64(fsm.PriceMax))
		}
		pricing.Base = append(pricing.Base, &wire.TierAmount{Tier: tier, Amount: amount})
	})
	slices.SortFunc(pricing.Base, func(a, b *wire.TierAmount) int { return strings.Compare(a.Tier, b.Tier) })
	for i, value := range o.list("bands", hoursPerDay) {
		band := readObject(value, o.path()+"bands["+strconv.Itoa(i)+"].", bandFields)
		hour := uint32(band.integer("fromHour", 0, hoursPerDay-1))
		percent := band.integer("percent", 0, fsm.PercentMax)
		if slices.ContainsFunc(pricing.Bands, func(other *wire.TimeBand) bool { return other.FromHour == hour }) {
			band.fail("fromHour", "%d comes twice", hour)
		}
		o.adopt(&band)
		pricing.Bands = append(pricing.Bands, &wire.TimeBand{FromHour: hour, Percent: uint32(percent)})
	}
	slices.SortFunc(pricing.Bands, func(a, b *wire.TimeBand) int { return cmp.Compare(b.FromHour, a.FromHour) })
	return pricing
}

func (s *Server) getShow(c *Call) error {
	id, err := c.showID()
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
	return c.answer(fasthttp.StatusOK, s.appendShow(c.buffer(), &show))
}

// appendShow writes a show with its movie, theatre and screen as the catalogue has them now. What a client wrote
// comes back in the same fields, with the defaults filled in.
func (s *Server) appendShow(dst []byte, show *fsm.Show) []byte {
	definition := show.Definition
	spec := definition.Spec
	dst = appendString(append(dst, `{"id":`...), string(show.ID))
	dst = appendString(append(dst, `,"movieId":`...), spec.MovieId)
	dst = appendString(append(dst, `,"theatreId":`...), definition.TheatreID)
	dst = appendString(append(dst, `,"screenId":`...), spec.ScreenId)
	dst = appendString(append(dst, `,"cityId":`...), definition.CityID)
	dst = append(append(dst, `,"status":"`...), show.Status.String()...)
	dst = appendUint(append(dst, `","version":`...), show.Version)
	dst = appendTime(append(dst, `,"asOf":`...), show.AsOf)
	dst = appendUint(append(dst, `,"layoutVersion":`...), show.LayoutVersion)
	dst = appendCounts(append(dst, `,"counts":`...), show.Counts)
	dst = appendString(append(dst, `,"timeZone":`...), definition.TimeZone)
	dst = appendInt(append(dst, `,"priceFrom":`...), slices.Min(definition.TierPrices))
	dst = append(appendSpec(dst, spec), `,"movie":`...)
	if movie, ok := s.node.Movie(spec.MovieId); ok {
		dst = appendMovie(dst, movie)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"theatre":`...)
	if theatre, ok := s.node.Theatre(definition.TheatreID); ok {
		dst = s.appendTheatre(dst, theatre)
	} else {
		dst = append(dst, "null"...)
	}
	dst = appendString(append(dst, `,"screen":{"id":`...), spec.ScreenId)
	dst = appendString(append(dst, `,"name":`...), definition.ScreenName)
	dst = appendUint(append(dst, `,"seatCount":`...), uint64(definition.Layout.Seats()))
	return append(dst, `}}`...)
}

// appendSpec writes what a client may write about a show, without braces.
func appendSpec(dst []byte, spec *wire.ShowSpec) []byte {
	dst = appendTime(append(dst, `,"startsAt":`...), fsm.Time(spec.StartsAtMs))
	dst = appendTime(append(dst, `,"endsAt":`...), fsm.Time(spec.EndsAtMs))
	dst = appendString(append(dst, `,"currency":`...), spec.Currency)
	dst = appendPricing(append(dst, `,"pricing":`...), spec.Pricing)
	dst = appendInt(append(dst, `,"holdSeconds":`...), spec.HoldSeconds)
	dst = appendUint(append(dst, `,"maxSeatsPerBooking":`...), uint64(spec.MaxSeatsPerBooking))
	dst = appendUint(append(dst, `,"maxHoldsPerUser":`...), uint64(spec.MaxHoldsPerUser))
	dst = append(dst, `,"salesOpenAt":`...)
	if spec.SalesOpenAtMs == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = appendTime(dst, fsm.Time(spec.SalesOpenAtMs))
	}
	dst = appendTime(append(dst, `,"salesCloseAt":`...), fsm.Time(spec.SalesCloseAtMs))
	dst = append(dst, `,"refundPolicy":[`...)
	for i, rule := range spec.RefundPolicy {
		dst = appendInt(append(appendComma(dst, i), `{"minutesBefore":`...), rule.MinutesBefore)
		dst = append(appendUint(append(dst, `,"percent":`...), uint64(rule.Percent)), '}')
	}
	return append(dst, ']')
}

func appendPricing(dst []byte, pricing *wire.Pricing) []byte {
	uses := pricingUses[pricing.Strategy]
	dst = appendString(append(dst, `{"strategy":`...), pricing.Strategy)
	if uses.amount {
		dst = appendInt(append(dst, `,"amount":`...), pricing.Amount)
	}
	if uses.base {
		dst = append(dst, `,"base":{`...)
		for i, base := range pricing.Base {
			dst = appendString(appendComma(dst, i), base.Tier)
			dst = appendInt(append(dst, ':'), base.Amount)
		}
		dst = append(dst, '}')
	}
	if uses.bands {
		dst = append(dst, `,"bands":[`...)
		for i, band := range pricing.Bands {
			dst = appendUint(append(appendComma(dst, i), `{"fromHour":`...), uint64(band.FromHour))
			dst = append(appendUint(append(dst, `,"percent":`...), uint64(band.Percent)), '}')
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}
