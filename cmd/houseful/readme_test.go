package main

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/houseful/houseful/cmd/houseful/internal/catalogue"
)

const (
	readmePath = "../../README.md"
	// readmeServer is where the README's server listens.
	readmeServer = "http://127.0.0.1:8080"
)

// readme gives the README's text.
func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(readmePath)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// walkStep is a command of the README with the answer printed under it.
type walkStep struct {
	method, path, body string
	answer             string
}

var (
	walkCommand = regexp.MustCompile(`^curl -s ['"]?([^'" ]+)['"]?(?: --json '([^']*)')?$`)
	// What differs from run to run: times, booking references, request ids, digests.
	volatile = regexp.MustCompile(`"(\d{4}-\d{2}-\d{2}T[\d:.]+Z|BMS-[0-9A-Z]{26}|[0-9a-f]{16}-\d+|[0-9a-f]{64})"`)
)

// walk reads the steps of the README: lines that begin with "$ curl", each with the answer up to the next command.
func walk(t *testing.T) []walkStep {
	t.Helper()
	var steps []walkStep
	inBlock, open := false, false
	for line := range strings.SplitSeq(readme(t), "\n") {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			inBlock, open = !inBlock, false
		case !inBlock || strings.HasPrefix(command, "BOOKING="):
		case isCommand:
			parts := walkCommand.FindStringSubmatch(command)
			if parts == nil {
				t.Fatalf("the README's %q is no command that this test understands", command)
			}
			step := walkStep{method: http.MethodGet, path: strings.TrimPrefix(parts[1], readmeServer), body: parts[2]}
			if step.body != "" {
				step.method = http.MethodPost
			}
			steps, open = append(steps, step), true
		case open:
			steps[len(steps)-1].answer += strings.TrimPrefix(line, " ")
		}
	}
	return steps
}

// settled writes a JSON object with what differs from run to run blanked.
func settled(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return volatile.ReplaceAllString(string(text), `"…"`)
}

// The walk in the README works as printed.
func TestReadmeWalk(t *testing.T) {
	server := startServer(t, t.TempDir(), "--demo")
	server.waitFor("demo catalogue loaded")
	steps := walk(t)
	if len(steps) < 6 {
		t.Fatalf("only %d steps", len(steps))
	}
	booking := ""
	for _, step := range steps {
		path := strings.ReplaceAll(step.path, "$BOOKING", booking)
		_, answer, err := server.call(step.method, path, step.body, "Content-Type", "application/json")
		if err != nil {
			t.Fatalf("%s %s: %v", step.method, path, err)
		}
		if id, ok := answer["id"].(string); ok {
			booking = id
		}
		var printed map[string]any
		if err := json.Unmarshal([]byte(step.answer), &printed); err != nil {
			t.Fatalf("the answer printed under %s: %v", step.path, err)
		}
		if got, want := settled(t, answer), settled(t, printed); got != want {
			t.Errorf("%s %s\nanswers  %s\nprinted  %s", step.method, path, got, want)
		}
	}
}

// The catalogue in the README loads.
func TestReadmeCatalogue(t *testing.T) {
	_, rest, found := strings.Cut(readme(t), "```yaml\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("no YAML in the README")
	}
	document, err := catalogue.Parse("README.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(document.Items()) != 5 {
		t.Errorf("%d objects", len(document.Items()))
	}
}
