package report

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/audit"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

// Progress shows a crowd while it runs.
type Progress struct {
	out    *screen.Screen
	office audit.Office
	fans   *crowd.Crowd
	start  time.Time
	// Head adds lines above the crowd's; optional.
	Head func() string
}

// NewProgress makes a progress display; it starts nothing.
func NewProgress(out *screen.Screen, office audit.Office, fans *crowd.Crowd, start time.Time) *Progress {
	return &Progress{out: out, office: office, fans: fans, start: start}
}

// Show draws until the crowd is done, which it reports on done, or something
// else is reported on ended. When ctx ends it waits for the crowd and returns
// the context's error.
func (p *Progress) Show(ctx context.Context, done, ended <-chan error) error {
	every := 200 * time.Millisecond
	if !p.out.Live() {
		every = time.Second
	}
	tick := time.NewTicker(every)
	defer tick.Stop()

	// The figures of the office come from a goroutine of their own: a slow or
	// unreachable office must not stop the display.
	asking, stop := context.WithCancel(ctx)
	latest := make(chan audit.Ops, 1)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		p.ask(asking, latest)
	}()
	defer func() { stop(); <-asked }()

	var rate Rate
	rate.Update(p.start, 0)
	var ops audit.Ops
	for {
		select {
		case err := <-done:
			return err
		case err := <-ended:
			return err
		case ops = <-latest:
			continue
		case <-tick.C:
		}
		now := p.fans.Progress()
		perSecond := rate.Update(time.Now(), now.Requests)
		head := ""
		if p.Head != nil {
			head = p.Head()
		}
		if !p.out.Live() {
			line := Line(time.Since(p.start), now, perSecond, ops)
			if head != "" {
				line += " | " + head
			}
			p.out.Print("%s\n", line)
			continue
		}
		frame := Frame(now, perSecond, ops, p.out.Width())
		if head != "" {
			frame = append([]string{head}, frame...)
		}
		p.out.Draw(frame)
	}
}

func (p *Progress) ask(ctx context.Context, latest chan<- audit.Ops) {
	for {
		look, cancel := context.WithTimeout(ctx, 2*time.Second)
		ops, err := p.office.Ops(look)
		cancel()
		if err == nil {
			select {
			case latest <- ops:
			case <-ctx.Done():
			}
		}
		if crowd.Sleep(ctx, time.Second) != nil {
			return
		}
	}
}
