package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/houseful/houseful/cluster"
	"github.com/houseful/houseful/cmd/houseful/internal/client"
	"github.com/houseful/houseful/cmd/houseful/internal/config"
	"github.com/houseful/houseful/cmd/houseful/internal/demo"
	"github.com/houseful/houseful/transport/rest"
)

const (
	// readyCheckEvery is how often a starting node is asked whether it can serve.
	readyCheckEvery = 20 * time.Millisecond
	// demoCallTimeout bounds one call of the demo's loader.
	demoCallTimeout = 30 * time.Second
)

// server is a running node with its HTTP API. It lives from open to stop, in one call of serve.
type server struct {
	settings config.Serve
	logger   *slog.Logger

	listener net.Listener
	node     *cluster.Node
	api      *rest.Server

	work   sync.WaitGroup // goroutines of start
	served chan error     // what became of the API
}

// serve runs a node until ctx ends (nil after a clean stop) or the node cannot go on.
//
// The order is: the port first, because a taken one is the commonest mistake and touches nothing; then the data
// folder; then HTTP, which answers /readyz while the shards come up. The stop goes the other way round.
func serve(ctx context.Context, settings config.Serve, logger *slog.Logger) error {
	tuneProcess(settings, logger)
	s := &server{settings: settings, logger: logger, served: make(chan error, 1)}
	if err := s.open(ctx); err != nil {
		return adviseStart(err, settings)
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.start(background)
	reason := s.wait(ctx)
	cancel()
	return errors.Join(adviseStart(reason, settings), s.stop())
}

// open takes the port and the data folder. After an error nothing is left open.
func (s *server) open(ctx context.Context) (err error) {
	if s.listener, err = net.Listen("tcp", s.settings.HTTP); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newVersionMetric(),
	)
	if s.node, err = cluster.Open(ctx, s.clusterConfig(registry)); err != nil {
		return errors.Join(err, s.listener.Close())
	}
	api := rest.DefaultConfig(s.node)
	api.Registry, api.Logger = registry, s.logger
	api.CORSOrigins, api.TestClock = s.settings.CORSOrigins, s.settings.TestClock
	if s.api, err = rest.New(api); err != nil {
		return errors.Join(err, s.node.Close(ctx), s.listener.Close())
	}
	return nil
}

func (s *server) clusterConfig(registry prometheus.Registerer) cluster.Config {
	c := cluster.DefaultConfig()
	c.DataDir, c.NodeID, c.Zone, c.Shards = s.settings.DataDir, s.settings.NodeID, s.settings.Zone, s.settings.Shards
	c.HTTPAddress = s.listener.Addr().String()
	c.TestClock, c.RequestTimeout = s.settings.TestClock, s.settings.RequestTimeout
	c.FreeSpaceFloorBytes = int64(s.settings.FreeSpaceFloorMiB) << 20
	c.SnapshotBytes = int64(s.settings.SnapshotKiB) << 10
	c.Logger, c.Registerer = s.logger, registry
	return c
}

// start begins to serve. Its goroutines end when ctx ends and the API is shut down; stop waits for them.
func (s *server) start(ctx context.Context) {
	dataDir, err := filepath.Abs(s.settings.DataDir)
	if err != nil {
		dataDir = s.settings.DataDir
	}
	s.logger.Info("listening", "http", s.address(), "dataDir", dataDir, "node", s.settings.NodeID, "version", readBuildVersion().Version)
	s.logger.Warn("no keys: whoever can open a connection from this machine may do everything")
	if s.settings.TestClock {
		s.logger.Warn("test clock: whoever may call the API may move the time")
	}
	s.work.Go(func() { s.served <- s.api.Serve(s.listener) })
	if s.settings.Demo {
		s.work.Go(func() { s.demoWhenReady(ctx) })
	}
}

func (s *server) address() string { return "http://" + s.listener.Addr().String() }

// demoWhenReady waits until the node can serve, and from then on keeps the demo's catalogue up to date.
func (s *server) demoWhenReady(ctx context.Context) {
	ticker := time.NewTicker(readyCheckEvery)
	defer ticker.Stop()
	for s.node.Ready() != nil {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
	s.runDemo(ctx)
}

func (s *server) runDemo(ctx context.Context) {
	loopback, err := client.New(s.address(), demoCallTimeout)
	if err != nil {
		s.logger.Error("demo catalogue not loaded", "error", err)
		return
	}
	defer loopback.Close()
	now := func() time.Time { return s.node.Now().Std() }
	demo.Run(ctx, loopback, now, func(summary demo.Summary, err error) {
		if err != nil {
			s.logger.Error("demo catalogue not loaded; it is tried again within the hour", "error", err)
			return
		}
		s.logger.Info("demo catalogue loaded", "created", summary.Created, "kept", summary.Kept,
			"try", s.address()+"/api/v1/shows/"+summary.FirstID+"/seats", "startsAt", summary.FirstAt)
	})
}

// wait blocks until there is a reason to stop: nil when ctx ended, else what failed.
func (s *server) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		s.logger.Info("stopping: finishing what is in flight; a second signal stops at once", "atMost", s.settings.StopTimeout)
		return nil
	case <-s.node.Failed():
		return fmt.Errorf("the node cannot go on: %w", s.node.Err())
	case err := <-s.served:
		return fmt.Errorf("serve HTTP: %w", err)
	}
}

// stop finishes what is in flight, at most as long as the settings say, and lets go of everything.
func (s *server) stop() error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), s.settings.StopTimeout)
	defer cancel()
	err := s.api.Shutdown(ctx)
	err = errors.Join(err, s.node.Close(ctx))
	s.work.Wait()
	if err != nil {
		return fmt.Errorf("not everything in flight could be finished: %w\nwhat was acknowledged is on disk; for more time give --stop-timeout", err)
	}
	s.logger.Info("stopped", "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// newVersionMetric tells dashboards which version a node runs.
func newVersionMetric() prometheus.Collector {
	version := readBuildVersion()
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "houseful_build_info", Help: "Always 1; the labels say which version runs.",
	}, []string{"version", "revision", "go"})
	gauge.WithLabelValues(version.Version, version.Revision, version.Go).Set(1)
	return gauge
}

// adviseStart adds to an error what to do about it.
func adviseStart(err error, settings config.Serve) error {
	advice := ""
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EADDRINUSE):
		advice = "something listens there already; stop it, or give another --http"
	case errors.Is(err, syscall.EACCES):
		advice = "this user may not; give another --http or --data-dir, or change the permissions"
	case errors.Is(err, cluster.ErrDataDirLocked):
		advice = fmt.Sprintf("another houseful runs on %s; stop it, or give another --data-dir", settings.DataDir)
	case errors.Is(err, cluster.ErrBirth):
		advice = "the number of shards is fixed when the data folder is made; leave --shards out, or give another --data-dir"
	case errors.Is(err, cluster.ErrIdentity):
		advice = "give the --node-id and --data-dir that belong together"
	default:
		return err
	}
	return fmt.Errorf("%w\n%s", err, advice)
}
