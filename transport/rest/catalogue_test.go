package rest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fastjson"
	"google.golang.org/protobuf/proto"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

// parseBody reads a body as a call does.
func parseBody(body []byte, fields []string) (*object, error) {
	if err := checkJSON(body); err != nil {
		return nil, err
	}
	value, err := fastjson.ParseBytes(body)
	if err != nil {
		return nil, err
	}
	o := readObject(value, "", fields)
	return &o, o.problem()
}

// read parses a body and reads it with one of the readers of the catalogue.
func read[T any](body string, fields []string, reader func(*object) (T, error)) (T, error) {
	o, err := parseBody([]byte(body), fields)
	if err != nil {
		var none T
		return none, err
	}
	return reader(o)
}

func screenReader(o *object) (*wire.Screen, error) { return readScreen("S", o) }

// fieldOf gives the field that an error names.
func fieldOf(err error) string {
	var refusal *apiError
	if !errors.As(err, &refusal) {
		return ""
	}
	field, _, _ := strings.Cut(refusal.message, ": ")
	return field
}

const (
	screenBody = `{"theatreId":"TH-1","name":"Screen 2","rows":[{"row":"A","tier":"SILVER","seats":"1-4,5-8"},` +
		`{"row":"E","tier":"RECLINER","seats":"1-8, 10","attributes":{"2":["companion"],"1":["wheelchair"]},"pairs":["5-6","3-4"]}],` +
		`"tiers":{"RECLINER":{"multiplierPercent":200,"perks":["160° recline"]},"BOX":{}}}`
	showBody = `{"movieId":"MV-1","screenId":"SCR-2","startsAt":"2026-12-01T18:00:00+05:30","currency":"INR",` +
		`"pricing":{"strategy":"tier_time","base":{"SILVER":15000,"GOLD":18000},"bands":[{"fromHour":0,"percent":90},{"fromHour":18,"percent":130}]},` +
		`"holdSeconds":420,"refundPolicy":[{"minutesBefore":20,"percent":50},{"minutesBefore":120,"percent":100}]}`
)

