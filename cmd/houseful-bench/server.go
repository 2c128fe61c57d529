package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// serverPackage is what is built when there is no binary to start.
const serverPackage = "github.com/houseful/houseful/cmd/houseful"

// target is the server under test: one that runs, or one that this run started.
type target struct {
	address string
	child   *child // nil: not ours
	process int    // its id; 0: unknown
	folder  string // temporary; "" when nothing of the run is on disk
}

// openTarget finds or starts the server, and waits until it is ready.
func openTarget(ctx context.Context, cfg *config, notice func(string)) (*target, error) {
	t := &target{process: cfg.ServerPID}
	var err error
	if cfg.Start || cfg.Directory != "" {
		if t.folder, err = os.MkdirTemp(cfg.Directory, "houseful-bench-"); err != nil {
			return nil, fmt.Errorf("making a folder for the run: %w", err)
		}
	}
	if cfg.Start {
		err = t.start(ctx, cfg, notice)
	} else {
		t.address, err = cfg.serverAddress(ctx)
	}
	if err == nil {
		notice("waiting for the server")
		err = t.waitReady(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// start runs houseful on an empty data directory and a free port.
func (t *target) start(ctx context.Context, cfg *config, notice func(string)) error {
	binary, err := t.findBinary(ctx, cfg.Binary, notice)
	if err != nil {
		return err
	}
	if t.address, err = freeAddress(); err != nil {
		return err
	}
	args := append([]string{"serve", "--data-dir", filepath.Join(t.folder, "data"), "--http", t.address}, cfg.ServerArgs...)
	command := exec.Command(binary, args...)
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "HOUSEFUL_") // what is measured is what the flags say
	})
	if t.child, err = startChild("server", command); err != nil {
		return err
	}
	t.process = t.child.pid()
	return nil
}

// findBinary gives the binary that was named, the one beside this program, or one built from the module here.
func (t *target) findBinary(ctx context.Context, named string, notice func(string)) (string, error) {
	if named != "" {
		return named, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "houseful")
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	notice("building houseful")
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	binary := filepath.Join(t.folder, "houseful")
	output, err := exec.CommandContext(ctx, "go", "build", "-o", binary, serverPackage).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("no houseful beside this program, and none can be built here (%w): name one with --houseful\n%s",
			err, strings.TrimSpace(string(output)))
	}
	return binary, nil
}

// freeAddress gives a loopback address that nobody listens on at this moment.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// waitReady asks /readyz until it says 200.
func (t *target) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, serverStartTimeout, fmt.Errorf("the server was not ready within %v", serverStartTimeout))
	defer cancel()
	ticker := time.NewTicker(progressInterval / 4)
	defer ticker.Stop()
	client := &fasthttp.HostClient{Addr: t.address, MaxIdemponentCallAttempts: 1}
	defer client.CloseIdleConnections()
	for {
		if err := t.failure(); err != nil {
			return err
		}
		status, reason, err := client.GetTimeout(nil, "http://"+t.address+"/readyz", time.Second)
		if err == nil && status == fasthttp.StatusOK {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("/readyz says %d: %s", status, reason)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}

// failure says why a server started here is gone; nil while it runs.
func (t *target) failure() error {
	if t.child == nil {
		return nil
	}
	return t.child.failure()
}

// close ends a server started here and removes what the run left on disk.
func (t *target) close() error {
	var err error
	if t.child != nil {
		err = t.child.stop(serverStopGrace)
	}
	if t.folder != "" {
		err = errors.Join(err, os.RemoveAll(t.folder))
	}
	return err
}
