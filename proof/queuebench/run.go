package queuebench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/proof/report"
	"github.com/millrace-go/millrace/queue/driver"
)

// Config sizes a run. The zero value is the published one.
type Config struct {
	URL      string        // of Redis, when there is no redis-server to start
	People   int           // that wait; 1,000,000
	Ticks    []int         // how many are admitted in a tick; 100, 1,000 and 10,000
	Dead     int           // that are swept; 300,000
	Span     time.Duration // of each load; 1.5 s
	Rounds   int           // interleaved rounds; 5
	PoolSize int           // connections of each client; 10 for each processor, as go-redis has it
	Event    string        // of the keys; "bench"
}

func (c Config) withDefaults() Config {
	c.People = cmp.Or(c.People, 1_000_000)
	c.Dead = cmp.Or(c.Dead, 300_000)
	c.Rounds = cmp.Or(c.Rounds, 5)
	c.PoolSize = cmp.Or(c.PoolSize, 10*runtime.GOMAXPROCS(0))
	if c.Ticks == nil {
		c.Ticks = []int{100, 1000, 10_000}
	}
	c.Span = cmp.Or(c.Span, 1500*time.Millisecond)
	c.Event = cmp.Or(c.Event, "bench")
	return c
}

func (c Config) validate() error {
	admitted := 0
	for _, n := range c.Ticks {
		admitted += n
	}
	if c.Dead < 1 || c.People < 1 || admitted+c.Dead > c.People {
		return fmt.Errorf("of %d who wait %d cannot be admitted and %d be swept; give more people", c.People, admitted, c.Dead)
	}
	return nil
}

// callers is the number of concurrent callers, of polls and of joins.
const callers = 64

// grace is how long a silent person keeps a place.
const grace = 600 * time.Second

// Run measures and writes the report. It leaves nothing behind.
func Run(ctx context.Context, cfg Config, out *report.Recorder) (err error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return err
	}
	s, err := redisserver.Open(ctx, cfg.URL)
	if err != nil {
		return fmt.Errorf("open Redis: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if !s.Own {
		fmt.Fprintln(out, "there is no redis-server in PATH: figures of Redis count what others do with the given one")
		defer func() { err = errors.Join(err, leave(context.WithoutCancel(ctx), cfg)) }()
	}
	f := &figures{loads: map[line][]result{}, halts: map[line][]halt{}, memory: map[string]float64{}}
	if f.gate, err = behindGate(ctx, s, cfg); err != nil {
		return fmt.Errorf("the front gate: %w", err)
	}
	var all []*contender
	for _, open := range []func() (*contender, error){
		func() (*contender, error) { return openMillrace(s, cfg) },
		func() (*contender, error) { return openPeer(s, cfg), nil },
	} {
		c, err := open()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.room.close()) }()
		all = append(all, c)
		if err := f.fill(ctx, s, cfg, c, out); err != nil {
			return fmt.Errorf("%s: fill: %w", c.name, err)
		}
	}
	for round := 1; round <= cfg.Rounds; round++ {
		out.Round(round, cfg.Rounds)
		if err := f.round(ctx, s, cfg, all, round, out); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	f.table(cfg, all, out)
	f.goals(cfg, out)
	return nil
}

// leave removes all keys from a Redis that others use.
func leave(ctx context.Context, cfg Config) error {
	return errors.Join(place.SweepRedis(ctx, cfg.URL, place.RoomPrefix(cfg.Event)), place.SweepRedis(ctx, cfg.URL, "{"+cfg.Event+"-plain}:"))
}

// fill lines the people up, and measures their memory.
func (f *figures) fill(ctx context.Context, s *redisserver.Server, cfg Config, c *contender, out *report.Recorder) error {
	before, err := s.Used(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := c.lineUp(ctx, cfg.People); err != nil {
		return err
	}
	took := time.Since(start)
	after, err := s.Used(ctx)
	if err != nil {
		return err
	}
	f.memory[c.name] = float64(after.Memory-before.Memory) / float64(cfg.People)
	fmt.Fprintf(out, "%-14s %d people have lined up in %s: %.0f B each\n", c.name, cfg.People, took.Round(100*time.Millisecond), f.memory[c.name])
	return nil
}

// round measures all loads once, and leaves the lengths of the lines unchanged.
func (f *figures) round(ctx context.Context, s *redisserver.Server, cfg Config, all []*contender, round int, out *report.Recorder) error {
	draw := rand.New(rand.NewPCG(uint64(round), 5))
	for _, what := range loads {
		for _, c := range all {
			got, ok, err := c.load(ctx, s, cfg, what, draw)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, what, err)
			}
			if ok {
				f.loads[line{what, c.name}] = append(f.loads[line{what, c.name}], got)
				fmt.Fprintf(out, "round %d  %-20s %-14s %10.0f /s\n", round, what, c.name, got.Rate)
			}
		}
	}
	for _, c := range all {
		if c.name != millrace {
			continue // the peer's calls are for one person each
		}
		what := visit(driver.MaxVisits)
		if err := f.halt(ctx, s, c, round, what, out, func() error { return c.lineUp(ctx, driver.MaxVisits) }); err != nil {
			return fmt.Errorf("%s, %s: %w", c.name, what, err)
		}
	}
	for _, n := range cfg.Ticks {
		for _, c := range all {
			if err := c.room.ready(ctx); err != nil {
				return err
			}
			if err := f.halt(ctx, s, c, round, admit(n), out, func() error { return c.enter(ctx, n) }); err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, admit(n), err)
			}
		}
	}
	for _, c := range all {
		dead, living := split(c.people, cfg.Dead, draw)
		if err := c.room.strike(ctx, living, dead); err != nil {
			return fmt.Errorf("%s: prepare the sweep: %w", c.name, err)
		}
		if err := f.halt(ctx, s, c, round, sweep(cfg.Dead), out, func() error { return c.sweep(ctx, living, len(dead)) }); err != nil {
			return fmt.Errorf("%s, %s: %w", c.name, sweep(cfg.Dead), err)
		}
		if err := c.lineUp(ctx, cfg.People-len(c.people)); err != nil {
			return fmt.Errorf("%s: fill up: %w", c.name, err)
		}
	}
	return nil
}

// halt measures for how long a tick or a sweep blocks Redis at once.
func (f *figures) halt(ctx context.Context, s *redisserver.Server, c *contender, round int, what string, out *report.Recorder, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	var took time.Duration
	b, err := s.Blocked(ctx, func() error {
		start := time.Now()
		err := do()
		took = time.Since(start)
		return err
	})
	if err != nil {
		return err
	}
	l := line{what, c.name}
	f.halts[l] = append(f.halts[l], halt{b, took})
	fmt.Fprintf(out, "round %d  %-20s %-14s blocks Redis for %7.2f ms at once\n", round, what, c.name, ms(b.AtOnce()))
	return nil
}
