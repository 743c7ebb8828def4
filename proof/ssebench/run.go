package ssebench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/proof/report"
)

// Config sizes a run. The zero value is the published one.
type Config struct {
	Conns  int           // open streams of each contender; 10,000
	Size   int           // bytes of an event on the wire; 200
	Burst  int           // events that come at once; 30
	Span   time.Duration // of each load; 2 s
	Rounds int           // interleaved rounds; 5
	Held   int           // streams that are held with pings; 50,000
	Ping   time.Duration // between pings of those; 20 s, as sse has it
	Pings  int           // that each of those has to get; 2
	Most   int           // streams of a process; as many as it may have files
}

func (c Config) withDefaults() Config {
	c.Conns = cmp.Or(c.Conns, 10_000)
	c.Size = cmp.Or(c.Size, 200)
	c.Burst = cmp.Or(c.Burst, 30)
	c.Rounds = cmp.Or(c.Rounds, 5)
	c.Held = cmp.Or(c.Held, 50_000)
	c.Pings = cmp.Or(c.Pings, 2)
	c.Most = cmp.Or(c.Most, mostFiles()-spareFiles)
	c.Span = cmp.Or(c.Span, 2*time.Second)
	c.Ping = cmp.Or(c.Ping, 20*time.Second)
	return c
}

func (c Config) validate() error {
	if c.Conns < 1 || c.Conns > c.Most {
		return fmt.Errorf("a process may have %d streams, and %d are to be measured; raise its limit of open files (ulimit -n)", c.Most, c.Conns)
	}
	if c.Size < minSize {
		return fmt.Errorf("an event has %d bytes; give at least %d", c.Size, minSize)
	}
	return nil
}

// result is the result of one contender in one round.
type result struct {
	fresh, idle   float64     // bytes of memory for each stream
	single, burst report.Pace // of messages, and the server's processor time
}

// Run measures and writes the report.
func Run(ctx context.Context, cfg Config, out *report.Recorder) error {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return err
	}
	names := make([]string, len(contenders))
	for i, c := range contenders {
		names[i] = c.name
	}
	all, err := report.Interleave(out, cfg.Rounds, names, func(_ int, name string) (result, string, error) {
		got, err := measure(ctx, cfg, name)
		return got, fmt.Sprintf("%-18s %6.2f kB a stream  %6.0f k/s  %6.0f k/s in bursts", name, got.idle/1e3, got.single.Rate/1e3, got.burst.Rate/1e3), err
	})
	if err != nil {
		return err
	}
	f := figures(all)
	f.table(cfg, out)
	f.goals(cfg, out)
	for _, name := range []string{lean, portable} {
		if err := hold(ctx, cfg, name, out); err != nil {
			return fmt.Errorf("hold %d streams, %s: %w", cfg.Held, name, err)
		}
	}
	return nil
}

// measure opens the streams of one contender, and sends to all of them.
func measure(ctx context.Context, cfg Config, name string) (_ result, err error) {
	p, err := openPair(ctx, cfg, name, cfg.Conns, time.Hour) // no ping while others are measured
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	got := result{fresh: p.fresh, idle: p.idle}
	if got.single, err = (fleet{p}).load(ctx, cfg.Span, 1); err != nil {
		return result{}, err
	}
	got.burst, err = fleet{p}.load(ctx, cfg.Span, cfg.Burst)
	return got, err
}
