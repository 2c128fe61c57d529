package fsm

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/houseful/houseful/fsm/wire"
)

// PriceMax is the highest price of a seat in minor units. A booking of SeatsPerBookingMax seats at this price, times
// a percentage, stays far inside 63 bits.
const PriceMax = 1_000_000_000_000

// PercentMax bounds a multiplier or a band's percentage.
const PercentMax = 10_000

// The pricing strategies (M-7).
const (
	PricingFlat       = "flat"
	PricingTier       = "tier"
	PricingTierTime   = "tier_time"
	PricingMultiplier = "multiplier"
)

// ResolvePrices gives the price of each tier of a layout, rounded down. localHour is the hour of the show's start
// in its own time zone, 0 to 23. The error names the field of the request.
func ResolvePrices(p *wire.Pricing, tiers []*wire.Tier, localHour int) ([]int64, error) {
	if err := checkPricing(p); err != nil {
		return nil, err
	}
	prices := make([]int64, len(tiers))
	for i, tier := range tiers {
		price, err := tierPrice(p, tier, localHour)
		if err != nil {
			return nil, err
		}
		if price < 0 || price > PriceMax {
			return nil, fmt.Errorf("pricing: tier %s comes to %d; a price is 0 to %d minor units", tier.Name, price, int64(PriceMax))
		}
		prices[i] = price
	}
	return prices, nil
}

func tierPrice(p *wire.Pricing, tier *wire.Tier, localHour int) (int64, error) {
	switch p.GetStrategy() {
	case PricingFlat:
		return p.Amount, nil
	case PricingTier:
		return baseAmount(p, tier.Name)
	case PricingTierTime:
		amount, err := baseAmount(p, tier.Name)
		if err != nil {
			return 0, err
		}
		for _, band := range p.Bands { // descending: the greatest fromHour that has begun
			if int(band.FromHour) <= localHour {
				return percentOf(amount, band.Percent), nil
			}
		}
		return 0, fmt.Errorf("pricing.bands: no band covers hour %d; give one with fromHour 0", localHour)
	case PricingMultiplier:
		if tier.MultiplierPercent == 0 { // a tier for which the screen says nothing is a standard one
			return p.Amount, nil
		}
		return percentOf(p.Amount, tier.MultiplierPercent), nil
	}
	return 0, fmt.Errorf("pricing.strategy: %q is not one of flat, tier, tier_time, multiplier", p.GetStrategy())
}

func baseAmount(p *wire.Pricing, tier string) (int64, error) {
	for _, base := range p.Base {
		if base.Tier == tier {
			return base.Amount, nil
		}
	}
	return 0, fmt.Errorf("pricing.base: no amount for tier %s", tier)
}

// percentOf is floor(amount × percent / 100), at most the greatest int64; amount is not negative.
func percentOf(amount int64, percent uint32) int64 {
	assert(amount >= 0, "a percentage of a negative amount")
	high, low := bits.Mul64(uint64(amount), uint64(percent))
	if high >= 100 {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, 100)
	return int64(min(quotient, math.MaxInt64))
}

// CheckSpec checks what a client may write about a show, defaults filled in. The error starts with the field.
func CheckSpec(s *wire.ShowSpec) error {
	if s == nil {
		return fmt.Errorf("a show needs a specification")
	}
	switch {
	case s.StartsAtMs <= 0:
		return fmt.Errorf("startsAt: is needed")
	case s.EndsAtMs <= s.StartsAtMs:
		return fmt.Errorf("endsAt: must be after startsAt")
	case s.EndsAtMs > int64(TimeMax):
		return fmt.Errorf("endsAt: is at most the end of the year 9999")
	case s.HoldSeconds < 1 || s.HoldSeconds > HoldSecondsMax:
		return fmt.Errorf("holdSeconds: is 1 to %d", HoldSecondsMax)
	case s.MaxSeatsPerBooking < 1 || s.MaxSeatsPerBooking > SeatsPerBookingMax:
		return fmt.Errorf("maxSeatsPerBooking: is 1 to %d", SeatsPerBookingMax)
	case s.MaxHoldsPerUser < 1 || s.MaxHoldsPerUser > HoldsPerUserMax:
		return fmt.Errorf("maxHoldsPerUser: is 1 to %d", HoldsPerUserMax)
	case s.SalesCloseAtMs <= s.SalesOpenAtMs:
		return fmt.Errorf("salesCloseAt: must be after salesOpenAt")
	case !validCurrency(s.Currency):
		return fmt.Errorf("currency: is three capital letters (ISO 4217)")
	}
	for i, rule := range s.RefundPolicy {
		if rule.Percent > 100 || rule.MinutesBefore < 0 || rule.MinutesBefore > 525_600 {
			return fmt.Errorf("refundPolicy: percent is 0 to 100, minutesBefore 0 to 525600")
		}
		if i > 0 && rule.MinutesBefore >= s.RefundPolicy[i-1].MinutesBefore {
			return fmt.Errorf("refundPolicy: minutesBefore %d comes twice", rule.MinutesBefore)
		}
	}
	return checkPricing(s.Pricing)
}

func checkPricing(p *wire.Pricing) error {
	if p == nil {
		return fmt.Errorf("pricing: is needed")
	}
	if p.Amount < 0 || p.Amount > PriceMax {
		return fmt.Errorf("pricing.amount: is 0 to %d minor units", int64(PriceMax))
	}
	for _, base := range p.Base {
		if base.Amount < 0 || base.Amount > PriceMax {
			return fmt.Errorf("pricing.base.%s: is 0 to %d minor units", base.Tier, int64(PriceMax))
		}
	}
	for _, band := range p.Bands {
		if band.FromHour > 23 || band.Percent > PercentMax {
			return fmt.Errorf("pricing.bands: fromHour is 0 to 23, percent 0 to %d", PercentMax)
		}
	}
	return nil
}

func validCurrency(currency string) bool {
	if len(currency) != 3 {
		return false
	}
	for _, c := range []byte(currency) {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return true
}
