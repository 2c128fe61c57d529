package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-isatty"
)

// progress tells a person what is going on: a line that is redrawn on a terminal, a line a slot elsewhere.
type progress struct {
	out      io.Writer
	terminal bool

	mutex sync.Mutex // guards label and out
	label string
	slot  atomic.Pointer[slot] // the one under way

	stop chan struct{}
	done sync.WaitGroup
}

// newProgress starts to draw; close ends it.
func newProgress(out io.Writer) *progress {
	p := &progress{out: out, stop: make(chan struct{})}
	if file, ok := out.(*os.File); ok {
		p.terminal = isatty.IsTerminal(file.Fd())
	}
	if p.terminal {
		p.done.Go(p.draw)
	}
	return p
}

// say sets what is going on now.
func (p *progress) say(label string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.label = label
	p.slot.Store(nil)
	if !p.terminal {
		fmt.Fprintln(p.out, label)
	}
}

// follow shows the figures of a slot from now on.
func (p *progress) follow(s *slot) { p.slot.Store(s) }

// close wipes the line.
func (p *progress) close() {
	close(p.stop)
	p.done.Wait()
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// draw redraws the line until close.
func (p *progress) draw() {
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.drawOnce()
		}
	}
}

func (p *progress) drawOnce() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	line := p.label
	if s := p.slot.Load(); s != nil {
		done, measured := s.recorder.done.Load(), time.Duration(s.now()-s.from).Seconds()
		if measured > 0 {
			line += fmt.Sprintf(" · %d done · %.0f/s", done, float64(done)/measured)
		}
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", line)
}
