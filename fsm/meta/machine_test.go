package meta

import (
	"errors"
	"fmt"
	"testing"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/wire"
)

// fixture drives a machine through encoded entries, and audits it at the end of the test.
type fixture struct {
	t  testing.TB
	m  *Machine
	at fsm.Time
	id uint64
}

const testStart fsm.Time = 1_790_000_000_000

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{t: t, m: New(), at: testStart}
	t.Cleanup(func() { f.audit() })
	return f
}

func bornFixture(t testing.TB) *fixture {
	t.Helper()
	f := newFixture(t)
	if r := f.do(testBirth(2)); r.Code != CodeOK || !r.Created {
		t.Fatalf("birth: %+v", r)
	}
	return f
}

func (f *fixture) audit() {
	f.t.Helper()
	if report := f.m.Audit(); !report.OK {
		f.t.Errorf("audit: %q", report.Problems)
	}
}

func (f *fixture) command(body any) *wire.MetaCommand {
	f.id++
	command := &wire.MetaCommand{Id: fmt.Appendf(nil, "%016d", f.id), NotAfterMs: int64(f.at) + 5000}
	switch body := body.(type) {
	case *wire.Birth:
		command.Body = &wire.MetaCommand_Birth{Birth: body}
	case *wire.Node:
		command.Body = &wire.MetaCommand_PutNode{PutNode: body}
	case *wire.City:
		command.Body = &wire.MetaCommand_PutCity{PutCity: body}
	case *wire.Movie:
		command.Body = &wire.MetaCommand_PutMovie{PutMovie: body}
	case *wire.Theatre:
		command.Body = &wire.MetaCommand_PutTheatre{PutTheatre: body}
	case *wire.Screen:
		command.Body = &wire.MetaCommand_PutScreen{PutScreen: body}
	case *wire.ShowEntry:
		command.Body = &wire.MetaCommand_PutShowEntry{PutShowEntry: body}
	case *wire.RemoveShowEntry:
		command.Body = &wire.MetaCommand_RemoveShowEntry{RemoveShowEntry: body}
	case *wire.RaiseFeature:
		command.Body = &wire.MetaCommand_RaiseFeature{RaiseFeature: body}
	default:
		f.t.Fatalf("no command of %T", body)
	}
	return command
}

func (f *fixture) do(body any) *Result {
	f.t.Helper()
	return f.apply(f.command(body))[0]
}

func (f *fixture) apply(commands ...*wire.MetaCommand) []*Result {
	f.t.Helper()
	results, err := f.m.ApplyEntry(encodeEntry(f.t, f.at, commands...))
	if err != nil {
		f.t.Fatal(err)
	}
	return results
}

