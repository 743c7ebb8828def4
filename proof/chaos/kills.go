package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
)

// readyWithin bounds a start; recovery from a crash must not take long.
const readyWithin = time.Minute

// killAll kills the whole box office at every drawn moment, and leaves it running.
func killAll(ctx context.Context, s *stage) error {
	for i, m := range s.cfg.moments() {
		s.setState("kill %d of %d", i+1, s.cfg.kills)
		if err := s.liveAndDie(ctx, m); err != nil {
			return fmt.Errorf("life %d: %w", i+1, err)
		}
	}
	p, err := s.serve(ctx)
	if err != nil {
		return fmt.Errorf("the last start: %w", err)
	}
	s.live = append(s.live, p)
	return nil
}

// liveAndDie starts the box office and kills it at its moment.
func (s *stage) liveAndDie(ctx context.Context, m moment) error {
	var p *launch.Process
	var err error
	if m.starting {
		p, err = s.launch.Serve("box office", "all", s.addr, nil)
	} else {
		p, err = s.serve(ctx)
	}
	if err != nil {
		return err
	}
	defer p.Kill() // when the context ends first
	timer := time.NewTimer(m.after)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		if p.Kill() {
			return nil
		}
	case <-p.Done():
	}
	return fmt.Errorf("the box office ended by itself (%s):\n%s", p.End(), p.Tail())
}

// serve starts the whole box office.
func (s *stage) serve(ctx context.Context) (*launch.Process, error) {
	return s.ready(ctx, "box office", "all", s.addr, nil)
}

// ready starts a process of the box office, waits until it is ready, and notes how long
// that took.
func (s *stage) ready(ctx context.Context, name, roles, addr string, env map[string]string) (*launch.Process, error) {
	start := time.Now()
	p, err := s.launch.StartServe(ctx, name, roles, addr, readyWithin, env)
	if err == nil {
		s.recovered(time.Since(start))
	}
	return p, err
}
