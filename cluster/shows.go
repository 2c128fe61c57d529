package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

// ShowRequest is what a client writes about a show. A nil pointer or a zero time takes the default.
type ShowRequest struct {
	MovieID            string
	ScreenID           string
	StartsAt           fsm.Time
	EndsAt             fsm.Time // default: start + the movie's duration
	Currency           string   // ISO 4217
	Pricing            *wire.Pricing
	HoldSeconds        *int64             // default 420
	MaxSeatsPerBooking *int64             // default 10
	MaxHoldsPerUser    *int64             // default 4
	SalesOpenAt        fsm.Time           // default: open from the start
	SalesCloseAt       fsm.Time           // default: StartsAt
	RefundPolicy       []*wire.RefundRule // nil: 100 % to 120 min, 50 % to 20 min; empty: no refunds. In any order
}

// PutShow creates a show or replaces what may be replaced. It resolves layout, prices and names from the catalogue,
// lets the show's shard decide, and returns when the catalogue lists the show as well. A show that the shard accepted
// and the catalogue could not list in time is ErrUnknown: the browse loop brings it there later.
//
// Errors: those of commands, and ErrMovieNotFound or ErrScreenNotFound. A bad request is CodeInvalid.
func (n *Node) PutShow(id fsm.ShowID, request ShowRequest) (*fsm.Result, error) {
	shards, deadline, err := n.begin()
	if err != nil {
		return nil, err
	}
	defer n.inside.leave()
	if !meta.ValidID(string(id)) {
		return n.invalidShow("showId: is 1 to 64 characters of A-Z a-z 0-9 . _ ~ -"), nil
	}
	s := shardOfShow(shards, string(id))
	definition, err := n.resolveShow(&request, s.definition(id))
	if err != nil {
		if isReference(err) {
			return nil, err
		}
		return n.invalidShow(err.Error()), nil
	}
	put := &wire.PutShow{ShowId: string(id), Definition: definition}
	result, err := n.decide(s, drawCommandID(), fieldPutShow, put, deadline)
	if err != nil || result.Code != fsm.CodeOK {
		return result, err
	}
	item := fsm.BrowseItem{Show: id, Revision: result.Show.Revision, Definition: result.Show.Definition}
	if err := n.list(item, deadline); err != nil {
		n.logger.Warn("a show is not in the catalogue yet", "show", id, "error", err)
		return nil, fmt.Errorf("list show %s: %w", id, ErrUnknown)
	}
	s.wakeBrowse()
	return result, nil
}

// invalidShow answers an error whose text is "field: reason", or a reason alone.
func (n *Node) invalidShow(text string) *fsm.Result {
	field, reason, found := strings.Cut(text, ": ")
	if !found {
		field, reason = "", text
	}
	return &fsm.Result{Code: fsm.CodeInvalid, Field: field, Reason: reason, Now: n.clock.Now()}
}

// definition gives a show's definition as this replica has it; nil for a show that is not there.
func (s *dataShard) definition(id fsm.ShowID) *fsm.Definition {
	var definition *fsm.Definition
	s.group.Read(func() {
		if show, ok := s.machine.Show(id, 0); ok {
			definition = show.Definition
		}
	})
	return definition
}

// resolveShow makes a definition out of a request and the catalogue here: defaults, layout, prices, names. A show that
// exists keeps its layout unless the request names another screen, and its prices unless screen, currency or pricing
// change: what has happened to the screen since does not matter to it.
func (n *Node) resolveShow(request *ShowRequest, existing *fsm.Definition) (*wire.ShowDefinition, error) {
	var movie *wire.Movie
	var screen *wire.Screen
	var theatre *wire.Theatre
	var city *wire.City
	n.readMeta(func(m *meta.Machine) {
		movie, _ = m.Movie(request.MovieID)
		screen, _ = m.Screen(request.ScreenID)
		theatre, _ = m.Theatre(screen.GetTheatreId())
		city, _ = m.City(theatre.GetCityId())
	})
	switch {
	case movie == nil:
		return nil, ErrMovieNotFound
	case screen == nil:
		return nil, ErrScreenNotFound
	case theatre == nil || city == nil:
		return nil, fmt.Errorf("screenId: its theatre or city is not in the catalogue")
	}
	spec, err := request.spec(movie)
	if err != nil {
		return nil, err
	}
	if err := fsm.CheckSpec(spec); err != nil {
		return nil, err
	}
	definition := &wire.ShowDefinition{
		Spec: spec, MovieTitle: movie.Title, TheatreId: theatre.Id, TheatreName: theatre.Name, ScreenName: screen.Name,
		CityId: city.Id, TimeZone: city.TimeZone,
	}
	if existing != nil && fsm.SameSale(existing.Spec, spec) {
		definition.Layout, definition.TierPrices = existing.Layout.Wire(), existing.TierPrices
	} else {
		definition.Layout = layoutOfShow(screen.Layout)
		if existing != nil && existing.Spec.ScreenId == spec.ScreenId {
			definition.Layout = existing.Layout.Wire()
		}
		if err := priceShow(definition); err != nil {
			return nil, err
		}
	}
	if _, err := fsm.NewDefinition(definition); err != nil {
		return nil, err
	}
	return definition, nil
}

