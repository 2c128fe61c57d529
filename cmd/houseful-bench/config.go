package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// defaultServer is measured when neither --server nor --start is given.
const defaultServer = "http://127.0.0.1:8080"

// config is what a run was asked to do. The JSON report repeats it, without the key.
type config struct {
	Server      string   `json:"server,omitempty"`
	Start       bool     `json:"start"`
	Binary      string   `json:"binary,omitempty"`
	ServerArgs  []string `json:"serverArgs,omitempty"`
	ServerPID   int      `json:"serverPid,omitempty"`
	Directory   string   `json:"directory,omitempty"`
	AllowRemote bool     `json:"allowRemote"`
	Key         string   `json:"-"`

	Workloads   []string      `json:"workloads"`
	Connections int           `json:"connections"`
	Rate        float64       `json:"ratePerSecond,omitempty"`
	Duration    time.Duration `json:"durationNanoseconds"`
	Warmup      time.Duration `json:"warmupNanoseconds"`
	Rounds      int           `json:"rounds"`

	Seats           int    `json:"seats"`
	Shows           int    `json:"shows"`
	ShowSeats       int    `json:"showSeats"`
	HotSeats        int    `json:"hotSeats"`
	IdempotencyKeys bool   `json:"idempotencyKeys"`
	AcceptEncoding  string `json:"acceptEncoding,omitempty"`

	JSON bool `json:"-"`
}

// defaultConfig gives what each flag is when it is not given.
func defaultConfig() config {
	return config{
		Workloads:   []string{workloadHold},
		Connections: 512,
		Duration:    10 * time.Second,
		Warmup:      2 * time.Second,
		Rounds:      5,
		Seats:       2,
		Shows:       500,
		ShowSeats:   500,
		HotSeats:    screenSeatsMax,
	}
}

// validate says which flag to change, and how. Its errors wrap errUsage.
func (c *config) validate() error {
	slot := c.Duration / time.Duration(max(c.Rounds, 1))
	switch {
	case c.Start && c.Server != "":
		return fmt.Errorf("%w: --start and --server exclude each other", errUsage)
	case !c.Start && (c.Binary != "" || len(c.ServerArgs) > 0):
		return fmt.Errorf("%w: --houseful and --server-arg need --start", errUsage)
	case c.ServerPID < 0 || c.Start && c.ServerPID != 0:
		return fmt.Errorf("%w: --server-pid: the process behind --server on this machine", errUsage)
	case len(c.Workloads) == 0:
		return fmt.Errorf("%w: --workload: name at least one of %s", errUsage, strings.Join(workloadNames(), ", "))
	case c.Rounds < 1 || c.Rounds > roundsMax:
		return fmt.Errorf("%w: --rounds: from 1 to %d", errUsage, roundsMax)
	case c.Duration <= 0 || c.Duration > durationMax:
		return fmt.Errorf("%w: --duration: up to %v", errUsage, durationMax)
	case slot < slotMin:
		return fmt.Errorf("%w: --duration: a round has %v; at least %v each", errUsage, slot, slotMin)
	case c.Warmup < 0 || c.Warmup > warmupMax:
		return fmt.Errorf("%w: --warmup: up to %v", errUsage, warmupMax)
	case c.Rate < 0 || c.Rate > rateMax || c.Rate != c.Rate:
		return fmt.Errorf("%w: --rate: from 1 to %d requests per second, or 0 for a closed loop", errUsage, rateMax)
	}
	if err := c.validateCounts(); err != nil {
		return err
	}
	return c.validateWorkloads()
}

// validateCounts checks the flags that are plain numbers.
func (c *config) validateCounts() error {
	for _, check := range []struct {
		flag             string
		value, low, high int
	}{
		{"connections", c.Connections, 1, connectionsMax},
		{"seats", c.Seats, 1, seatsMax},
		{"shows", c.Shows, 1, spreadShowsMax},
		{"show-seats", c.ShowSeats, c.Seats, screenSeatsMax},
		{"hot-seats", c.HotSeats, c.Seats, screenSeatsMax},
	} {
		if check.value < check.low || check.value > check.high {
			return fmt.Errorf("%w: --%s: from %d to %d", errUsage, check.flag, check.low, check.high)
		}
	}
	if strings.ContainsAny(c.AcceptEncoding+c.Key, "\r\n") {
		return fmt.Errorf("%w: --accept-encoding and --key are one line", errUsage)
	}
	return nil
}

// validateWorkloads checks the names, takes "spread" as the other name of the hold, and drops repetitions.
func (c *config) validateWorkloads() error {
	var names []string
	for _, name := range c.Workloads {
		if name == workloadSpread {
			name = workloadHold
		}
		if !slices.Contains(workloadNames(), name) {
			return fmt.Errorf("%w: --workload %q: one of %s", errUsage, name, strings.Join(workloadNames(), ", "))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	c.Workloads = names
	return nil
}

// serverAddress gives host:port of --server, and refuses what is not this machine unless --allow-remote is given:
// this program is made to take a server to its limit.
func (c *config) serverAddress(ctx context.Context) (string, error) {
	raw := c.Server
	if raw == "" {
		raw = defaultServer
	}
	target, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: --server: %w", errUsage, err)
	case target.Scheme != "http" || target.Hostname() == "" || strings.Trim(target.Path, "/") != "":
		return "", fmt.Errorf("%w: --server %q: of the form %s", errUsage, raw, defaultServer)
	}
	port := target.Port()
	if port == "" {
		port = "80"
	}
	if !c.AllowRemote {
		if err := checkLoopback(ctx, target.Hostname()); err != nil {
			return "", err
		}
	}
	return net.JoinHostPort(target.Hostname(), port), nil
}

// checkLoopback refuses a host with an address that is not loopback.
func checkLoopback(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return fmt.Errorf("--server: looking up the host: %w", err)
	}
	remote := func(address netip.Addr) bool { return !address.Unmap().IsLoopback() }
	if len(addresses) == 0 || slices.ContainsFunc(addresses, remote) {
		return fmt.Errorf("%w: --server: %s is not this machine; say --allow-remote if the load may go there", errUsage, host)
	}
	return nil
}
