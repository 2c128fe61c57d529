package rest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

const specFile = "../../docs/openapi.yaml"

// roleField names the extension with an operation's least role.
const roleField = "x-minimum-role"

func loadSpec(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile(specFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatalf("%s: %v", specFile, err)
	}
	return doc
}

// contract is a client transport that holds every request and answer against docs/openapi.yaml: an answer has the
// form of its status, with no field that the document does not know, and a request that was accepted is one that the
// document allows.
type contract struct {
	t      *testing.T
	next   http.RoundTripper
	router routers.Router

	mu   sync.Mutex
	seen map[string]map[int]bool // statuses by operation
}

// underContract makes a test's client watch the contract.
func underContract(t *testing.T, a *testAPI) *contract {
	t.Helper()
	doc := loadSpec(t)
	closeSchemas(doc)
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	c := &contract{t: t, next: http.DefaultTransport.(*http.Transport).Clone(), router: router, seen: map[string]map[int]bool{}}
	a.client.Transport = c
	return c
}

// closeSchemas refuses fields that are not documented. Clients must take new fields, so the document itself is open.
func closeSchemas(doc *openapi3.T) {
	closed := map[*openapi3.Schema]bool{}
	var visit func(ref *openapi3.SchemaRef)
	visit = func(ref *openapi3.SchemaRef) {
		if ref == nil || ref.Value == nil || closed[ref.Value] {
			return
		}
		schema := ref.Value
		closed[schema] = true
		if schema.Properties != nil && schema.AdditionalProperties.Schema == nil {
			no := false
			schema.AdditionalProperties.Has = &no
		}
		for _, property := range schema.Properties {
			visit(property)
		}
		visit(schema.Items)
		visit(schema.AdditionalProperties.Schema)
		for _, list := range []openapi3.SchemaRefs{schema.OneOf, schema.AllOf, schema.AnyOf} {
			for _, each := range list {
				visit(each)
			}
		}
	}
	for _, schema := range doc.Components.Schemas {
		visit(schema)
	}
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			for _, response := range operation.Responses.Map() {
				for _, media := range response.Value.Content {
					visit(media.Schema)
				}
			}
		}
	}
}

// CloseIdleConnections lets http.Client close the connections beneath.
func (c *contract) CloseIdleConnections() { c.next.(*http.Transport).CloseIdleConnections() }

// RoundTrip makes a request and checks what went and came.
func (c *contract) RoundTrip(request *http.Request) (*http.Response, error) {
	var sent []byte
	if request.Body != nil {
		var err error
		if sent, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
		request.Body = io.NopCloser(bytes.NewReader(sent))
	}
	response, err := c.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	route, params, err := c.router.FindRoute(request)
	if err != nil {
		if response.StatusCode < 400 {
			c.t.Errorf("%s %s answers %d and is not documented: %v", request.Method, request.URL, response.StatusCode, err)
		}
		return response, nil
	}
	c.note(route.Operation.OperationID, response.StatusCode)
	isStream := response.Header.Get("Content-Type") == "text/event-stream"
	var body []byte
	if !isStream {
		if body, err = io.ReadAll(response.Body); err != nil {
			return nil, err
		}
		_ = response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(body))
	}
	c.check(request, route, params, sent, response, body, isStream)
	return response, nil
}

func (c *contract) check(request *http.Request, route *routers.Route, params map[string]string, sent []byte, response *http.Response, body []byte, isStream bool) {
	copied := request.Clone(request.Context())
	copied.Body = io.NopCloser(bytes.NewReader(sent))
	if len(sent) > 0 && copied.Header.Get("Content-Type") == "" {
		copied.Header.Set("Content-Type", mimeJSON)
	}
	input := &openapi3filter.RequestValidationInput{
		Request: copied, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true, ExcludeResponseBody: isStream, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
			SkipSettingDefaults: true,
		},
	}
	input.Options.WithCustomSchemaErrorFunc(func(err *openapi3.SchemaError) string {
		return fmt.Sprintf("at %s: %s", strings.Join(err.JSONPointer(), "."), err.Reason)
	})
	ctx := context.Background()
	if response.StatusCode < 300 {
		if err := openapi3filter.ValidateRequest(ctx, input); err != nil {
			c.t.Errorf("%s %s %s was accepted, but is not what the document allows: %v", request.Method, request.URL, sent, err)
		}
	}
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: response.StatusCode, Header: response.Header, Options: input.Options,
	}
	answer.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(ctx, answer); err != nil {
		c.t.Errorf("%s %s answered %d %.500s, which the document does not allow: %v", request.Method, request.URL, response.StatusCode, body, err)
	}
}

func (c *contract) note(operation string, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[operation] == nil {
		c.seen[operation] = map[int]bool{}
	}
	c.seen[operation][status] = true
}

// Every route has its line in the document with the same name and role, and every line has its route.
func TestRoutesMatchSpec(t *testing.T) {
	a := startAPI(t)
	doc := loadSpec(t)
	documented := map[string]*openapi3.Operation{}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			documented[method+" "+path] = operation
		}
	}
	for _, route := range a.server.Routes() {
		key := route.Method + " " + route.Pattern
		operation := documented[key]
		if operation == nil {
			t.Errorf("%s is not in %s", key, specFile)
			continue
		}
		delete(documented, key)
		if operation.OperationID != route.Name {
			t.Errorf("%s is %s in the server and %s in the document", key, route.Name, operation.OperationID)
		}
		if role := fmt.Sprint(operation.Extensions[roleField]); role != route.Role.String() {
			t.Errorf("%s: the server needs the role %s, the document says %s", key, route.Role, role)
		}
	}
	for key := range documented {
		t.Errorf("%s is in the document and not in the server", key)
	}
}

// mustSee reports whether the script must have seen a documented status. A healthy node on an idle machine gives no
// 503; a provider that takes its time gives 202; and a read is 403 for buyers, who come with keys and tokens.
func mustSee(operation, status string) bool {
	switch status + " " + operation {
	case "202 confirmBooking", "403 getBooking", "403 listBookings", "403 findBooking":
		return false
	}
	return status != "default" && status != "503"
}

// TestContract runs a script over every operation, and through every status that it can provoke.
func TestContract(t *testing.T) {
	a := startAPI(t)
	c := underContract(t, a)
	script := &contractScript{testAPI: a}
	script.catalogue()
	script.browse()
	script.seats()
	script.booking()
	script.staff()
	script.operations()
	script.commonRefusals(loadSpec(t))
	doc := loadSpec(t)
	var missed []string
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			for status := range operation.Responses.Map() {
				var code int
				_, _ = fmt.Sscan(status, &code)
				if mustSee(operation.OperationID, status) && !c.seen[operation.OperationID][code] {
					missed = append(missed, operation.OperationID+" "+status)
				}
			}
		}
	}
	slices.Sort(missed)
	if len(missed) > 0 {
		t.Errorf("documented and never seen:\n%s", strings.Join(missed, "\n"))
	}
}
