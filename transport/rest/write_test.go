package rest

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/houseful/houseful/fsm"
)

func TestAppendString(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", `""`},
		{"plain A1 ~", `"plain A1 ~"`},
		{`quote " backslash \`, `"quote \" backslash \\"`},
		{"\n\r\t\x00\x1f\x7f", `"\n\r\t\u0000\u001f\u007f"`},
		{"</script>&", `"\u003c/script\u003e\u0026"`},
		{"line\u2028paragraph\u2029end", `"line\u2028paragraph\u2029end"`},
		{"bad \xff\xc3 bytes", `"bad \ufffd\ufffd bytes"`},
		{"नमस्ते 🎬", `"नमस्ते 🎬"`},
		{"\u2027\u202a", "\"\u2027\u202a\""},
	} {
		if got := string(appendString(nil, test.in)); got != test.want {
			t.Errorf("%q: got %s, want %s", test.in, got, test.want)
		}
	}
}

// FuzzAppendString holds the writer against the standard library's reader.
func FuzzAppendString(f *testing.F) {
	f.Add("A1")
	f.Add("\u2028</script>\xff\x00\"\\")
	f.Fuzz(func(t *testing.T, text string) {
		encoded := appendString([]byte("x"), text)[1:]
		var decoded string
		if err := json.Unmarshal(encoded, &decoded); err != nil {
			t.Fatalf("%q became %s: %v", text, encoded, err)
		}
		if want := strings.ToValidUTF8(text, string(utf8.RuneError)); utf8.ValidString(text) && decoded != want {
			t.Fatalf("%q came back as %q", text, decoded)
		}
		if strings.ContainsAny(string(encoded), "<>&\x7f\u2028\u2029") {
			t.Fatalf("%q became %s, which is not safe in a page", text, encoded)
		}
	})
}

func TestAppendTime(t *testing.T) {
	const layout = `"2006-01-02T15:04:05.000Z"`
	check := func(ms int64) {
		t.Helper()
		want := time.UnixMilli(ms).UTC().Format(layout)
		if got := string(appendTime(nil, fsm.Time(ms))); got != want {
			t.Errorf("%d: got %s, want %s", ms, got, want)
		}
	}
	for _, ms := range []int64{0, 1, -1, 951_782_400_000, 951_868_799_999, 1_792_159_201_120, 4_107_542_399_999, 253_402_300_799_999, -62_162_035_200_000} {
		check(ms)
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for range 10_000 {
		check(random.Int64N(253_402_300_800_000))
	}
	if t.Failed() {
		t.Logf("seed %d", seed)
	}
	for _, ms := range []int64{-62_162_035_200_001, 253_402_300_800_000, -1 << 62, 1 << 62} {
		if got := string(appendTime(nil, fsm.Time(ms))); got != "null" {
			t.Errorf("%d, outside of years 0 to 9999: got %s, want null", ms, got)
		}
	}
}