// M-30: a screen comes back as it was written, in its one canonical form.
func TestScreenRoundTrip(t *testing.T) {
	screen, err := read(screenBody, screenFields, screenReader)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := fsm.NewLayout(screen.Layout)
	if err != nil || layout.Seats() != 17 || seatCount(screen.Layout) != 17 {
		t.Fatal(err, seatCount(screen.Layout))
	}
	if blocks := screen.Layout.Rows[0].Blocks; len(blocks) != 2 { // the comma is an aisle although the numbers go on
		t.Errorf("row A is %v", blocks)
	}
	const want = `{"id":"S","theatreId":"TH-1","name":"Screen 2","seatCount":17,"rows":[{"row":"A","tier":"SILVER","seats":"1-4,5-8"},` +
		`{"row":"E","tier":"RECLINER","seats":"1-8,10","attributes":{"1":["wheelchair"],"2":["companion"]},"pairs":["3-4","5-6"]}],` +
		`"tiers":{"SILVER":{"perks":[]},"RECLINER":{"multiplierPercent":200,"perks":["160° recline"]},"BOX":{"perks":[]}}}`
	if got := string(appendScreen(nil, screen)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A screen of the greatest size fits in a body.
func TestScreenOfManySeats(t *testing.T) {
	var rows []string
	for r := range 1000 {
		label := string([]byte{'A' + byte(r/676), 'A' + byte(r/26%26), 'A' + byte(r%26)})
		rows = append(rows, fmt.Sprintf(`{"row":"%s","tier":"SILVER","seats":"1-50,51-100"}`, label))
	}
	body := `{"theatreId":"T","name":"Arena","rows":[` + strings.Join(rows, ",") + `]}`
	if len(body) > BodyBytesMax {
		t.Fatalf("%d bytes", len(body))
	}
	screen, err := read(body, screenFields, screenReader)
	if err != nil || seatCount(screen.Layout) != fsm.SeatsPerScreenMax {
		t.Fatal(err, seatCount(screen.GetLayout()))
	}
	body = strings.Replace(body, `"seats":"1-50,51-100"}]`, `"seats":"1-50,51-101"}]`, 1)
	if _, err := read(body, screenFields, screenReader); fieldOf(err) != "rows[999].seats" {
		t.Error(err)
	}
}

func TestScreenRefusals(t *testing.T) {
	row := func(fields string) string { return `{"theatreId":"T","name":"N","rows":[{` + fields + `}]}` }
	seats := func(spec string) string { return row(`"row":"A","tier":"S","seats":"` + spec + `"`) }
	for body, field := range map[string]string{
		`{"name":"N","rows":[]}`:                                                   "theatreId",
		`{"theatreId":"T","rows":[]}`:                                              "name",
		`{"theatreId":"T","name":"N"}`:                                             "rows",
		`{"theatreId":"T","name":"N","rows":[]}`:                                   "rows",
		`{"theatreId":"T","name":"N","rows":{}}`:                                   "rows",
		`{"theatreId":"T","name":"N","rows":[3]}`:                                  "rows[0]",
		`{"theatreId":"T","name":"N","rows":[],"colour":1}`:                        "colour",
		row(`"tier":"S","seats":"1"`):                                              "rows[0].row",
		row(`"row":"A1","tier":"S","seats":"1"`):                                   "rows[0].row",
		row(`"row":"ABCD","tier":"S","seats":"1"`):                                 "rows[0].row",
		row(`"row":"A","seats":"1"`):                                               "rows[0].tier",
		row(`"row":"A","tier":"","seats":"1"`):                                     "rows[0].tier",
		row(`"row":"A","tier":"S"`):                                                "rows[0].seats",
		row(`"row":"A","tier":"S","seats":4`):                                      "rows[0].seats",
		row(`"row":"A","tier":"S","seats":"1","x":1`):                              "rows[0].x",
		row(`"row":"A","row":"B","tier":"S","seats":"1"`):                          "rows[0].row",
		row(`"row":"A","tier":"S","seats":"1"},{"row":"A","tier":"S","seats":"1"`): "rows[1].row",
		seats("4-1"): "rows[0].seats", seats("1-4,4-8"): "rows[0].seats", seats("5,1"): "rows[0].seats", seats("0-3"): "rows[0].seats",
		seats("1-"): "rows[0].seats", seats("a"): "rows[0].seats", seats("1,,2"): "rows[0].seats", seats(","): "rows[0].seats",
		seats("+1"): "rows[0].seats", seats("1-2-3"): "rows[0].seats", seats("99999999999"): "rows[0].seats",
		seats("100001"): "rows[0].seats", seats("1-100000,"): "rows[0].seats", seats(" "): "rows[0].seats",
		row(`"row":"A","tier":"S","seats":"1-4","attributes":{"5":["x"]}`):                                               "rows[0].attributes.5",
		row(`"row":"A","tier":"S","seats":"1-4","attributes":{"01":["x"]}`):                                              "rows[0].attributes.01",
		row(`"row":"A","tier":"S","seats":"1-4","attributes":{"1":"x"}`):                                                 "rows[0].attributes.1",
		row(`"row":"A","tier":"S","seats":"1-4","attributes":{"1":[""]}`):                                                "rows[0].attributes.1",
		row(`"row":"A","tier":"S","seats":"1-4","attributes":{"1":["x"],"1":["y"]}`):                                     "rows[0].attributes.1",
		row(`"row":"A","tier":"S","seats":"1-4","pairs":["1-3"]`):                                                        "rows[0].pairs[0]",
		row(`"row":"A","tier":"S","seats":"1-4","pairs":[3]`):                                                            "rows[0].pairs[0]",
		row(`"row":"A","tier":"S","seats":"1-2,3-4","pairs":["1-2","2-3"]`):                                              "rows[0].pairs[1]", // over an aisle
		row(`"row":"A","tier":"S","seats":"1-4","pairs":["1-2","2-3"]`):                                                  "rows[0].pairs",
		`{"theatreId":"T","name":"N","rows":[{"row":"A","tier":"S","seats":"1"}],"tiers":{"S":{"multiplierPercent":0}}}`: "tiers.S.multiplierPercent",
		`{"theatreId":"T","name":"N","rows":[{"row":"A","tier":"S","seats":"1"}],"tiers":{"S":{"perk":0}}}`:              "tiers.S.perk",
		`{"theatreId":"T","name":"N","rows":[{"row":"A","tier":"S","seats":"1"}],"tiers":{"":{}}}`:                       "tiers",
		`{"theatreId":"T","name":"N","rows":[{"row":"A","tier":"S","seats":"1"}],"tiers":[]}`:                            "tiers",
	} {
		if _, err := read(body, screenFields, screenReader); fieldOf(err) != field {
			t.Errorf("%s: %v, want the field %s", body, err, field)
		}
	}
}

// M-7: what is read of a show is what was written, rules in their order.
func TestShowReading(t *testing.T) {
	request, err := read(showBody, showFields, readShow)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(appendTime(nil, request.StartsAt)); got != `"2026-12-01T12:30:00.000Z"` {
		t.Errorf("starts at %s", got)
	}
	if request.EndsAt != 0 || request.MaxHoldsPerUser != nil || *request.HoldSeconds != 420 || request.RefundPolicy[0].MinutesBefore != 120 {
		t.Errorf("%+v", request)
	}
	const want = `{"strategy":"tier_time","base":{"GOLD":18000,"SILVER":15000},"bands":[{"fromHour":18,"percent":130},{"fromHour":0,"percent":90}]}`
	if got := string(appendPricing(nil, request.Pricing)); got != want {
		t.Errorf("got %s", got)
	}
	if request, err = read(strings.Replace(showBody, `[{"minutesBefore":20,"percent":50},{"minutesBefore":120,"percent":100}]`, "[]", 1), showFields, readShow); err != nil || request.RefundPolicy == nil {
		t.Error("an empty refund policy is no refunds, not the default", err)
	}
	if request, err = read(strings.Replace(showBody, `"MV-1"`, "17", 1), showFields, readShow); err != nil || request.MovieID != "17" {
		t.Error("a whole number is an id", request.MovieID, err)
	}
}

func TestShowRefusals(t *testing.T) {
	const pricing = `{"strategy":"tier_time","base":{"SILVER":15000,"GOLD":18000},"bands":[{"fromHour":0,"percent":90},{"fromHour":18,"percent":130}]}`
	for change, field := range map[[2]string]string{
		{`"movieId":"MV-1",`, ``}: "movieId", {`"MV-1"`, `"M V"`}: "movieId", {`"MV-1"`, `1.5`}: "movieId", {`"MV-1"`, `true`}: "movieId",
		{`"screenId":"SCR-2",`, ``}: "screenId", {`"INR"`, `null`}: "currency", {`"holdSeconds":420`, `"holdSeconds":0`}: "holdSeconds",
		{`"holdSeconds":420`, `"holdSeconds":3601`}: "holdSeconds", {`"holdSeconds":420`, `"holdSeconds":1.5`}: "holdSeconds",
		{`"holdSeconds":420`, `"maxSeatsPerBooking":101`}: "maxSeatsPerBooking", {`"holdSeconds":420`, `"maxHoldsPerUser":1000001`}: "maxHoldsPerUser",
		{`2026-12-01T18:00:00+05:30`, `2026-12-01T18:00:00`}: "startsAt", {`2026-12-01T18:00:00+05:30`, `2026-13-01T18:00:00Z`}: "startsAt",
		{`"holdSeconds":420`, `"salesOpenAt":"now"`}: "salesOpenAt", {`"holdSeconds":420`, `"endsAt":5`}: "endsAt",
		{`"percent":50`, `"percent":101`}: "refundPolicy[0].percent", {`"minutesBefore":20`, `"minutesBefore":120`}: "refundPolicy[1].minutesBefore",
		{`"minutesBefore":20`, `"minutes":20`}: "refundPolicy[0].minutes", {`"tier_time"`, `"auction"`}: "pricing.strategy",
		{pricing, `{"strategy":"flat"}`}: "pricing.amount", {pricing, `{"strategy":"flat","amount":-1}`}: "pricing.amount",
		{pricing, `{"strategy":"flat","amount":1,"base":{}}`}: "pricing.base", {pricing, `{"strategy":"tier"}`}: "pricing.base",
		{pricing, `{"strategy":"tier","base":{"S":1.5}}`}: "pricing.base.S", {pricing, `{"strategy":"tier","base":{"S":1,"S":2}}`}: "pricing.base.S",
		{pricing, `{"strategy":"tier_time","base":{"S":1}}`}: "pricing.bands", {pricing, `5`}: "pricing", {`"pricing":` + pricing, `"pricing":null`}: "pricing",
		{`"fromHour":18`, `"fromHour":24`}: "pricing.bands[1].fromHour", {`"fromHour":18`, `"fromHour":0`}: "pricing.bands[1].fromHour",
		{`"percent":130`, `"percent":10001`}: "pricing.bands[1].percent", {`"currency"`, `"price":1,"currency"`}: "price",
	} {
		body := strings.Replace(showBody, change[0], change[1], 1)
		if body == showBody {
			t.Fatalf("%q is not in the body", change[0])
		}
		if _, err := read(body, showFields, readShow); fieldOf(err) != field {
			t.Errorf("%s for %s: %v, want the field %s", change[1], change[0], err, field)
		}
	}
}

func TestSmallObjects(t *testing.T) {
	city := func(o *object) (string, error) {
		c, err := readCity("C", o)
		return string(appendCity(nil, c)), err
	}
	movie := func(o *object) (string, error) {
		m, err := readMovie("M", o)
		return string(appendMovie(nil, m)), err
	}
	for _, test := range []struct {
		fields      []string
		reader      func(*object) (string, error)
		body        string
		want, field string
	}{
		{cityFields, city, `{"name":"B","timeZone":"Asia/Kolkata"}`, `{"id":"C","name":"B","state":null,"timeZone":"Asia/Kolkata"}`, ""},
		{cityFields, city, `{"name":"B"}`, "", "timeZone"},
		{cityFields, city, `{"name":"","timeZone":"UTC"}`, "", "name"},
		{cityFields, city, `[]`, "", "body"},
		{
			movieFields, movie, `{"title":"Dune","language":"en","genre":"Sci-Fi","durationMinutes":155,"rating":8.1}`,
			`{"id":"M","title":"Dune","language":"en","genre":"Sci-Fi","durationMinutes":155,"rating":8.1}`, "",
		},
		{movieFields, movie, `{"title":"D","durationMinutes":1,"rating":10}`, `{"id":"M","title":"D","language":null,"genre":null,"durationMinutes":1,"rating":10}`, ""},
		{movieFields, movie, `{"title":"D","durationMinutes":1,"rating":0}`, `{"id":"M","title":"D","language":null,"genre":null,"durationMinutes":1,"rating":0}`, ""},
		{movieFields, movie, `{"title":"D","durationMinutes":1,"rating":10.01}`, "", "rating"},
		{movieFields, movie, `{"title":"D","durationMinutes":1,"rating":8.123}`, "", "rating"},
		{movieFields, movie, `{"title":"D","durationMinutes":1,"rating":"8"}`, "", "rating"},
		{movieFields, movie, `{"title":"D","durationMinutes":0}`, "", "durationMinutes"},
		{movieFields, movie, `{"title":"D"}`, "", "durationMinutes"},
		{movieFields, movie, `{"title":"` + strings.Repeat("x", meta.NameBytesMax+1) + `","durationMinutes":1}`, "", "title"},
	} {
		got, err := read(test.body, test.fields, test.reader)
		if fieldOf(err) != test.field || (err == nil && got != test.want) {
			t.Errorf("%s: %s %v", test.body, got, err)
		}
	}
}

// FuzzScreenBody: a body is refused, or it makes a layout that the rules accept and that reads back as itself.
func FuzzScreenBody(f *testing.F) {
	f.Add([]byte(screenBody))
	f.Add([]byte(`{"theatreId":1,"name":"N","rows":[{"row":"A","tier":"S","seats":"1-4,5-8"}],"tiers":{"S":{"perks":[]}}}`))
	f.Add([]byte(`{"theatreId":"T","name":"N","rows":[{"row":"A","tier":"S","seats":"1,3,5","attributes":{"3":["x"]},"pairs":[]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		screen, err := read(string(body), screenFields, screenReader)
		if err != nil {
			if fieldOf(err) == "" {
				t.Fatalf("an error without a field: %v", err)
			}
			return
		}
		if _, err := fsm.NewLayout(screen.Layout); err != nil {
			t.Fatalf("the rules refuse what was read: %v", err)
		}
		answer := appendScreen(nil, screen)
		again := bytes.Replace(answer, fmt.Appendf(nil, `"id":"S",`), nil, 1)
		again = bytes.Replace(again, fmt.Appendf(nil, `"seatCount":%d,`, seatCount(screen.Layout)), nil, 1)
		second, err := read(string(again), screenFields, screenReader)
		if err != nil || !proto.Equal(screen, second) {
			t.Fatalf("%s\nreads back as %v: %v", again, second, err)
		}
	})
}

// FuzzShowBody: a body is refused, or its pricing reads back as itself.
func FuzzShowBody(f *testing.F) {
	f.Add([]byte(showBody))
	f.Add([]byte(`{"movieId":1,"screenId":2,"startsAt":"2026-12-01T18:00:00Z","currency":"INR","pricing":{"strategy":"flat","amount":1}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		request, err := read(string(body), showFields, readShow)
		if err != nil {
			if fieldOf(err) == "" {
				t.Fatalf("an error without a field: %v", err)
			}
			return
		}
		pricing := appendPricing(nil, request.Pricing)
		again, err := read(string(pricing), pricingFields, func(o *object) (*wire.Pricing, error) { return readPricing(o), o.problem() })
		if err != nil || !proto.Equal(request.Pricing, again) {
			t.Fatalf("%s reads back as %v: %v", pricing, again, err)
		}
	})
}

// FuzzSmallBodies: the other bodies of the catalogue are refused or read, and what they become is valid JSON.
func FuzzSmallBodies(f *testing.F) {
	f.Add([]byte(`{"name":"Bengaluru","state":"Karnataka","timeZone":"Asia/Kolkata"}`))
	f.Add([]byte(`{"title":"Dune","language":"en","genre":"Sci-Fi","durationMinutes":155,"rating":8.1}`))
	f.Add([]byte(`{"name":"Forum","cityId":1,"address":"\u0041"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		check := func(answer []byte, err error) {
			if err != nil && fieldOf(err) == "" {
				t.Fatalf("an error without a field: %v", err)
			}
			if err == nil && checkJSON(answer) != nil {
				t.Fatalf("%s is no JSON", answer)
			}
		}
		check(read(string(body), cityFields, func(o *object) ([]byte, error) {
			c, err := readCity("C", o)
			return appendCity(nil, c), err
		}))
		check(read(string(body), movieFields, func(o *object) ([]byte, error) {
			m, err := readMovie("M", o)
			return appendMovie(nil, m), err
		}))
		check(read(string(body), theatreFields, func(o *object) ([]byte, error) {
			_, err := readTheatre("T", o)
			return []byte("{}"), err
		}))
	})
}
