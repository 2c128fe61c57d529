package fsm

import (
	"encoding/binary"

	"github.com/houseful/houseful/fsm/wire"
)

// The canonical encoding is our own: fixed, so that digests and comparisons do not depend on protobuf's bytes,
// which are not stable. Integers are unsigned varints (signed ones zigzag), texts and lists carry their length.

func appendUint(dst []byte, v uint64) []byte { return binary.AppendUvarint(dst, v) }

func appendInt(dst []byte, v int64) []byte { return binary.AppendVarint(dst, v) }

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendText(dst []byte, s string) []byte { return append(appendUint(dst, uint64(len(s))), s...) }

func appendLayout(dst []byte, layout *wire.Layout) []byte {
	dst = appendUint(dst, uint64(len(layout.Tiers)))
	for _, tier := range layout.Tiers {
		dst = appendUint(appendText(dst, tier.Name), uint64(tier.MultiplierPercent))
		dst = appendUint(dst, uint64(len(tier.Perks)))
		for _, perk := range tier.Perks {
			dst = appendText(dst, perk)
		}
	}
	dst = appendUint(dst, uint64(len(layout.Rows)))
	for _, row := range layout.Rows {
		dst = appendUint(appendText(dst, row.Label), uint64(row.Tier))
		dst = appendSpans(dst, row.Blocks)
		dst = appendUint(dst, uint64(len(row.Attributes)))
		for _, attribute := range row.Attributes {
			dst = appendUint(dst, uint64(attribute.Number))
			dst = appendUint(dst, uint64(len(attribute.Names)))
			for _, name := range attribute.Names {
				dst = appendText(dst, name)
			}
		}
		dst = appendSpans(dst, row.Pairs)
	}
	return dst
}

func appendSpans(dst []byte, spans []*wire.Span) []byte {
	dst = appendUint(dst, uint64(len(spans)))
	for _, span := range spans {
		dst = appendUint(appendUint(dst, uint64(span.First)), uint64(span.Last))
	}
	return dst
}

func appendPricing(dst []byte, p *wire.Pricing) []byte {
	dst = appendInt(appendText(dst, p.GetStrategy()), p.GetAmount())
	dst = appendUint(dst, uint64(len(p.GetBase())))
	for _, base := range p.GetBase() {
		dst = appendInt(appendText(dst, base.Tier), base.Amount)
	}
	dst = appendUint(dst, uint64(len(p.GetBands())))
	for _, band := range p.GetBands() {
		dst = appendUint(appendUint(dst, uint64(band.FromHour)), uint64(band.Percent))
	}
	return dst
}

func appendSpec(dst []byte, s *wire.ShowSpec) []byte {
	dst = appendText(appendText(dst, s.MovieId), s.ScreenId)
	dst = appendInt(appendInt(dst, s.StartsAtMs), s.EndsAtMs)
	dst = appendPricing(appendText(dst, s.Currency), s.Pricing)
	dst = appendInt(dst, s.HoldSeconds)
	dst = appendUint(appendUint(dst, uint64(s.MaxSeatsPerBooking)), uint64(s.MaxHoldsPerUser))
	dst = appendInt(appendInt(dst, s.SalesOpenAtMs), s.SalesCloseAtMs)
	dst = appendUint(dst, uint64(len(s.RefundPolicy)))
	for _, rule := range s.RefundPolicy {
		dst = appendUint(appendInt(dst, rule.MinutesBefore), uint64(rule.Percent))
	}
	return dst
}

func appendDefinition(dst []byte, d *Definition) []byte {
	dst = appendText(appendSpec(dst, d.Spec), d.Layout.key)
	dst = appendUint(dst, uint64(len(d.TierPrices)))
	for _, price := range d.TierPrices {
		dst = appendInt(dst, price)
	}
	for _, text := range []string{d.MovieTitle, d.TheatreID, d.TheatreName, d.ScreenName, d.CityID, d.TimeZone} {
		dst = appendText(dst, text)
	}
	return dst
}