func encodeEntry(t testing.TB, at fsm.Time, commands ...*wire.MetaCommand) []byte {
	t.Helper()
	entry := &wire.Entry{Format: fsm.EntryFormat, TimeMs: int64(at)}
	for _, command := range commands {
		encoded, err := command.MarshalVT()
		if err != nil {
			t.Fatal(err)
		}
		entry.Commands = append(entry.Commands, encoded)
	}
	data, err := entry.MarshalVT()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func testBirth(shards uint32) *wire.Birth {
	birth := &wire.Birth{
		ClusterId: "c1", ShardCount: shards, FeatureVersion: 1,
		Nodes: []*wire.Node{{Id: "n1", DataUuid: "u1", Zone: "a", HttpAddress: "127.0.0.1:8080"}},
	}
	for i := range shards + 1 {
		name := MetaGroup
		if i > 0 {
			name = fmt.Sprint(i - 1)
		}
		voter := &wire.Replica{Number: uint64(i) + 1, NodeId: "n1", DataUuid: "u1"}
		birth.Groups = append(birth.Groups, &wire.Genesis{Group: name, Voters: []*wire.Replica{voter}})
	}
	return birth
}

func city(id string) *wire.City {
	return &wire.City{Id: id, Name: "City " + id, State: "Karnataka", TimeZone: "Asia/Kolkata"}
}

func movie(id, title string) *wire.Movie {
	return &wire.Movie{Id: id, Title: title, Language: "en", Genre: "Sci-Fi", DurationMinutes: 155}
}

func theatre(id, city string) *wire.Theatre {
	return &wire.Theatre{Id: id, Name: "Theatre " + id, CityId: city, Address: "1 Main Road"}
}

func screen(id, theatre string) *wire.Screen {
	return &wire.Screen{Id: id, TheatreId: theatre, Name: "Screen " + id, Layout: &wire.Layout{
		Tiers: []*wire.Tier{{Name: "SILVER"}, {Name: "RECLINER", MultiplierPercent: 200, Perks: []string{"160° recline"}}},
		Rows: []*wire.Row{
			{Label: "A", Blocks: []*wire.Span{{First: 1, Last: 4}, {First: 5, Last: 8}}},
			{
				Label: "E", Tier: 1, Blocks: []*wire.Span{{First: 1, Last: 8}}, Pairs: []*wire.Span{{First: 3, Last: 4}},
				Attributes: []*wire.SeatAttributes{{Number: 1, Names: []string{"wheelchair"}}, {Number: 2, Names: []string{"companion"}}},
			},
		},
	}}
}

func entry(id string, revision uint64) *wire.ShowEntry {
	return &wire.ShowEntry{
		ShowId: id, Revision: revision, CityId: "BLR", TheatreId: "T1", ScreenId: "S1", MovieId: "M1", LocalDate: 20261201,
		StartsAtMs: 1_796_000_000_000, EndsAtMs: 1_796_009_300_000, PriceFrom: 15000, Currency: "INR", MovieTitle: "Dune",
		TheatreName: "Theatre T1", ScreenName: "Screen S1", TimeZone: "Asia/Kolkata",
	}
}

// catalogue puts one of each, named BLR, M1, T1 and S1.
func (f *fixture) catalogue() {
	f.t.Helper()
	for _, object := range []any{city("BLR"), movie("M1", "Dune"), theatre("T1", "BLR"), screen("S1", "T1")} {
		if r := f.do(object); r.Code != CodeOK || !r.Created || !r.Changed {
			f.t.Fatalf("%v: %+v", object, r)
		}
	}
}

// M-30: the same body again changes nothing, another body replaces.
func TestPutCreatesReplacesOrChangesNothing(t *testing.T) {
	f := bornFixture(t)
	f.catalogue()
	other := movie("M1", "Dune: Part Two")
	other.RatingHundredths = new(uint32)
	for _, step := range []struct {
		body             any
		created, changed bool
	}{
		{city("BLR"), false, false},
		{movie("M1", "Dune"), false, false},
		{theatre("T1", "BLR"), false, false},
		{screen("S1", "T1"), false, false},
		{other, false, true},
		{movie("M1", "Dune: Part Two"), false, true}, // no rating is not a rating of 0
		{city("MYS"), true, true},
		{theatre("T1", "MYS"), false, true},
		{theatre("T2", "BLR"), true, true},
		{screen("S1", "T2"), false, true},
		{entry("1", 1), true, true},
		{entry("1", 1), false, false},
		{entry("1", 3), false, true},
		{entry("1", 2), false, false},
		{&wire.RemoveShowEntry{ShowId: "1", Revision: 2}, false, false},
		{&wire.RemoveShowEntry{ShowId: "1", Revision: 3}, false, true},
		{&wire.RemoveShowEntry{ShowId: "1", Revision: 3}, false, false},
		{&wire.RaiseFeature{Version: 1}, false, false},
		{&wire.Node{Id: "n1", DataUuid: "u1", Zone: "b"}, false, true},
	} {
		r := f.do(step.body)
		if r.Code != CodeOK || r.Created != step.created || r.Changed != step.changed {
			t.Errorf("%T %v: %+v", step.body, step.body, r)
		}
		f.audit()
	}
	if page, _ := f.m.TheatresOfCity("MYS", "", 10); len(page.Items) != 1 {
		t.Errorf("the moved theatre is not in its new city: %v", page.Items)
	}
	if page, _ := f.m.ScreensOfTheatre("T1", "", 10); len(page.Items) != 0 {
		t.Errorf("the moved screen is still in its old theatre: %v", page.Items)
	}
}

func TestRefusalsChangeNothing(t *testing.T) {
	f := bornFixture(t)
	f.catalogue()
	edit := func(change func(*wire.ShowEntry)) *wire.ShowEntry {
		e := entry("1", 1)
		change(e)
		return e
	}
	zoneless, long := city("X"), movie("M2", "x")
	zoneless.TimeZone = ""
	long.DurationMinutes = DurationMinutesMax + 1
	bare, stray := screen("S2", "T1"), screen("S2", "T1")
	bare.Layout = nil
	stray.Layout.Rows[0].Tier = 9
	for _, c := range []struct {
		body  any
		code  Code
		field string
	}{
		{theatre("T2", "NOWHERE"), CodeCityNotFound, ""},
		{screen("S2", "NOWHERE"), CodeTheatreNotFound, ""},
		{edit(func(e *wire.ShowEntry) { e.CityId = "X" }), CodeCityNotFound, ""},
		{edit(func(e *wire.ShowEntry) { e.TheatreId = "X" }), CodeTheatreNotFound, ""},
		{edit(func(e *wire.ShowEntry) { e.ScreenId = "X" }), CodeScreenNotFound, ""},
		{edit(func(e *wire.ShowEntry) { e.MovieId = "X" }), CodeMovieNotFound, ""},
		{edit(func(e *wire.ShowEntry) { e.LocalDate = 20261301 }), CodeInvalid, "localDate"},
		{edit(func(e *wire.ShowEntry) { e.EndsAtMs = e.StartsAtMs }), CodeInvalid, "endsAt"},
		{edit(func(e *wire.ShowEntry) { e.Revision = 0 }), CodeInvalid, "revision"},
		{edit(func(e *wire.ShowEntry) { e.ShowId = "a b" }), CodeInvalid, "showId"},
		{city("a/b"), CodeInvalid, "id"},
		{zoneless, CodeInvalid, "timeZone"},
		{movie("M2", ""), CodeInvalid, "title"},
		{movie("M2", "a\x00b"), CodeInvalid, "title"},
		{movie("M2", "a\xff"), CodeInvalid, "title"},
		{long, CodeInvalid, "durationMinutes"},
		{bare, CodeInvalid, "rows"},
		{stray, CodeInvalid, "rows"},
		{testBirth(3), CodeAlreadyBorn, ""},
		{&wire.RaiseFeature{}, CodeInvalid, "version"},
		{&wire.Node{Id: "n2"}, CodeInvalid, "node.dataUuid"},
	} {
		before := f.m.Capture()
		r := f.do(c.body)
		if r.Code != c.code || r.Field != c.field || r.Changed || r.Created {
			t.Errorf("%T %v: got %+v, want %s %s", c.body, c.body, r, c.code, c.field)
		}
		after := f.m.Capture()
		before.answers, after.answers = nil, nil
		if before.Digest() != after.Digest() {
			t.Errorf("%T %v: refused, and changed something", c.body, c.body)
		}
	}
}

func TestBirthComesFirstAndOnce(t *testing.T) {
	f := newFixture(t)
	if r := f.do(city("BLR")); r.Code != CodeNotBorn {
		t.Fatalf("a city before the birth: %+v", r)
	}
	doubled := testBirth(2)
	doubled.Groups[2].Voters[0].Number = 2
	missing := testBirth(2)
	missing.Groups = missing.Groups[:2]
	foreign := testBirth(2)
	foreign.Groups[1].Voters[0].DataUuid = "u9"
	for _, birth := range []*wire.Birth{doubled, missing, foreign, {}} {
		if birth.FeatureVersion == 0 {
			birth.FeatureVersion = 1
		}
		if r := f.do(birth); r.Code != CodeInvalid {
			t.Errorf("%v: %+v", birth, r)
		}
	}
	if r := f.do(testBirth(2)); r.Code != CodeOK || !r.Created {
		t.Fatalf("birth: %+v", r)
	}
	if r := f.do(testBirth(2)); r.Code != CodeOK || r.Created || r.Changed {
		t.Fatalf("the same birth again: %+v", r)
	}
	if f.m.nextReplica != 4 || len(f.m.Nodes()) != 1 || f.m.Birth().ClusterId != "c1" {
		t.Errorf("born wrong: next replica %d, nodes %v", f.m.nextReplica, f.m.Nodes())
	}
}

func TestCommandIDs(t *testing.T) {
	f := bornFixture(t)
	put := f.command(city("BLR"))
	first := f.apply(put, put)
	if first[0] != first[1] || !first[0].Created {
		t.Fatalf("twice in one entry: %+v %+v", first[0], first[1])
	}
	f.at += 4000
	if again := f.apply(put)[0]; again != first[0] {
		t.Fatalf("again within its time: %+v", again)
	}
	late := f.command(city("MYS"))
	f.at += 5001
	if r := f.apply(late)[0]; r.Code != CodeCommandTooLate {
		t.Fatalf("after its time: %+v", r)
	}
	early := f.command(city("MYS"))
	early.NotAfterMs = int64(f.at.Add(fsm.CommandLifeMax)) + 1
	if r := f.apply(early)[0]; r.Code != CodeInvalid || r.Field != "notAfter" {
		t.Fatalf("for longer than answers are kept: %+v", r)
	}
	nameless := f.command(city("MYS"))
	nameless.Id = []byte("short")
	if r := f.apply(nameless)[0]; r.Code != CodeInvalid || r.Field != "id" {
		t.Fatalf("without an id: %+v", r)
	}
	f.at = f.at.Add(fsm.CommandLifeMax) + 1
	f.do(city("MYS"))
	if kept := len(f.m.answers.queue); kept != 1 {
		t.Errorf("%d answers kept", kept)
	}
	if r := f.apply(put)[0]; r.Code != CodeCommandTooLate {
		t.Errorf("a forgotten command came again and was not late: %+v", r)
	}
}

func TestTimeNeverGoesBack(t *testing.T) { // M-14
	f := bornFixture(t)
	f.at -= 60_000
	put := f.command(city("BLR"))
	if r := f.apply(put)[0]; r.Code != CodeCommandTooLate || r.Now != testStart {
		t.Fatalf("log time went back: %+v", r)
	}
	if f.m.Now() != testStart {
		t.Errorf("now is %d", f.m.Now())
	}
}

func TestWhatCannotBeUnderstoodStopsTheGroup(t *testing.T) {
	f := bornFixture(t)
	good := f.command(city("BLR"))
	unknown := &wire.MetaCommand{Id: good.Id, NotAfterMs: good.NotAfterMs}
	newer := f.command(&wire.RaiseFeature{Version: FeatureVersion + 1})
	wrongFormat, _ := (&wire.Entry{Format: 2, TimeMs: int64(f.at)}).MarshalVT()
	before := f.m.Capture().Digest()
	for name, c := range map[string]struct {
		data []byte
		err  error
	}{
		"garbage":         {[]byte("garbage"), ErrEntry},
		"another format":  {wrongFormat, ErrEntry},
		"unknown command": {encodeEntry(t, f.at, good, unknown), ErrEntry},
		"newer feature":   {encodeEntry(t, f.at, good, newer), ErrFeature},
	} {
		if _, err := f.m.ApplyEntry(c.data); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
		if f.m.Capture().Digest() != before {
			t.Errorf("%s: changed the state", name)
		}
	}
}
