package rest

import (
	"strconv"

	"github.com/valyala/fastjson"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

// The fields that a client may write about a screen.
var (
	screenFields = []string{"theatreId", "name", "rows", "tiers"}
	rowFields    = []string{"row", "tier", "seats", "attributes", "pairs"}
	tierFields   = []string{"multiplierPercent", "perks"}
)

func (s *Server) putScreen(c *Call) error {
	id, err := c.pathID(0)
	if err != nil {
		return err
	}
	o, err := c.body(screenFields)
	if err != nil {
		return err
	}
	screen, err := readScreen(id, &o)
	if err != nil {
		return err
	}
	return put(c, s.cfg.Node.PutScreen, screen, appendScreen)
}

func readScreen(id string, o *object) (*wire.Screen, error) {
	screen := &wire.Screen{Id: id, TheatreId: o.id("theatreId"), Name: o.text("name", meta.NameBytesMax)}
	b := newLayoutBuilder()
	o.need("rows")
	rows := o.list("rows", meta.ScreenRowsMax)
	if len(rows) == 0 {
		o.fail("rows", "needs at least one row")
	}
	for i, value := range rows {
		row := readObject(value, "rows["+strconv.Itoa(i)+"].", rowFields)
		b.addRow(&row)
		if o.adopt(&row); o.err != nil {
			return nil, o.err
		}
	}
	o.entries("tiers", meta.ScreenTiersMax, func(name string, value *fastjson.Value) {
		if name == "" || len(name) > meta.NameBytesMax {
			o.fail("tiers", "a tier's name is 1 to %d bytes", meta.NameBytesMax)
			return
		}
		tier := readObject(value, "tiers."+clip(name)+".", tierFields)
		b.describeTier(name, &tier)
		o.adopt(&tier)
	})
	if len(b.layout.Tiers) > meta.ScreenTiersMax {
		o.fail("tiers", "a screen has at most %d tiers", meta.ScreenTiersMax)
	}
	screen.Layout = &b.layout
	return screen, o.problem()
}

// describeTier reads what a screen says about one of its tiers.
func (b *layoutBuilder) describeTier(name string, o *object) {
	tier := b.layout.Tiers[b.tier(name)]
	tier.MultiplierPercent = uint32(o.optionalInteger("multiplierPercent", 0, 1, fsm.PercentMax))
	if o.has("perks") {
		tier.Perks = readNames(o, "perks", o.get("perks"), PerksPerTierMax)
	}
}

func appendScreen(dst []byte, screen *wire.Screen) []byte {
	layout := screen.Layout
	dst = appendString(append(dst, `{"id":`...), screen.Id)
	dst = appendString(append(dst, `,"theatreId":`...), screen.TheatreId)
	dst = appendString(append(dst, `,"name":`...), screen.Name)
	dst = appendUint(append(dst, `,"seatCount":`...), uint64(seatCount(layout)))
	dst = append(dst, `,"rows":[`...)
	for i, row := range layout.GetRows() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendRowFields(append(dst, '{'), layout, row), '}')
	}
	dst = append(dst, `],"tiers":{`...)
	for i, tier := range layout.GetTiers() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, tier.Name), ':', '{')
		dst = append(appendTierFields(dst, tier), '}')
	}
	return append(dst, `}}`...)
}

// appendRowFields writes a row as a client writes it, without braces.
func appendRowFields(dst []byte, layout *wire.Layout, row *wire.Row) []byte {
	dst = appendString(append(dst, `"row":`...), row.Label)
	dst = appendString(append(dst, `,"tier":`...), layout.Tiers[row.Tier].Name)
	dst = append(meta.AppendSpans(append(dst, `,"seats":"`...), row.Blocks), '"')
	for i, attribute := range row.Attributes {
		dst = append(dst, [...]string{`,"attributes":{`, `,`}[min(i, 1)]...)
		dst = append(appendUint(append(dst, '"'), uint64(attribute.Number)), '"', ':')
		dst = appendTexts(dst, attribute.Names)
	}
	if len(row.Attributes) > 0 {
		dst = append(dst, '}')
	}
	for i := range row.Pairs {
		dst = append(dst, [...]string{`,"pairs":["`, `,"`}[min(i, 1)]...)
		dst = append(meta.AppendSpan(dst, row.Pairs[i]), '"')
	}
	if len(row.Pairs) > 0 {
		dst = append(dst, ']')
	}
	return dst
}

// appendTierFields writes what a screen says about a tier, without braces.
func appendTierFields(dst []byte, tier *wire.Tier) []byte {
	if tier.MultiplierPercent > 0 {
		dst = append(appendUint(append(dst, `"multiplierPercent":`...), uint64(tier.MultiplierPercent)), ',')
	}
	return appendTexts(append(dst, `"perks":`...), tier.Perks)
}

func appendTexts(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, text)
	}
	return append(dst, ']')
}
