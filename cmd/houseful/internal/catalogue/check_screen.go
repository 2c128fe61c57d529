package catalogue

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

func (c *checker) screen(i int, screen *Screen) {
	c.id("screens", i, "", "id", screen.ID)
	c.needed("screens", i, screen.ID, "name", screen.Name)
	c.id("screens", i, screen.ID, "theatreId", screen.TheatreID)
	facts := &screenFacts{theatre: screen.TheatreID}
	c.screens[screen.ID] = facts
	if len(screen.Rows) == 0 {
		c.complain("screens", i, screen.ID, "rows", "a screen needs at least one row")
		return
	}
	layout, field, err := screen.wire()
	if err == nil {
		field = "rows"
		_, err = fsm.NewLayout(layout)
	}
	if err != nil {
		c.complain("screens", i, screen.ID, field, "%v", err)
		return
	}
	facts.tiers = layout.Tiers
}

// Layout is the screen's furniture as the rules see it.
func (s *Screen) Layout() (*fsm.Layout, error) {
	layout, field, err := s.wire()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return fsm.NewLayout(layout)
}

// wire puts a screen the way the rules want it. field is the one at fault.
func (s *Screen) wire() (layout *wire.Layout, field string, err error) {
	layout = &wire.Layout{}
	places := map[string]uint32{}
	for i, row := range s.Rows {
		field = fmt.Sprintf("rows[%d]", i)
		if row.Tier == "" {
			return nil, field + ".tier", fmt.Errorf("is needed")
		}
		place, known := places[row.Tier]
		if !known {
			place = uint32(len(layout.Tiers))
			places[row.Tier] = place
			layout.Tiers = append(layout.Tiers, s.tier(row.Tier))
		}
		blocks, err := meta.ParseSpans(row.Seats)
		if err != nil {
			return nil, field + ".seats", err
		}
		line := &wire.Row{Label: row.Row, Tier: place, Blocks: blocks}
		for _, text := range row.Pairs {
			pair, err := meta.ParseSpans(text)
			if err != nil || len(pair) != 1 {
				return nil, field + ".pairs", fmt.Errorf(`%q is no pair; write two neighbours such as "3-4"`, text)
			}
			line.Pairs = append(line.Pairs, pair[0])
		}
		for text, names := range row.Attributes {
			number, err := strconv.ParseUint(text, 10, 32)
			if err != nil {
				return nil, field + ".attributes", fmt.Errorf("%q is no seat's number", text)
			}
			line.Attributes = append(line.Attributes, &wire.SeatAttributes{Number: uint32(number), Names: names})
		}
		slices.SortFunc(line.Attributes, func(a, b *wire.SeatAttributes) int { return int(a.Number) - int(b.Number) })
		layout.Rows = append(layout.Rows, line)
	}
	return layout, "", nil
}

func (s *Screen) tier(name string) *wire.Tier {
	tier := &wire.Tier{Name: name, Perks: s.Tiers[name].Perks}
	if percent := s.Tiers[name].MultiplierPercent; percent != nil && *percent > 0 {
		tier.MultiplierPercent = uint32(min(*percent, fsm.PercentMax))
	}
	return tier
}
