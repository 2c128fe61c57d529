package meta

import (
	"strconv"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// MetaGroup is the name of the meta group.
const MetaGroup = "meta"

// The checks look at one object by itself; nil means that it is fine. They are part of the rules: what they refuse,
// every replica refuses. What needs the world outside (does a time zone exist?) is checked before the log.

// CheckCity checks a city.
func CheckCity(c *wire.City) *Result {
	switch {
	case !ValidID(c.Id):
		return invalid("id", "is 1 to 64 characters of A-Z a-z 0-9 . _ ~ -")
	case c.Name == "" || !validText(c.Name, NameBytesMax):
		return invalid("name", "is 1 to 256 bytes of text")
	case !validText(c.State, NameBytesMax):
		return invalid("state", "is at most 256 bytes of text")
	case c.TimeZone == "" || !validText(c.TimeZone, NameBytesMax):
		return invalid("timeZone", "is an IANA time zone such as Asia/Kolkata")
	}
	return nil
}

// CheckMovie checks a movie.
func CheckMovie(movie *wire.Movie) *Result {
	switch {
	case !ValidID(movie.Id):
		return invalid("id", "is 1 to 64 characters of A-Z a-z 0-9 . _ ~ -")
	case movie.Title == "" || !validText(movie.Title, NameBytesMax):
		return invalid("title", "is 1 to 256 bytes of text")
	case !validText(movie.Language, NameBytesMax):
		return invalid("language", "is at most 256 bytes of text")
	case !validText(movie.Genre, NameBytesMax):
		return invalid("genre", "is at most 256 bytes of text")
	case movie.DurationMinutes < 1 || movie.DurationMinutes > DurationMinutesMax:
		return invalid("durationMinutes", "is 1 to "+strconv.Itoa(DurationMinutesMax))
	case movie.GetRatingHundredths() > RatingHundredthsMax:
		return invalid("rating", "is 0 to 10")
	}
	return nil
}

// CheckTheatre checks a theatre by itself.
func CheckTheatre(t *wire.Theatre) *Result {
	switch {
	case !ValidID(t.Id):
		return invalid("id", "is 1 to 64 characters of A-Z a-z 0-9 . _ ~ -")
	case t.Name == "" || !validText(t.Name, NameBytesMax):
		return invalid("name", "is 1 to 256 bytes of text")
	case !ValidID(t.CityId):
		return invalid("cityId", "is the id of a city")
	case !validText(t.Address, AddressBytesMax):
		return invalid("address", "is at most 1024 bytes of text")
	}
	return nil
}

// CheckScreen checks a screen by itself. It looks only at the frame of the layout; fsm.NewLayout checks the seats
// before the log.
func CheckScreen(s *wire.Screen) *Result {
	switch {
	case !ValidID(s.Id):
		return invalid("id", "is 1 to 64 characters of A-Z a-z 0-9 . _ ~ -")
	case !ValidID(s.TheatreId):
		return invalid("theatreId", "is the id of a theatre")
	case s.Name == "" || !validText(s.Name, NameBytesMax):
		return invalid("name", "is 1 to 256 bytes of text")
	case s.Layout == nil || len(s.Layout.Rows) < 1 || len(s.Layout.Rows) > ScreenRowsMax:
		return invalid("rows", "are 1 to "+strconv.Itoa(ScreenRowsMax))
	case len(s.Layout.Tiers) > ScreenTiersMax:
		return invalid("tiers", "are at most "+strconv.Itoa(ScreenTiersMax))
	}
	for _, tier := range s.Layout.Tiers {
		if tier.Name == "" || !validText(tier.Name, NameBytesMax) {
			return invalid("tiers", "a tier's name is 1 to 256 bytes of text")
		}
		for _, perk := range tier.Perks {
			if !validText(perk, NameBytesMax) {
				return invalid("tiers", "a perk is at most 256 bytes of text")
			}
		}
	}
	for _, row := range s.Layout.Rows {
		if int(row.Tier) >= len(s.Layout.Tiers) {
			return invalid("rows", "a row names a tier that is not there")
		}
		if !validText(row.Label, NameBytesMax) {
			return invalid("rows", "a row's label is text")
		}
		for _, attributes := range row.Attributes {
			for _, name := range attributes.Names {
				if !validText(name, NameBytesMax) {
					return invalid("rows", "an attribute is at most 256 bytes of text")
				}
			}
		}
	}
	return nil
}

func checkShowEntry(e *wire.ShowEntry) *Result {
	for _, id := range []struct{ field, id string }{
		{"showId", e.ShowId}, {"cityId", e.CityId}, {"theatreId", e.TheatreId}, {"screenId", e.ScreenId}, {"movieId", e.MovieId},
	} {
		if !ValidID(id.id) {
			return invalid(id.field, "is 1 to 64 characters of A-Z a-z 0-9 . _ ~ -")
		}
	}
	for _, text := range []struct{ field, text string }{
		{"movieTitle", e.MovieTitle}, {"theatreName", e.TheatreName}, {"screenName", e.ScreenName}, {"timeZone", e.TimeZone},
	} {
		if !validText(text.text, NameBytesMax) {
			return invalid(text.field, "is at most 256 bytes of text")
		}
	}
	switch {
	case e.Revision == 0:
		return invalid("revision", "starts at 1")
	case !Date(e.LocalDate).valid():
		return invalid("localDate", "is a date such as 20261201")
	case e.StartsAtMs <= 0 || e.EndsAtMs <= e.StartsAtMs:
		return invalid("endsAt", "is after startsAt")
	case e.PriceFrom < 0 || e.PriceFrom > fsm.PriceMax:
		return invalid("priceFrom", "is not a price")
	case len(e.Currency) != 3 || !validText(e.Currency, 3):
		return invalid("currency", "is three letters")
	}
	return nil
}

func checkNode(n *wire.Node) *Result {
	switch {
	case !ValidID(n.Id):
		return invalid("node.id", "is 1 to 64 characters of A-Z a-z 0-9 . _ ~ -")
	case !ValidID(n.DataUuid):
		return invalid("node.dataUuid", "is the id of a data directory")
	case n.Zone != "" && !ValidID(n.Zone):
		return invalid("node.zone", "is up to 64 characters of A-Z a-z 0-9 . _ ~ -")
	case !validText(n.HttpAddress, AddressBytesMax) || !validText(n.PeerAddress, AddressBytesMax):
		return invalid("node.address", "is at most 1024 bytes of text")
	}
	return nil
}

// checkBirth checks that the record names every group once, in order, with voters that are nodes of the record.
func checkBirth(b *wire.Birth) *Result {
	switch {
	case !ValidID(b.ClusterId):
		return invalid("clusterId", "is 1 to 64 characters of A-Z a-z 0-9 . _ ~ -")
	case b.ShardCount < 1 || b.ShardCount > ShardsMax:
		return invalid("shardCount", "is 1 to "+strconv.Itoa(ShardsMax))
	case b.FeatureVersion < 1:
		return invalid("featureVersion", "starts at 1")
	case len(b.Nodes) < 1 || len(b.Nodes) > NodesMax:
		return invalid("nodes", "are 1 to "+strconv.Itoa(NodesMax))
	case len(b.Groups) != int(b.ShardCount)+1:
		return invalid("groups", "are meta and every shard")
	}
	homes := map[string]string{}
	for i, node := range b.Nodes {
		if refusal := checkNode(node); refusal != nil {
			return refusal
		}
		if i > 0 && node.Id <= b.Nodes[i-1].Id {
			return invalid("nodes", "are in the order of their ids, each once")
		}
		homes[node.Id] = node.DataUuid
	}
	numbers := map[uint64]bool{}
	for i, group := range b.Groups {
		name := MetaGroup
		if i > 0 {
			name = strconv.Itoa(i - 1)
		}
		if group.Group != name || len(group.Voters) < 1 || len(group.Voters) > VotersMax {
			return invalid("groups", "are meta and every shard in order, each with voters")
		}
		if refusal := checkVoters(group.Voters, homes, numbers); refusal != nil {
			return refusal
		}
	}
	return nil
}

func checkVoters(voters []*wire.Replica, homes map[string]string, numbers map[uint64]bool) *Result {
	nodes := map[string]bool{}
	for _, voter := range voters {
		home, known := homes[voter.NodeId]
		switch {
		case !known || home != voter.DataUuid:
			return invalid("groups", "a voter is on a node of the record")
		case voter.Number == 0 || numbers[voter.Number]:
			return invalid("groups", "a replica's number starts at 1 and comes once")
		case voter.Number > 1<<32:
			return invalid("groups", "a replica's number is too great")
		case nodes[voter.NodeId]:
			return invalid("groups", "a node has one replica of a group")
		}
		nodes[voter.NodeId], numbers[voter.Number] = true, true
	}
	return nil
}
