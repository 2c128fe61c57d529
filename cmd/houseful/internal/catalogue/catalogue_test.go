package catalogue

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// small is a catalogue with one object of each kind. Lines matter: tests name them.
const small = `cities:
  - id: BLR
    name: Bengaluru
    timeZone: Asia/Kolkata
movies:
  - id: 7
    title: Dune
    durationMinutes: 155
    rating: 8.1
theatres:
  - {id: TH-1, name: Forum, cityId: BLR}
screens:
  - id: SCR-1
    theatreId: TH-1
    name: Audi 1
    rows:
      - {row: A, tier: SILVER, seats: "1-4,5-8"}
      - {row: E, tier: RECLINER, seats: "1-8", attributes: {1: [wheelchair]}, pairs: ["3-4"]}
    tiers:
      RECLINER: {multiplierPercent: 200, perks: ["recline"]}
shows:
  - id: 1
    movieId: 7
    screenId: SCR-1
    startsAt: 2026-12-01T18:00:00+05:30
    currency: INR
    pricing:
      strategy: tier
      base: {SILVER: 15000, RECLINER: 40000}
    refundPolicy: []
`

func TestParse(t *testing.T) {
	document, err := Parse("c.yaml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	want := []struct{ kind, path, body string }{
		{"city", "/api/v1/cities/BLR", `{"name":"Bengaluru","timeZone":"Asia/Kolkata"}`},
		{"movie", "/api/v1/movies/7", `{"title":"Dune","durationMinutes":155,"rating":8.1}`},
		{"theatre", "/api/v1/theatres/TH-1", `{"name":"Forum","cityId":"BLR"}`},
		{"screen", "/api/v1/screens/SCR-1", `{"theatreId":"TH-1","name":"Audi 1","rows":[{"row":"A","tier":"SILVER","seats":"1-4,5-8"},` +
			`{"row":"E","tier":"RECLINER","seats":"1-8","attributes":{"1":["wheelchair"]},"pairs":["3-4"]}],` +
			`"tiers":{"RECLINER":{"multiplierPercent":200,"perks":["recline"]}}}`},
		{"show", "/api/v1/shows/1", `{"movieId":"7","screenId":"SCR-1","startsAt":"2026-12-01T18:00:00+05:30","currency":"INR",` +
			`"pricing":{"strategy":"tier","base":{"RECLINER":40000,"SILVER":15000}},"refundPolicy":[]}`},
	}
	items := document.Items()
	if len(items) != len(want) {
		t.Fatalf("%d items, want %d", len(items), len(want))
	}
	for i, w := range want {
		if items[i].Kind != w.kind || items[i].Path != w.path || string(items[i].Body) != w.body {
			t.Errorf("item %d: %s %s\n%s\nwant\n%s", i, items[i].Kind, items[i].Path, items[i].Body, w.body)
		}
	}
}

