package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The tests of this file hold the habits of the whole tree: which way imports run, how long files and functions may be,
// what every package and page says. They read text only and start nothing.

const (
	module = "github.com/houseful/houseful"
	// treeRoot is the root of the tree from here, where tests run.
	treeRoot = "../.."
	// fileLinesMax and functionLinesMax are the hard limits; most files have 100 to 400 lines.
	fileLinesMax     = 600
	functionLinesMax = 80
)

// layers are the rooms of the house from top to bottom. A package may import packages of its own layer and of those
// below it.
var layers = []string{"cmd", "transport", "cluster", "shard", "fsm"}

// outsiders are modules that only some layers may see.
var outsiders = []struct {
	module  string
	allowed []string // folders
}{
	// One layer knows how entries are agreed on. Everybody else would begin to depend on it.
	{"github.com/hashicorp/raft", []string{"shard"}},
	{"github.com/cockroachdb/pebble", []string{"shard"}},
	{"go.etcd.io/bbolt", []string{"shard"}},
	// One layer speaks HTTP; the load generator does as a client.
	{"github.com/valyala/fasthttp", []string{"transport", "cmd/houseful-bench"}},
	{"github.com/spf13/cobra", []string{"cmd"}},
}

// The root has these folders and files, and what .gitignore names.
var (
	topFolders = []string{".ci", ".git", "cluster", "cmd", "docs", "fsm", "shard", "transport"}
	topFiles   = []string{".git", ".gitignore", "CHANGELOG.md", "LICENSE", "Makefile", "README.md", "go.mod", "go.sum"}
	topIgnored = []string{"bin", "houseful-data", "coverage.out", "*.test", "*.prof"}
)

// sourceFile is a Go file of the tree.
type sourceFile struct {
	path      string // with slashes, from the root
	text      string
	syntax    *ast.File
	positions *token.FileSet
	generated bool
}

// sources parses every Go file of the tree.
func sources(t *testing.T) []sourceFile {
	t.Helper()
	var files []sourceFile
	tree := os.DirFS(treeRoot)
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || !inTree(name)):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file := sourceFile{path: name, text: string(text), positions: token.NewFileSet()}
		file.syntax, err = parser.ParseFile(file.positions, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		file.generated = ast.IsGenerated(file.syntax)
		files = append(files, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("only %d files under %s", len(files), treeRoot)
	}
	return files
}

// inTree reports whether a slash path is in a folder of the tree; a build's or a server's leftovers in the root are not.
func inTree(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains(topFolders, top)
}

// within reports whether a slash path is a folder or below it.
func within(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

func TestImportsRunOneWay(t *testing.T) {
	layer := func(name string) int {
		return slices.IndexFunc(layers, func(folder string) bool { return within(name, folder) })
	}
	for _, file := range sources(t) {
		folder := path.Dir(file.path)
		for _, spec := range file.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, outsider := range outsiders {
				allowed := slices.ContainsFunc(outsider.allowed, func(f string) bool { return within(folder, f) })
				if within(imported, outsider.module) && !allowed {
					t.Errorf("%s imports %s, which is for %s only", file.path, imported, strings.Join(outsider.allowed, ", "))
				}
			}
			ours, inside := strings.CutPrefix(imported, module+"/")
			if inside && layer(folder) >= 0 && layer(ours) < layer(folder) {
				t.Errorf("%s imports %s: imports run %s", file.path, imported, strings.Join(layers, " → "))
			}
			if inside && within(folder, "fsm/wire") && within(ours, "fsm") && !within(ours, "fsm/wire") {
				t.Errorf("%s imports %s: the schema depends on nothing of ours", file.path, imported)
			}
		}
	}
}

