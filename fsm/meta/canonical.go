package meta

import (
	"encoding/binary"

	"github.com/houseful/houseful/fsm/wire"
)

// The canonical encoding is our own: fixed, so that digests and comparisons do not depend on protobuf's bytes, which
// are not stable. Unsigned integers are varints, signed ones zigzag varints; texts and lists carry their length.

func appendUint[T ~uint32 | ~uint64 | ~int](dst []byte, v T) []byte {
	return binary.AppendUvarint(dst, uint64(v))
}

func appendInt(dst []byte, v int64) []byte { return binary.AppendVarint(dst, v) }

func appendTexts(dst []byte, texts ...string) []byte {
	for _, text := range texts {
		dst = append(appendUint(dst, len(text)), text...)
	}
	return dst
}

func appendBirth(dst []byte, b *wire.Birth) []byte {
	dst = appendTexts(dst, b.ClusterId)
	dst = appendUint(appendUint(dst, b.ShardCount), b.FeatureVersion)
	dst = appendUint(dst, len(b.Nodes))
	for _, node := range b.Nodes {
		dst = appendNode(dst, node)
	}
	dst = appendUint(dst, len(b.Groups))
	for _, group := range b.Groups {
		dst = appendUint(appendTexts(dst, group.Group), len(group.Voters))
		for _, voter := range group.Voters {
			dst = appendTexts(appendUint(dst, voter.Number), voter.NodeId, voter.DataUuid)
		}
	}
	return dst
}

func appendNode(dst []byte, n *wire.Node) []byte {
	return appendTexts(dst, n.Id, n.DataUuid, n.Zone, n.HttpAddress, n.PeerAddress)
}

func appendCity(dst []byte, c *wire.City) []byte {
	return appendTexts(dst, c.Id, c.Name, c.State, c.TimeZone)
}

func appendMovie(dst []byte, m *wire.Movie) []byte {
	dst = appendUint(appendTexts(dst, m.Id, m.Title, m.Language, m.Genre), m.DurationMinutes)
	if m.RatingHundredths == nil {
		return append(dst, 0)
	}
	return appendUint(append(dst, 1), *m.RatingHundredths)
}

func appendTheatre(dst []byte, t *wire.Theatre) []byte {
	return appendTexts(dst, t.Id, t.Name, t.CityId, t.Address)
}

func appendScreen(dst []byte, s *wire.Screen) []byte {
	dst = appendTexts(dst, s.Id, s.TheatreId, s.Name)
	dst = appendUint(dst, len(s.Layout.GetTiers()))
	for _, tier := range s.Layout.GetTiers() {
		dst = appendUint(appendTexts(dst, tier.Name), tier.MultiplierPercent)
		dst = appendTexts(appendUint(dst, len(tier.Perks)), tier.Perks...)
	}
	dst = appendUint(dst, len(s.Layout.GetRows()))
	for _, row := range s.Layout.GetRows() {
		dst = appendUint(appendTexts(dst, row.Label), row.Tier)
		dst = appendCanonicalSpans(dst, row.Blocks)
		dst = appendUint(dst, len(row.Attributes))
		for _, attributes := range row.Attributes {
			dst = appendUint(appendUint(dst, attributes.Number), len(attributes.Names))
			dst = appendTexts(dst, attributes.Names...)
		}
		dst = appendCanonicalSpans(dst, row.Pairs)
	}
	return dst
}

func appendCanonicalSpans(dst []byte, spans []*wire.Span) []byte {
	dst = appendUint(dst, len(spans))
	for _, span := range spans {
		dst = appendUint(appendUint(dst, span.First), span.Last)
	}
	return dst
}

func appendShowEntry(dst []byte, e *wire.ShowEntry) []byte {
	dst = appendUint(appendTexts(dst, e.ShowId), e.Revision)
	dst = appendTexts(dst, e.CityId, e.TheatreId, e.ScreenId, e.MovieId)
	dst = appendInt(appendInt(appendUint(dst, e.LocalDate), e.StartsAtMs), e.EndsAtMs)
	return appendTexts(appendInt(dst, e.PriceFrom), e.Currency, e.MovieTitle, e.TheatreName, e.ScreenName, e.TimeZone)
}

func appendAnswer(dst []byte, a answer) []byte {
	dst = append(dst, a.id[:]...)
	dst = appendUint(appendInt(dst, int64(a.keptUntil)), uint32(a.result.Code))
	for _, flag := range []bool{a.result.Created, a.result.Changed} {
		if flag {
			dst = append(dst, 1)
		} else {
			dst = append(dst, 0)
		}
	}
	return appendInt(appendTexts(dst, a.result.Field, a.result.Reason), int64(a.result.Now))
}
