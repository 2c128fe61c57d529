package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// contest is one workload on the server and on an echo of its answers.
type contest struct {
	name  string
	load  workload
	rate  float64 // of an open loop; 0: closed
	echo  *echo
	sides [2]*side
	probe *diskProbe // of the idle workload, when the disk is known

	fastest float64 // requests per second that the server took so far, done or not
}

// side is one of the two servers, with what was measured on it.
type side struct {
	kind        sideKind
	connections []*connection
	pid         int // 0: unknown
	slots       []*slotResult
}

// newContest prepares a workload: its catalogue, a sample of the answers, and the echo that gives them.
func (b *bencher) newContest(ctx context.Context, name string) (*contest, error) {
	load, err := newWorkload(name, &b.cfg, b.catalogue)
	if err != nil {
		return nil, err
	}
	c := &contest{name: name, load: load, rate: b.cfg.Rate}
	connections := b.connections
	if name == workloadIdle {
		c.rate, connections = 0, connections[:1]
	}
	if err := load.stock(ctx, int64(samplesPerStep*len(load.steps()))); err != nil {
		return nil, err
	}
	b.progress.say(name + " · sampling answers")
	answers, err := takeSamples(ctx, load, b.target.address)
	if err != nil {
		return nil, err
	}
	if name == workloadIdle && b.target.folder != "" {
		if c.probe, err = newDiskProbe(b.target.folder); err != nil {
			return nil, err
		}
	}
	if c.echo, err = startEcho(answers); err != nil {
		return nil, errors.Join(err, c.close())
	}
	c.sides = [2]*side{
		{kind: sideReal, connections: connections, pid: b.target.process},
		{kind: sideEcho, connections: newConnections(c.echo.address, len(connections)), pid: c.echo.child.pid()},
	}
	return c, nil
}

// stock prepares requests for one more slot, by what the fastest one so far used.
func (c *contest) stock(ctx context.Context, shape slotShape) error {
	rate := c.rate
	if rate == 0 {
		if rate = c.fastest * stockMargin; rate == 0 {
			rate = min(firstRateGuess, idleRateGuess*float64(len(c.sides[0].connections)))
		}
	}
	length := shape.ramp + shape.measured
	return c.load.stock(ctx, int64(rate*length.Seconds())+int64(len(c.sides[0].connections)))
}

// run drives one slot and adds the processor time that both processes used in it.
func (c *contest) run(ctx context.Context, shape slotShape, s *side, live *progress) *slotResult {
	began := time.Now()
	serverBefore, serverKnown := cpuTime(s.pid)
	clientBefore, clientKnown := cpuTime(os.Getpid())
	result := runSlot(ctx, shape, c.load, s.kind, s.connections, live)
	if after, ok := cpuTime(s.pid); ok && serverKnown {
		result.serverCPU = after - serverBefore
	}
	if after, ok := cpuTime(os.Getpid()); ok && clientKnown {
		result.clientCPU = after - clientBefore
	}
	if s.kind == sideReal {
		c.fastest = max(c.fastest, float64(result.requests)/time.Since(began).Seconds())
	}
	return result
}

// close ends the echo and removes the probe's file.
func (c *contest) close() error {
	var err error
	if c.echo != nil {
		err = c.echo.stop()
	}
	if c.sides[1] != nil {
		hangUpAll(c.sides[1].connections)
	}
	if c.probe != nil {
		err = errors.Join(err, c.probe.close())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}