// The rules read no clock and no random number, start no goroutine and do no I/O: the same log must give the same
// state everywhere (M-14).
func TestRulesArePure(t *testing.T) {
	forbidden := []string{"os", "net", "net/http", "math/rand", "math/rand/v2", "crypto/rand", "log", "log/slog", "runtime"}
	for _, file := range sources(t) {
		if !within(path.Dir(file.path), "fsm") || within(file.path, "fsm/wire") || strings.HasSuffix(file.path, "_test.go") {
			continue
		}
		for _, spec := range file.syntax.Imports {
			if imported, _ := strconv.Unquote(spec.Path.Value); slices.Contains(forbidden, imported) {
				t.Errorf("%s imports %s: the state machines touch nothing outside themselves", file.path, imported)
			}
		}
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a goroutine in a state machine", file.positions.Position(n.Pos()))
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep"}, n.Sel.Name) {
					t.Errorf("%s: time.%s; time is an input", file.positions.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	for _, file := range sources(t) {
		if file.generated {
			continue
		}
		if lines := strings.Count(file.text, "\n"); lines > fileLinesMax {
			t.Errorf("%s has %d lines, at most %d", file.path, lines, fileLinesMax)
		}
		if strings.HasSuffix(file.path, "_test.go") {
			continue // a table of cases may be as long as it needs
		}
		for _, declaration := range file.syntax.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			first, last := file.positions.Position(function.Pos()), file.positions.Position(function.End())
			if lines := last.Line - first.Line + 1; lines > functionLinesMax {
				t.Errorf("%s: %s has %d lines, at most %d", first, function.Name.Name, lines, functionLinesMax)
			}
		}
	}
}

// What is left to do belongs in an issue, not in the tree.
func TestNoLeftovers(t *testing.T) {
	banned := []string{"TO" + "DO", "FIX" + "ME", "HA" + "CK"}
	for _, file := range sources(t) {
		if file.generated {
			continue
		}
		for number, line := range strings.Split(file.text, "\n") {
			for _, word := range banned {
				if strings.Contains(line, word) {
					t.Errorf("%s:%d: %s", file.path, number+1, word)
				}
			}
		}
	}
}

// A package says in doc.go (a small one: in the file of its name) what it owns, what it must not import and which goroutines it starts.
func TestPackagesIntroduceThemselves(t *testing.T) {
	documented, seen := map[string]bool{}, map[string]bool{}
	for _, file := range sources(t) {
		folder := path.Dir(file.path)
		if strings.HasSuffix(file.path, "_test.go") || file.generated {
			continue
		}
		seen[folder] = true
		name := file.syntax.Name.Name
		if file.syntax.Doc != nil && (name == "main" || slices.Contains([]string{"doc.go", name + ".go"}, path.Base(file.path))) {
			documented[folder] = true
		}
	}
	for folder := range seen {
		if !documented[folder] {
			t.Errorf("%s has no package comment in doc.go", folder)
		}
	}
}

// Only a command may end the process; a library returns an error. The log store is the exception: after a failed
// fsync nobody knows what is on disk, so nothing may be answered any more.
func TestOnlyCommandsExit(t *testing.T) {
	for _, file := range sources(t) {
		if file.syntax.Name.Name == "main" || within(file.path, "shard/logstore") || strings.HasSuffix(file.path, "_test.go") {
			continue
		}
		for _, call := range []string{"os.Exit(", "log.Fatal"} {
			if strings.Contains(file.text, call) {
				t.Errorf("%s: %s", file.path, call)
			}
		}
	}
}

// A dependency needs a reason, in docs/DEPENDENCIES.md.
func TestDependenciesHaveReasons(t *testing.T) {
	page := pages(t)["docs/DEPENDENCIES.md"]
	for _, file := range sources(t) {
		for _, spec := range file.syntax.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			segments := strings.Split(imported, "/")
			if !strings.Contains(segments[0], ".") || within(imported, module) {
				continue // Go's own, and ours
			}
			if segments[0] == "github.com" {
				segments = segments[1:]
			}
			count := 2 // owner and name, or host and name
			if segments[0] == "golang.org" {
				count = 3
			}
			if name := strings.Join(segments[:min(count, len(segments))], "/"); !strings.Contains(page, name) {
				t.Errorf("%s imports %s, and docs/DEPENDENCIES.md does not say why", file.path, name)
			}
		}
	}
}

// pages reads every page, by its slash path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	tree := os.DirFS(treeRoot)
	names, err := fs.Glob(tree, "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, name := range append(names, "README.md", "CHANGELOG.md") {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

// Pages link only to what is there, and name only Go files that are there.
func TestPagesNameWhatIsThere(t *testing.T) {
	link, goFile := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`), regexp.MustCompile("`([a-z][a-z0-9_/-]*/[a-z0-9_]+\\.go)`")
	for page, text := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(treeRoot, path.Dir(page), match[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, match[1], err)
			}
		}
		for _, match := range goFile.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(treeRoot, match[1])); err != nil {
				t.Errorf("%s names %s: %v", page, match[1], err)
			}
		}
	}
}

// A promise whose test was renamed or removed would still read well. Pages name a test as `TestName` (folder/file_test.go).
func TestPagesNameRealTests(t *testing.T) {
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)` \\(([a-z0-9_/.-]+_test\\.go)\\)")
	texts, checked := map[string]string{}, 0
	for _, file := range sources(t) {
		texts[file.path] = file.text
	}
	for page, text := range pages(t) {
		for _, match := range named.FindAllStringSubmatch(text, -1) {
			checked++
			if !strings.Contains(texts[match[2]], "\nfunc "+match[1]+"(") {
				t.Errorf("%s names %s of %s, which is not there", page, match[1], match[2])
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d tests are named: docs/GUARANTEES.md names one behind each promise", checked)
	}
}

func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir(treeRoot)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name, expected := entry.Name(), topFiles
		if entry.IsDir() {
			expected = topFolders
		}
		ignored := slices.ContainsFunc(topIgnored, func(pattern string) bool {
			matches, _ := path.Match(pattern, name) // the patterns are sound
			return matches
		})
		if !slices.Contains(expected, name) && !ignored {
			t.Errorf("%s is not part of the layout (docs/ARCHITECTURE.md)", name)
		}
	}
}