// Every complaint names the line and the path of what is wrong.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ name, old, new, says string }{
		{"no yaml", "cities:", "cities: [", "c.yaml:"},
		{"unknown field", "name: Bengaluru", "nam: Bengaluru", `c.yaml:3: unknown field "nam"`},
		{"unknown list", "movies:", "films:", `c.yaml:5: unknown field "films"`},
		{"field twice", "title: Dune", "title: Dune\n    title: Dune", "c.yaml:8: "},
		{"wrong type", "durationMinutes: 155", "durationMinutes: long", "c.yaml:8: "},
		{"no id", "id: BLR", "id: ''", "c.yaml:2: cities[0].id: is needed"},
		{"bad id", "id: BLR", "id: B/R", `c.yaml:2: cities[0].id: "B/R" must be 1 to 64`},
		{"no name", "    name: Bengaluru\n", "", "c.yaml:2: cities[0].name (BLR): is needed"},
		{"time zone", "Asia/Kolkata", "Mars/Olympus", `c.yaml:4: cities[0].timeZone (BLR): "Mars/Olympus"`},
		{"duration", "durationMinutes: 155", "durationMinutes: 0", "c.yaml:8: movies[0].durationMinutes (7): must be"},
		{"theatre's city", "cityId: BLR", "cityId: ''", "c.yaml:11: theatres[0].cityId (TH-1): is needed"},
		{"seats", `"1-4,5-8"`, `"1-4;5-8"`, "c.yaml:17: screens[0].rows[0].seats (SCR-1): "},
		{"no tier", "tier: SILVER", "tier: ''", "c.yaml:17: screens[0].rows[0].tier (SCR-1): is needed"},
		{"backwards", `"1-4,5-8"`, `"5-8,1-4"`, `c.yaml:17: screens[0].rows (SCR-1): row "A"`},
		{"row label", "row: E", "row: E5", `screens[0].rows (SCR-1): row "E5"`},
		{"pair", `"3-4"`, `"3-5"`, `screens[0].rows (SCR-1): row "E": pair 3-5`},
		{"attribute", "{1: [wheelchair]}", "{9: [wheelchair]}", `screens[0].rows (SCR-1): row "E": attributes of seat 9`},
		{"start", "2026-12-01T18:00:00+05:30", "tomorrow", `c.yaml:25: shows[0].startsAt (1): "tomorrow" is no RFC 3339 time`},
		{"currency", "currency: INR", "currency: rupees", "c.yaml:26: shows[0].currency (1): "},
		{"strategy", "strategy: tier", "strategy: auction", `c.yaml:28: shows[0].pricing.strategy (1): "auction"`},
		{"tier without price", ", RECLINER: 40000}", "}", "c.yaml:29: shows[0].pricing.base (1): no amount for tier RECLINER"},
		{"negative price", "SILVER: 15000", "SILVER: -1", "shows[0].pricing.base.SILVER (1): "},
		{"hold seconds", "refundPolicy: []", "holdSeconds: 0", "c.yaml:30: shows[0].holdSeconds (1): "},
		{"seats a booking", "refundPolicy: []", "maxSeatsPerBooking: -1", "c.yaml:30: shows[0].maxSeatsPerBooking (1): "},
		{"refund", "refundPolicy: []", "refundPolicy: [{minutesBefore: 1, percent: 101}]", "c.yaml:30: shows[0].refundPolicy (1): "},
		{
			"id twice", "shows:\n", "  - {id: SCR-1, theatreId: TH-1, name: B, rows: [{row: A, tier: X, seats: '1'}]}\nshows:\n",
			"c.yaml:21: screens[1].id (SCR-1): screens[0] has this id already",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(small, c.old, c.new, 1)
			if text == small {
				t.Fatalf("%q is not in the catalogue", c.old)
			}
			_, err := Parse("c.yaml", []byte(text))
			var problems Problems
			if !errors.As(err, &problems) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got  %v\nwant %s", err, c.says)
			}
		})
	}
}

func TestEveryProblemAtOnceWithinReason(t *testing.T) {
	_, err := Parse("c.yaml", []byte("cities:\n"+strings.Repeat("  - {id: '', name: '', timeZone: ''}\n", 100)))
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != ProblemsMax {
		t.Errorf("%d problems, want %d: %v", len(problems), ProblemsMax, err)
	}
}

// References may point to what the server has already.
func TestPartOfACatalogue(t *testing.T) {
	for _, text := range []string{"", "{}", "cities: []", "theatres:\n  - {id: T, name: T, cityId: elsewhere}\n"} {
		if _, err := Parse("c.yaml", []byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// JSON is YAML, so what the API gives can be loaded as well.
func TestJSONFile(t *testing.T) {
	text, err := json.Marshal(map[string]any{"cities": []any{map[string]any{"id": "BLR", "name": "B", "timeZone": "Asia/Kolkata"}}})
	if err != nil {
		t.Fatal(err)
	}
	document, err := Parse("c.json", text)
	if err != nil || len(document.Cities) != 1 {
		t.Errorf("got %+v, %v", document, err)
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	if _, err := Open(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(path, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	if document, err := Open(path); err != nil || len(document.Items()) != 5 {
		t.Errorf("got %v", err)
	}
}
