package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// bencher is one run: the server under test, and the workloads that take turns on it.
type bencher struct {
	cfg         config
	progress    *progress
	target      *target
	catalogue   *catalogue
	connections []*connection // to the server; the workloads share them
	contests    []*contest
}

// bench is a whole run: prepare, warm up, rounds, report.
func bench(ctx context.Context, cfg config, stdout, stderr io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, runBudget(&cfg), fmt.Errorf("the run took longer than %v", runBudget(&cfg)))
	defer cancel()
	b := &bencher{cfg: cfg, progress: newProgress(stderr)}
	result, err := b.run(ctx)
	err = errors.Join(err, b.close())
	b.progress.close()
	if err != nil {
		return err
	}
	if cfg.JSON {
		return result.writeJSON(stdout)
	}
	return result.writeText(stdout)
}

// runBudget bounds a run: what was asked for, every slot ending with requests that time out, and preparation.
func runBudget(cfg *config) time.Duration {
	slots := time.Duration(2 * (cfg.Rounds + 1))
	workload := 2*(cfg.Duration+cfg.Warmup) + slots*(rampDuration+answerTimeout) + prepareBudget
	return time.Duration(len(cfg.Workloads)) * workload
}

// run does everything but end what it started.
func (b *bencher) run(ctx context.Context) (*report, error) {
	var err error
	if b.target, err = openTarget(ctx, &b.cfg, b.progress.say); err != nil {
		return nil, err
	}
	b.connections = newConnections(b.target.address, b.cfg.Connections)
	if b.catalogue, err = newCatalogue(b.target.address, b.cfg.Key, b.progress.say); err != nil {
		return nil, err
	}
	if err := b.catalogue.city(ctx); err != nil {
		return nil, err
	}
	for _, name := range b.cfg.Workloads {
		c, err := b.newContest(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		b.contests = append(b.contests, c)
	}
	if err := b.measure(ctx); err != nil {
		return nil, err
	}
	return newReport(&b.cfg, b.contests), nil
}

// measure warms up every workload, then lets them take turns. The order of the two sides changes from round to round,
// so that neither always follows the other's garbage.
func (b *bencher) measure(ctx context.Context) error {
	if b.cfg.Warmup > 0 {
		for _, c := range b.contests {
			for _, s := range c.sides {
				if _, err := b.slot(ctx, c, s, b.cfg.Warmup, "warming up"); err != nil {
					return err
				}
			}
		}
	}
	for round := range b.cfg.Rounds {
		label := fmt.Sprintf("round %d of %d", round+1, b.cfg.Rounds)
		for _, c := range b.contests {
			for i := range c.sides {
				if err := b.measuredSlot(ctx, c, c.sides[(i+round)%len(c.sides)], label); err != nil {
					return err
				}
			}
			if c.probe != nil {
				if err := c.probe.round(ctx); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// measuredSlot runs one slot and keeps what it gave.
func (b *bencher) measuredSlot(ctx context.Context, c *contest, s *side, label string) error {
	result, err := b.slot(ctx, c, s, b.cfg.Duration/time.Duration(b.cfg.Rounds), label)
	if err != nil {
		return err
	}
	s.slots = append(s.slots, result)
	return nil
}

// slot prepares the server for a slot, runs it, and fails when the run was ended or a process is gone.
func (b *bencher) slot(ctx context.Context, c *contest, s *side, length time.Duration, label string) (*slotResult, error) {
	shape := slotShape{ramp: min(rampDuration, length), measured: length, rate: c.rate}
	if s.kind == sideReal {
		if err := c.stock(ctx, shape); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	b.progress.say(fmt.Sprintf("%s · %s · %s", c.name, s.kind, label))
	result := c.run(ctx, shape, s, b.progress)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if err := b.target.failure(); err != nil {
		return nil, err
	}
	if err := c.echo.child.failure(); err != nil {
		return nil, err
	}
	if result.requests == 0 || sum(result.tally.Statuses) == 0 {
		return nil, fmt.Errorf("%s: no answer from %s in a whole round: not applied %v, unknown %v", c.name, s.kind, result.tally.NotApplied, result.tally.Unknown)
	}
	return result, nil
}

// close hangs up and ends what the run started, the server last.
func (b *bencher) close() error {
	b.progress.say("stopping")
	hangUpAll(b.connections)
	var err error
	for _, c := range b.contests {
		err = errors.Join(err, c.close())
	}
	if b.catalogue != nil {
		b.catalogue.close()
	}
	if b.target != nil {
		err = errors.Join(err, b.target.close())
	}
	return err
}
