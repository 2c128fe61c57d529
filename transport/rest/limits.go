package rest

import "time"

// The limits of the HTTP server. Each has a default here; those in [Config] can be changed.
const (
	// BodyBytesMax is the largest request body; a larger one is refused unread.
	BodyBytesMax = 64 << 10
	// HeaderBytesMax is the most bytes of request line and headers; it is also each connection's read buffer.
	HeaderBytesMax = 8 << 10
	// WriteBufferBytes is each connection's write buffer.
	WriteBufferBytes = 4 << 10
	// ConnectionsMax is how many connections are served at once; more are refused at once.
	ConnectionsMax = 32_768
	// connectionsSlack is by how much fasthttp's own bound lies above ConnectionsMax: it refuses in plain text, so ours
	// must be met first.
	connectionsSlack = 1024
	// acceptWaitMin and acceptWaitMax bound the pause after an accept that failed for want of files or memory.
	acceptWaitMin = 5 * time.Millisecond
	acceptWaitMax = time.Second
	// RequestsMax is how many requests may be in work at once; more are refused with OVERLOADED.
	RequestsMax = 16_384

	// ReadTimeout is how long one request may take to arrive, from its first byte to its last.
	ReadTimeout = 10 * time.Second
	// WriteTimeout is how long a client may take to accept an answer.
	WriteTimeout = 30 * time.Second
	// IdleTimeout is how long a connection may wait for its next request.
	IdleTimeout = 120 * time.Second
	// lingerTimeout and lingerBytesMax bound the draining of a refused body, without which the client might see a
	// reset connection before it has read why.
	lingerTimeout  = 2 * time.Second
	lingerBytesMax = 4 << 20

	// IDCharsMax is the longest id that a client may choose.
	IDCharsMax = 64
	// TextCharsMax is the longest free text, in bytes.
	TextCharsMax = 500
	// EmailCharsMax, PhoneCharsMax and LocaleCharsMax bound a buyer's contact, in bytes.
	EmailCharsMax  = 254
	PhoneCharsMax  = 32
	LocaleCharsMax = 35
	// PaymentRefCharsMax is the longest payment reference.
	PaymentRefCharsMax = 255
	// IdempotencyKeyCharsMax is the longest idempotency key.
	IdempotencyKeyCharsMax = 100
	// RequestIDCharsMax is the longest X-Request-Id that is taken over from a client.
	RequestIDCharsMax = 128
	// BodyDepthMax is how deep objects and arrays of a body may nest.
	BodyDepthMax = 16
	// bodyFieldsMax is the most fields that any object of the API has.
	bodyFieldsMax = 24
	// bodyBytesKept is the largest body after which a call's parser is reused: larger ones would pin their memory.
	bodyBytesKept = 8 << 10

	// responseBytesKept is the largest response buffer that a connection keeps for its next answer.
	responseBytesKept = 8 << 10

	// PageDefault and PageMax bound a list's limit.
	PageDefault = 100
	PageMax     = 1000

	// retrySoonSeconds is the Retry-After of a refusal that a moment may cure.
	retrySoonSeconds = 1
	// holdLimitRetrySeconds is the Retry-After of HOLD_LIMIT: nothing changes until a hold ends or is let go.
	holdLimitRetrySeconds = 30
	// testClockSecondsMax bounds one advance of the test clock: ten years.
	testClockSecondsMax = 10 * 366 * 24 * 3600
)
