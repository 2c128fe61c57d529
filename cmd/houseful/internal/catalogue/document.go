package catalogue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Document is a catalogue that passed the checks, with the places of its objects in the file.
type Document struct {
	File

	name string    // of the file, for complaints
	tree *ast.File // nil when the catalogue was not read from a file
}

// Item is an object on its way to the server.
type Item struct {
	Kind string // city, movie, theatre, screen, show
	ID   string
	Path string // of the API, for PUT and GET
	Body []byte // JSON

	section string
	index   int
}

// Open reads and checks a file. The error is a Problems when the content is at fault.
func Open(path string) (*Document, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, FileBytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(text) > FileBytesMax {
		return nil, fmt.Errorf("%s has more than %d MiB; split it, shows last", path, FileBytesMax>>20)
	}
	return Parse(path, text)
}

// Parse reads and checks the text of a file called name.
func Parse(name string, text []byte) (*Document, error) {
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, Problems{yamlProblem(name, err)}
	}
	document := &Document{name: name, tree: tree}
	if err := yaml.UnmarshalWithOptions(text, &document.File, yaml.Strict()); err != nil {
		return nil, Problems{yamlProblem(name, err)}
	}
	if problems := document.check(); len(problems) > 0 {
		return nil, problems
	}
	return document, nil
}

// New checks a catalogue that comes from elsewhere than a file; name stands for it in complaints.
func New(name string, file File) (*Document, error) {
	document := &Document{File: file, name: name}
	if problems := document.check(); len(problems) > 0 {
		return nil, problems
	}
	return document, nil
}

// Items gives the objects in the order in which they can be written: what is referred to comes first.
func (d *Document) Items() []Item {
	items := make([]Item, 0, len(d.Cities)+len(d.Movies)+len(d.Theatres)+len(d.Screens)+len(d.Shows))
	add := func(kind, section string, index int, id string, body any) {
		text, err := json.Marshal(body)
		if err != nil {
			panic(fmt.Sprintf("catalogue: %s %s: %v", kind, id, err)) // strings, integers and finite floats
		}
		path := "/api/v1/" + section + "/" + url.PathEscape(id)
		items = append(items, Item{Kind: kind, ID: id, Path: path, Body: text, section: section, index: index})
	}
	for i := range d.Cities {
		add("city", "cities", i, d.Cities[i].ID, &d.Cities[i])
	}
	for i := range d.Movies {
		add("movie", "movies", i, d.Movies[i].ID, &d.Movies[i])
	}
	for i := range d.Theatres {
		add("theatre", "theatres", i, d.Theatres[i].ID, &d.Theatres[i])
	}
	for i := range d.Screens {
		add("screen", "screens", i, d.Screens[i].ID, &d.Screens[i])
	}
	for i := range d.Shows {
		add("show", "shows", i, d.Shows[i].ID, &d.Shows[i])
	}
	return items
}

// problem is a complaint about a field of an object; field may be empty.
func (d *Document) problem(section string, index int, id, field, message string) Problem {
	path := fmt.Sprintf("%s[%d]", section, index)
	problem := Problem{File: d.name, Line: d.line(path, field), Path: path, ID: id, Message: message}
	if field != "" {
		problem.Path += "." + field
	}
	return problem
}

// line finds the line of a field, or of the nearest thing around it that is there. 0 is unknown.
func (d *Document) line(object, field string) int {
	if d.tree == nil {
		return 0
	}
	for path := "$." + object + "." + field; strings.ContainsAny(path, ".["); {
		path = strings.TrimSuffix(path, ".")
		if selector, err := yaml.PathString(path); err == nil {
			if node, err := selector.FilterFile(d.tree); err == nil && node != nil && node.GetToken() != nil {
				return firstToken(node)
			}
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}

// firstToken is the line on which a node begins. The token of a mapping is the colon of its first entry.
func firstToken(node ast.Node) int { return node.GetToken().Position.Line }

// yamlProblem turns an error of the YAML library into a complaint.
func yamlProblem(name string, err error) Problem {
	problem := Problem{File: name, Message: err.Error()}
	var located yaml.Error
	if errors.As(err, &located) {
		problem.Message = located.GetMessage()
		if token := located.GetToken(); token != nil {
			problem.Line = token.Position.Line
		}
	}
	return problem
}
