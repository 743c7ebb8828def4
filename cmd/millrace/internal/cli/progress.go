package cli

import (
	"fmt"
	"sync"
	"time"
)

// How often progress is shown: over itself on a terminal, as lines elsewhere.
const (
	drawEvery = 100 * time.Millisecond
	lineEvery = 5 * time.Second
)

// progress shows the progress of long work: over itself on a terminal, else as a line now
// and then, and only on the standard error.
type progress struct {
	app   *app
	every time.Duration

	mu    sync.Mutex
	last  time.Time
	drawn bool
}

func (a *app) progress() *progress {
	p := &progress{app: a, every: lineEvery, last: time.Now()}
	if a.Asks {
		p.every, p.last = drawEvery, time.Time{}
	}
	return p
}

// draw shows the progress, unless it has just done so.
func (p *progress) draw(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.last) < p.every {
		return
	}
	p.show(fmt.Sprintf(format, args...))
}

// step always shows the step that begins: there are few of them.
func (p *progress) step(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.show(fmt.Sprintf(format, args...))
}

func (p *progress) show(line string) {
	p.last = time.Now()
	if !p.app.Asks {
		p.app.say("%s", line)
		return
	}
	p.drawn = true
	_, _ = fmt.Fprintf(p.app.Err, "\r\x1b[K%s", line) // a closed terminal needs no progress
}

// end removes the line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		p.drawn = false
		_, _ = fmt.Fprint(p.app.Err, "\r\x1b[K") // as above
	}
}
