package onsale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/filesettings"
)

// atTheOpening is the goal for the time from the opening until people are inside.
const atTheOpening = 5 * time.Second

// presale is a room with an opening, before which a crowd lines up.
type presale struct {
	*sale
	opens  time.Time
	folder string // of the settings, and of what is published

	drawn       time.Duration // from the opening, negative before it
	first, full time.Duration // from the opening until the first is inside, and until the room is full
	told        []answered    // of each person, after the room was full
}

// answered is the last answer to a person.
type answered struct {
	leaf     string
	inside   bool
	position int
}

// Presale has all people line up before an opening, lets the room draw their order, and
// compares the place that each was told with the place that what is published gives: by
// package draw, and by the program at verify, in Python, unless that is empty.
func Presale(ctx context.Context, cfg Config, verify string, out io.Writer) (err error) {
	cfg = cfg.withDefaults()
	cfg.NoShow = 10 * time.Minute // no one gives a turn back: the places stand still for the comparison
	cfg.Crash, cfg.Leave = 0, 0
	if err := cfg.validate(); err != nil {
		return fmt.Errorf("onsale: %w", err)
	}
	p := &presale{}
	if p.folder, err = os.MkdirTemp("", "millrace-presale-"); err != nil {
		return fmt.Errorf("onsale: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.folder)) }()
	settings, err := filesettings.Open(filepath.Join(p.folder, "settings.json"))
	if err != nil {
		return fmt.Errorf("onsale: %w", err)
	}
	cfg.settings = settings
	p.sale = newSale(cfg)
	defer func() { err = errors.Join(err, p.close()) }()
	if err = p.open(ctx); err == nil {
		err = p.run(ctx, out)
	}
	if err != nil {
		return fmt.Errorf("onsale: %w", err)
	}
	checks, err := p.checks(ctx, verify)
	if err != nil {
		return fmt.Errorf("onsale: %w", err)
	}
	return judge.Conclude(screen.New(out, true), checks)
}

// beacon is the value of the run's beacon. A real one is a round of drand, say.
func beacon(context.Context, string) ([]byte, error) { return []byte("known after the freeze"), nil }

// run sets the opening, lets people come, and ends when all have asked for their place
// after the room was full.
func (p *presale) run(ctx context.Context, out io.Writer) error {
	room := p.instances[0].room
	state, err := room.State(ctx, p.cfg.Event)
	if err != nil {
		return err
	}
	p.opens = state.Now.Add(2*p.cfg.Arrive + 2*driver.FreezeBefore)
	if _, err := room.OpenAt(ctx, p.cfg.Event, p.opens, "a value of this run"); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s people come within %s before an opening, to %d instances; then their order is drawn, and %s may be inside\n\n",
		screen.Thousands(p.cfg.People), p.cfg.Arrive, p.cfg.Instances, screen.Thousands(p.cfg.Threshold))
	end := p.begin(ctx)
	crowd, full := context.WithCancel(ctx)
	defer full()
	var people sync.WaitGroup
	people.Go(func() { p.schedule.run(crowd, p.cfg.Workers, func(n int32) time.Duration { return p.act(ctx, n) }) })
	err = p.watch(ctx, out)
	full()
	people.Wait()
	if err == nil {
		err = p.askAll(ctx)
	}
	return errors.Join(end(), err, ctx.Err())
}

// longest is how long after the opening the room has to be full. It bounds a broken run.
const longest = 2 * time.Minute

// watch looks at the room until it is full.
func (p *presale) watch(ctx context.Context, out io.Writer) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	said := time.Time{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		s, err := p.instances[0].room.State(ctx, p.cfg.Event)
		if err != nil {
			return err
		}
		since := s.Now.Sub(p.opens)
		see := func(when *time.Duration, happened bool) {
			if happened && *when == 0 {
				*when = since
			}
		}
		// Phase is that of the draw until the room is open, and 0 then.
		see(&p.drawn, s.Phase == driver.Opened || s.Opens.IsZero())
		see(&p.first, s.Active+s.Entitled > 0)
		see(&p.full, s.Active+s.Entitled >= min(p.cfg.Threshold, p.cfg.People))
		if s.Now.Sub(said) >= time.Second || p.full != 0 {
			said = s.Now
			fmt.Fprintf(out, "%5.1f s to the opening  arrived %s  waiting %s  let in %s  %s\n", -since.Seconds(), screen.Thousands(p.arrived.Load()),
				screen.Thousands(s.Waiting), screen.Thousands(s.Active+s.Entitled), phases[s.Phase])
		}
		if p.full != 0 {
			return nil
		}
		if since > longest {
			return fmt.Errorf("%s after the opening %d people are inside, of %d that may be", since.Round(time.Second), s.Active, p.cfg.Threshold)
		}
	}
}

var phases = map[driver.Phase]string{driver.Frozen: "frozen", driver.Rooted: "the leaves are published", driver.Seeded: "the seed is published", driver.Opened: "drawn"}

// askAll has each person poll until the turns that have come are taken, and each
// instance's snapshot knows that the room is full. Then all ask for their place and
// their receipt.
func (p *presale) askAll(ctx context.Context) error {
	p.told = make([]answered, len(p.people))
	poll := func(ctx context.Context, n int32, one *person) error {
		a, err := p.caller.call(ctx, p.next(one), p.check, user(n), one.ticket)
		p.told[n].inside = a.Status == "active"
		return err
	}
	tick := time.NewTicker(time.Second) // the age of a snapshot
	defer tick.Stop()
	for {
		if err := p.each(ctx, poll); err != nil {
			return err
		}
		settled, err := p.settled(ctx)
		if err != nil {
			return err
		}
		if settled {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	receipt := action{http.MethodGet, "/api/queue/receipt/" + p.cfg.Event}
	return p.each(ctx, func(ctx context.Context, n int32, one *person) error {
		place, err := p.caller.call(ctx, p.next(one), p.check, user(n), one.ticket)
		if err != nil {
			return err
		}
		mine, err := p.caller.call(ctx, p.next(one), receipt, user(n), "")
		p.told[n] = answered{mine.Leaf, place.Status == "active", place.Position}
		return err
	})
}

// settled reports whether all instances tell a person in line that the room is full. A person
// inside would not do: the store answers that one, and a snapshot answers those in line.
func (p *presale) settled(ctx context.Context) (bool, error) {
	n := slices.IndexFunc(p.told, func(a answered) bool { return !a.inside })
	if n < 0 {
		return true, nil
	}
	for _, i := range p.instances {
		a, err := p.caller.call(ctx, i, p.check, user(int32(n)), p.people[n].ticket)
		if err != nil || a.QueueSize != p.cfg.People-min(p.cfg.Threshold, p.cfg.People) {
			return false, err
		}
	}
	return true, nil
}

// each calls fn for each person, of several at once.
func (p *presale) each(ctx context.Context, fn func(ctx context.Context, n int32, one *person) error) error {
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(p.cfg.Workers)
	for n := range p.people {
		if ctx.Err() != nil {
			break
		}
		calls.Go(func() error { return fn(ctx, int32(n), &p.people[n]) })
	}
	return calls.Wait()
}
