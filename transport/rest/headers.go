package rest

// requestHeaders are the request headers that most calls look at, found in one pass. A lookup by name walks all
// headers each time; a hold makes six. nil is absent.
type requestHeaders struct {
	requestID        []byte
	authorization    []byte
	origin           []byte
	contentEncoding  []byte
	acceptEncoding   []byte
	idempotencyKey   []byte
	xIdempotencyKey  []byte
	ifNoneMatch      []byte
	lastEventID      []byte
	corsMethodWanted []byte
}

// scanHeaders fills c.headers. Of a header that comes twice the first counts.
func (c *Call) scanHeaders() {
	h := &c.headers
	*h = requestHeaders{}
	for key, value := range c.Request.Header.All() {
		var field *[]byte
		switch string(key) {
		case "X-Request-Id":
			field = &h.requestID
		case "Authorization":
			field = &h.authorization
		case "Origin":
			field = &h.origin
		case "Content-Encoding":
			field = &h.contentEncoding
		case "Accept-Encoding":
			field = &h.acceptEncoding
		case "Idempotency-Key":
			field = &h.idempotencyKey
		case "X-Idempotency-Key":
			field = &h.xIdempotencyKey
		case "If-None-Match":
			field = &h.ifNoneMatch
		case "Last-Event-Id":
			field = &h.lastEventID
		case "Access-Control-Request-Method":
			field = &h.corsMethodWanted
		default:
			continue
		}
		if *field != nil {
			continue
		}
		if *field = value; value == nil {
			*field = []byte{}
		}
	}
}
