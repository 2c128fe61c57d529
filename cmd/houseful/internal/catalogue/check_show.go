package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

func (c *checker) show(i int, show *Show) {
	c.id("shows", i, "", "id", show.ID)
	c.id("shows", i, show.ID, "movieId", show.MovieID)
	c.id("shows", i, show.ID, "screenId", show.ScreenID)
	complain := func(err error) {
		// The rules put the field first: "pricing.base: no amount for tier GOLD".
		field, message, found := strings.Cut(err.Error(), ": ")
		if !found {
			field, message = "", err.Error()
		}
		c.complain("shows", i, show.ID, field, "%s", message)
	}
	spec, starts, err := c.spec(show)
	if err == nil {
		err = fsm.CheckSpec(spec)
	}
	if err != nil {
		complain(err)
		return
	}
	screen := c.screens[show.ScreenID]
	if screen == nil || screen.tiers == nil {
		return
	}
	if zone := c.zones[c.cities[screen.theatre]]; zone != nil {
		if _, err := fsm.ResolvePrices(spec.Pricing, screen.tiers, starts.In(zone).Hour()); err != nil {
			complain(err)
		}
	}
}

// spec puts a show the way the rules want it. Errors start with the field.
func (c *checker) spec(show *Show) (*wire.ShowSpec, time.Time, error) {
	if show.StartsAt == "" {
		return nil, time.Time{}, fmt.Errorf("startsAt: is needed")
	}
	starts, err := parseTime("startsAt", show.StartsAt)
	if err != nil {
		return nil, starts, err
	}
	ends := starts.Add(max(c.durations[show.MovieID], time.Minute))
	if show.EndsAt != "" {
		if ends, err = parseTime("endsAt", show.EndsAt); err != nil {
			return nil, starts, err
		}
	}
	opens, closes := time.UnixMilli(0), starts
	if show.SalesOpenAt != "" {
		if opens, err = parseTime("salesOpenAt", show.SalesOpenAt); err != nil {
			return nil, starts, err
		}
	}
	if show.SalesCloseAt != "" {
		if closes, err = parseTime("salesCloseAt", show.SalesCloseAt); err != nil {
			return nil, starts, err
		}
	}
	pricing, err := show.Pricing.wire()
	if err != nil {
		return nil, starts, err
	}
	spec := &wire.ShowSpec{
		MovieId: show.MovieID, ScreenId: show.ScreenID, StartsAtMs: starts.UnixMilli(), EndsAtMs: ends.UnixMilli(),
		Currency: show.Currency, Pricing: pricing, HoldSeconds: or(show.HoldSeconds, 420),
		SalesOpenAtMs: opens.UnixMilli(), SalesCloseAtMs: closes.UnixMilli(),
		MaxSeatsPerBooking: bounded(or(show.MaxSeatsPerBooking, 10)), MaxHoldsPerUser: bounded(or(show.MaxHoldsPerUser, 4)),
	}
	for _, rule := range show.RefundPolicy {
		spec.RefundPolicy = append(spec.RefundPolicy, &wire.RefundRule{
			MinutesBefore: rule.MinutesBefore, Percent: bounded(int64(rule.Percent)),
		})
	}
	slices.SortFunc(spec.RefundPolicy, func(a, b *wire.RefundRule) int { return int(b.MinutesBefore - a.MinutesBefore) })
	return spec, starts, nil
}

func (p *Pricing) wire() (*wire.Pricing, error) {
	pricing := &wire.Pricing{Strategy: p.Strategy, Amount: or(p.Amount, 0)}
	switch p.Strategy {
	case fsm.PricingFlat, fsm.PricingMultiplier:
		if p.Amount == nil {
			return nil, fmt.Errorf("pricing.amount: is needed for strategy %s", p.Strategy)
		}
	case fsm.PricingTier, fsm.PricingTierTime:
		if len(p.Base) == 0 {
			return nil, fmt.Errorf("pricing.base: is needed for strategy %s", p.Strategy)
		}
	case "":
		return nil, fmt.Errorf("pricing.strategy: is needed: flat, tier, tier_time or multiplier")
	default:
		return nil, fmt.Errorf("pricing.strategy: %q is not one of flat, tier, tier_time, multiplier", p.Strategy)
	}
	for tier, amount := range p.Base {
		pricing.Base = append(pricing.Base, &wire.TierAmount{Tier: tier, Amount: amount})
	}
	slices.SortFunc(pricing.Base, func(a, b *wire.TierAmount) int { return strings.Compare(a.Tier, b.Tier) })
	for _, band := range p.Bands {
		pricing.Bands = append(pricing.Bands, &wire.TimeBand{
			FromHour: bounded(int64(band.FromHour)), Percent: bounded(int64(band.Percent)),
		})
	}
	slices.SortFunc(pricing.Bands, func(a, b *wire.TimeBand) int { return int(b.FromHour) - int(a.FromHour) })
	return pricing, nil
}

func parseTime(field, text string) (time.Time, error) {
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return parsed, fmt.Errorf("%s: %q is no RFC 3339 time; for example 2026-12-01T18:00:00+05:30", field, text)
	}
	return parsed, nil
}

func or(value *int64, fallback int64) int64 {
	if value == nil {
		return fallback
	}
	return *value
}

// bounded fits a number into the rules' unsigned ones; what does not fit becomes a value that every rule refuses.
func bounded(value int64) uint32 {
	if value < 0 || value > 1<<31 {
		return 1 << 31
	}
	return uint32(value)
}
