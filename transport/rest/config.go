package rest

import (
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/houseful/houseful/cluster"
	"github.com/houseful/houseful/transport/payment"
)

// Config says what a server serves and how. Start from DefaultConfig.
type Config struct {
	Node     *cluster.Node
	Payments *payment.Providers
	// Registry takes the server's own metrics and is what GET /metrics shows. Give it the node's as well.
	Registry *prometheus.Registry
	Logger   *slog.Logger

	CORSOrigins []string // exactly these may call from a browser page of another origin; never with credentials
	TestClock   bool     // POST /api/v1/test/clock/advance exists

	BodyBytesMax   int
	HeaderBytesMax int
	ConnectionsMax int
	RequestsMax    int
	ReadTimeout    time.Duration
	WriteTimeout   time.Duration
	IdleTimeout    time.Duration
}

// DefaultConfig gives the limits of limits.go, the sandbox payment provider and no logging.
func DefaultConfig(node *cluster.Node) Config {
	return Config{
		Node:           node,
		Payments:       payment.NewProviders(payment.Sandbox{}),
		Registry:       prometheus.NewRegistry(),
		Logger:         slog.New(slog.DiscardHandler),
		BodyBytesMax:   BodyBytesMax,
		HeaderBytesMax: HeaderBytesMax,
		ConnectionsMax: ConnectionsMax,
		RequestsMax:    RequestsMax,
		ReadTimeout:    ReadTimeout,
		WriteTimeout:   WriteTimeout,
		IdleTimeout:    IdleTimeout,
	}
}

// Validate says what to change. Its errors are ErrConfig.
func (c *Config) Validate() error {
	switch {
	case c.Node == nil || c.Payments == nil || c.Registry == nil || c.Logger == nil:
		return fmt.Errorf("%w: node, payment providers, registry and logger are needed", ErrConfig)
	case c.BodyBytesMax < 1 || c.HeaderBytesMax < 1 || c.ConnectionsMax < 1 || c.RequestsMax < 1:
		return fmt.Errorf("%w: limits of body, header, connections and requests must be at least 1", ErrConfig)
	case c.ReadTimeout <= 0 || c.WriteTimeout <= 0 || c.IdleTimeout <= 0:
		return fmt.Errorf("%w: read, write and idle timeouts must be longer than 0", ErrConfig)
	}
	for _, origin := range c.CORSOrigins {
		if !validOrigin(origin) {
			return fmt.Errorf("%w: CORS origin %q is not like https://tickets.example.com", ErrConfig, origin)
		}
	}
	return nil
}

// validOrigin reports whether text is a scheme, a host and perhaps a port, as a browser sends it.
func validOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.Scheme+"://"+u.Host == text
}