// priceShow gives a definition the prices of its tiers.
func priceShow(definition *wire.ShowDefinition) error {
	zone, err := time.LoadLocation(definition.TimeZone)
	if err != nil {
		return fmt.Errorf("screenId: the time zone of city %s: %w", definition.CityId, err)
	}
	localHour := fsm.Time(definition.Spec.StartsAtMs).Std().In(zone).Hour()
	definition.TierPrices, err = fsm.ResolvePrices(definition.Spec.Pricing, definition.Layout.Tiers, localHour)
	return err
}

// spec fills in the defaults and puts lists into their order.
func (request *ShowRequest) spec(movie *wire.Movie) (*wire.ShowSpec, error) {
	spec := &wire.ShowSpec{
		MovieId: request.MovieID, ScreenId: request.ScreenID, StartsAtMs: int64(request.StartsAt),
		EndsAtMs: int64(request.EndsAt), Currency: request.Currency, HoldSeconds: HoldSecondsDefault,
		MaxSeatsPerBooking: SeatsPerBookingDefault, MaxHoldsPerUser: HoldsPerUserDefault,
		SalesOpenAtMs: int64(request.SalesOpenAt), SalesCloseAtMs: int64(request.SalesCloseAt),
		RefundPolicy: request.RefundPolicy,
	}
	if spec.EndsAtMs == 0 {
		spec.EndsAtMs = int64(request.StartsAt.Add(time.Duration(movie.DurationMinutes) * time.Minute))
	}
	if spec.SalesCloseAtMs == 0 {
		spec.SalesCloseAtMs = spec.StartsAtMs
	}
	if request.HoldSeconds != nil {
		spec.HoldSeconds = *request.HoldSeconds
	}
	for _, number := range []struct {
		given *int64
		spec  *uint32
	}{
		{request.MaxSeatsPerBooking, &spec.MaxSeatsPerBooking}, {request.MaxHoldsPerUser, &spec.MaxHoldsPerUser},
	} {
		if number.given != nil {
			*number.spec = uint32(min(max(*number.given, 0), math.MaxUint32)) // out of range stays out of range
		}
	}
	if spec.RefundPolicy == nil {
		spec.RefundPolicy = []*wire.RefundRule{{MinutesBefore: 120, Percent: 100}, {MinutesBefore: 20, Percent: 50}}
	}
	spec.RefundPolicy = slices.SortedFunc(slices.Values(spec.RefundPolicy), func(a, b *wire.RefundRule) int {
		return cmp.Compare(b.MinutesBefore, a.MinutesBefore)
	})
	if request.Pricing == nil {
		return nil, fmt.Errorf("pricing: is needed")
	}
	spec.Pricing = sortedPricing(request.Pricing)
	return spec, checkPricingOnce(spec.Pricing)
}

// sortedPricing puts tiers and bands into the order of the log, so that the same request is the same show.
func sortedPricing(given *wire.Pricing) *wire.Pricing {
	pricing := proto.CloneOf(given)
	slices.SortFunc(pricing.Base, func(a, b *wire.TierAmount) int { return strings.Compare(a.Tier, b.Tier) })
	slices.SortFunc(pricing.Bands, func(a, b *wire.TimeBand) int { return cmp.Compare(b.FromHour, a.FromHour) })
	return pricing
}

// checkPricingOnce refuses a tier or an hour that comes twice: which of them would count?
func checkPricingOnce(pricing *wire.Pricing) error {
	for i := 1; i < len(pricing.Base); i++ {
		if pricing.Base[i].Tier == pricing.Base[i-1].Tier {
			return fmt.Errorf("pricing.base: tier %s comes twice", pricing.Base[i].Tier)
		}
	}
	for i := 1; i < len(pricing.Bands); i++ {
		if pricing.Bands[i].FromHour == pricing.Bands[i-1].FromHour {
			return fmt.Errorf("pricing.bands: fromHour %d comes twice", pricing.Bands[i].FromHour)
		}
	}
	return nil
}

// layoutOfShow is a screen's layout without the tiers that no row has: they would need a price.
func layoutOfShow(screen *wire.Layout) *wire.Layout {
	layout := proto.CloneOf(screen)
	place := make(map[uint32]uint32, len(layout.Tiers))
	layout.Tiers = nil
	for _, row := range layout.Rows {
		used, known := place[row.Tier]
		if !known {
			used = uint32(len(layout.Tiers))
			place[row.Tier] = used
			layout.Tiers = append(layout.Tiers, proto.CloneOf(screen.Tiers[row.Tier]))
		}
		row.Tier = used
	}
	return layout
}
