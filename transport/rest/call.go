package rest

import (
	"bytes"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fastjson"

	"github.com/houseful/houseful/fsm"
)

// Call is one request on its way through the server, with what is reused from request to request. It belongs to the
// goroutine that serves the request, and neither it nor anything it gave out may be kept after the handler returned.
type Call struct {
	*fasthttp.RequestCtx
	server *Server

	route     *Route
	principal Principal
	headers   requestHeaders
	watch     *connWatch
	params    [pathParamsMax][]byte
	requestID []byte
	started   time.Time

	parser    fastjson.Parser
	oversized bool   // the parser has grown on a large body
	scratch   []byte // for digests and small texts
	hold      holdRequest
}

// reset prepares a pooled call for its next request.
func (c *Call) reset(ctx *fasthttp.RequestCtx) {
	c.RequestCtx, c.route, c.principal = ctx, nil, Principal{}
	c.params = [pathParamsMax][]byte{}
	c.scanHeaders()
}

// host gives the name the client used for this server.
func (c *Call) host() []byte {
	if uri := c.Request.Header.RequestURI(); len(uri) > 0 && uri[0] != '/' {
		return c.Host() // absolute form: the URI's host counts, not the header's
	}
	return c.Request.Header.Host()
}

// rawPath gives the path as it was sent, without the query.
func (c *Call) rawPath() []byte {
	uri := c.Request.Header.RequestURI()
	if len(uri) == 0 || uri[0] != '/' {
		return c.URI().PathOriginal()
	}
	if end := bytes.IndexByte(uri, '?'); end >= 0 {
		return uri[:end]
	}
	return uri
}

// safeMethod reports whether the request only asks.
func (c *Call) safeMethod() bool { return c.IsGet() || c.IsHead() || c.IsOptions() }

// pathID gives the path's i-th parameter, which must be an id, percent-encoded or not; any other text is invalid.
func (c *Call) pathID(i int) (string, error) {
	raw := c.params[i]
	if validID(raw) {
		return string(raw), nil
	}
	text, err := url.PathUnescape(string(raw))
	if err != nil || !validID(text) {
		return "", invalid(c.route.params()[i], "must be 1 to %d characters out of A-Z a-z 0-9 . _ ~ -", IDCharsMax)
	}
	return text, nil
}

// showID gives the show that the path names.
func (c *Call) showID() (fsm.ShowID, error) {
	id, err := c.pathID(0)
	return fsm.ShowID(id), err
}

// query gives a query parameter; ok is false when it is absent.
func (c *Call) query(name string) (text string, ok bool, err error) {
	value := c.QueryArgs().Peek(name)
	if value == nil {
		return "", c.QueryArgs().Has(name), nil
	}
	if !utf8.Valid(value) || len(value) > TextCharsMax {
		return "", true, invalid(name, "must be UTF-8 of at most %d bytes", TextCharsMax)
	}
	return string(value), true, nil
}

// queryID gives a query parameter that is an id, "" when it is absent.
func (c *Call) queryID(name string) (string, error) {
	text, ok, err := c.query(name)
	if err != nil || !ok {
		return "", err
	}
	if !validID(text) {
		return "", invalid(name, "must be 1 to %d characters out of A-Z a-z 0-9 . _ ~ -", IDCharsMax)
	}
	return text, nil
}

// queryInteger gives a query parameter that is a whole number within bounds, or fallback when it is absent.
func (c *Call) queryInteger(name string, fallback, least, most uint64) (uint64, error) {
	if !c.QueryArgs().Has(name) {
		return fallback, nil
	}
	v, err := fasthttp.ParseUint(c.QueryArgs().Peek(name))
	if err != nil || uint64(v) < least || uint64(v) > most {
		return 0, invalid(name, "must be a whole number, %d to %d", least, most)
	}
	return uint64(v), nil
}

// queryLimit gives the list's page size.
func (c *Call) queryLimit() (int, error) {
	limit, err := c.queryInteger("limit", PageDefault, 1, PageMax)
	return int(limit), err
}

// body reads the request's body as an object with the listed fields. Its values are valid until the call ends.
func (c *Call) body(fields []string) (object, error) {
	if err := c.checkContentType(); err != nil {
		return object{}, err
	}
	body := c.PostBody()
	if err := checkJSON(body); err != nil {
		return object{}, err
	}
	c.oversized = c.oversized || len(body) > bodyBytesKept
	value, err := c.parser.ParseBytes(body)
	if err != nil {
		return object{}, invalid("body", "is not valid JSON: %s", clip(jsonProblem(err)))
	}
	o := readObject(value, "", fields)
	if o.err != nil {
		return object{}, o.err
	}
	return o, nil
}

// noBody refuses a body where the call takes none. An empty object is none.
func (c *Call) noBody() error {
	if len(bytes.TrimSpace(c.PostBody())) == 0 {
		return nil
	}
	_, err := c.body(nil)
	return err
}

func (c *Call) checkContentType() error {
	if len(c.headers.contentEncoding) > 0 {
		return refuse(fasthttp.StatusUnsupportedMediaType, codeUnsupportedMediaType, "bodies are sent without Content-Encoding")
	}
	value := c.Request.Header.ContentType()
	if len(value) == 0 || string(value) == mimeJSON || jsonMediaType(string(value)) {
		return nil
	}
	return refuse(fasthttp.StatusUnsupportedMediaType, codeUnsupportedMediaType, "Content-Type must be application/json")
}

// jsonMediaType reports whether a Content-Type is JSON, its charset UTF-8 when it names one.
func jsonMediaType(value string) bool {
	kind, params, _ := strings.Cut(strings.ToLower(value), ";")
	if strings.TrimSpace(kind) != mimeJSON {
		return false
	}
	for _, param := range strings.Split(params, ";") {
		name, charset, _ := strings.Cut(strings.TrimSpace(param), "=")
		if charset = strings.Trim(charset, `"`); name == "charset" && charset != "utf-8" && charset != "utf8" {
			return false
		}
	}
	return true
}

const mimeJSON = "application/json"

// buffer takes the response's body buffer, empty, to append an answer to; answer gives it back.
func (c *Call) buffer() []byte { return c.Response.SwapBody(nil)[:0] }

// answer answers with a JSON body that was appended to buffer. The connection keeps its buffer for the next answer,
// unless this one was large: ten thousand idle connections must not each hold a page of a thousand bookings.
func (c *Call) answer(status int, body []byte) error {
	c.Response.SetStatusCode(status)
	c.Response.Header.SetContentType(mimeJSON)
	if cap(body) > responseBytesKept {
		c.Response.SetBodyRaw(body)
		return nil
	}
	c.Response.SwapBody(body)
	return nil
}

// setHeader sets a response header.
func (c *Call) setHeader(name, value string) { c.Response.Header.Set(name, value) }
