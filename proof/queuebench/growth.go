package queuebench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/proof/report"
	"github.com/millrace-go/millrace/proof/together"
)

// Growth sizes a run of [RunGrowth]. The zero value is the published one.
type Growth struct {
	URL      string        // of Redis, when there is no redis-server to start
	People   []int         // that wait; 1,000, 10,000, 100,000 and 1,000,000
	Admitted int           // in a tick; 100, as queue has it
	Span     time.Duration // of each measurement; 2 s
	Rounds   int           // interleaved rounds; 3
	PoolSize int           // connections of the client; 10 for each processor
	Event    string        // of the keys; "grow"
}

func (g Growth) withDefaults() Growth {
	if g.People == nil {
		g.People = []int{1000, 10_000, 100_000, 1_000_000}
	}
	g.Admitted = cmp.Or(g.Admitted, 100)
	g.Rounds = cmp.Or(g.Rounds, 3)
	g.PoolSize = cmp.Or(g.PoolSize, 10*runtime.GOMAXPROCS(0))
	g.Span = cmp.Or(g.Span, 2*time.Second)
	g.Event = cmp.Or(g.Event, "grow")
	return g
}

// grown is the result of one line in one round.
type grown struct {
	polls   result
	pings   float64       // per second, in pipelines of as many as signs of life in a call
	depth   float64       // signs of life in a call
	admit   time.Duration // of a tick
	blocked time.Duration // for which the tick kept Redis
	empty   time.Duration // of an empty script, median
}

// waiting is a line of so many people.
type waiting struct {
	people int
	*contender
}

// RunGrowth measures how polls and admissions grow with the number of waiting
// people, beside the limits of Redis: PINGs in pipelines of the same depth, and an
// empty script. It leaves nothing behind.
func RunGrowth(ctx context.Context, cfg Growth, out *report.Recorder) (err error) {
	cfg = cfg.withDefaults()
	if least := slices.Min(cfg.People); least <= cfg.Admitted {
		return fmt.Errorf("%d wait and %d are admitted in a tick; give more people", least, cfg.Admitted)
	}
	s, err := redisserver.Open(ctx, cfg.URL)
	if err != nil {
		return fmt.Errorf("open Redis: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var lines []waiting
	for _, n := range cfg.People {
		event := fmt.Sprintf("%s-%d", cfg.Event, n)
		if !s.Own {
			defer func() { err = errors.Join(err, leave(context.WithoutCancel(ctx), Config{URL: cfg.URL, Event: event})) }()
		}
		c, err := openMillrace(s, Config{Event: event, PoolSize: cfg.PoolSize})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.room.close()) }()
		if err := c.lineUp(ctx, n); err != nil {
			return fmt.Errorf("%d people: fill: %w", n, err)
		}
		lines = append(lines, waiting{n, c})
		fmt.Fprintf(out, "%d people have lined up\n", n)
	}
	all, err := report.Interleave(out, cfg.Rounds, cfg.People, func(round, people int) (grown, string, error) {
		w := lines[slices.Index(cfg.People, people)]
		got, err := w.grow(ctx, s, cfg, rand.New(rand.NewPCG(uint64(round), uint64(people))))
		return got, fmt.Sprintf("%8d wait  %10.0f polls/s  %10.0f PINGs/s (%.0f deep)  a tick takes %6.2f ms, an empty script %5.3f ms",
			people, got.polls.Rate, got.pings, got.depth, ms(got.admit), ms(got.empty)), err
	})
	if err != nil {
		return err
	}
	cfg.record(all, out)
	return nil
}

// grow measures a line once, and leaves its length unchanged.
func (w waiting) grow(ctx context.Context, s *redisserver.Server, cfg Growth, draw *rand.Rand) (got grown, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*deadline)
	defer cancel()
	if got.polls, err = w.passes(ctx, s, cfg, draw); err != nil {
		return got, fmt.Errorf("polls: %w", err)
	}
	got.depth = 1
	if got.polls.Calls > 0 {
		got.depth = max(1, 1/got.polls.Calls)
	}
	if got.pings, err = pings(ctx, s, int(got.depth+0.5), cfg.Span/2); err != nil {
		return got, fmt.Errorf("PING: %w", err)
	}
	if err := w.room.ready(ctx); err != nil {
		return got, err
	}
	blocked, err := s.Blocked(ctx, func() error {
		start := time.Now()
		err := w.enter(ctx, cfg.Admitted)
		got.admit = time.Since(start)
		return err
	})
	if err != nil {
		return got, fmt.Errorf("admit: %w", err)
	}
	got.blocked = blocked.AtOnce()
	if got.empty, err = emptyScript(ctx, s); err != nil {
		return got, err
	}
	return got, w.lineUp(ctx, w.people-len(w.contender.people))
}

// passes makes all people poll once in a random order, by a new Room, and again by
// another new Room until the time is over.
func (w waiting) passes(ctx context.Context, s *redisserver.Server, cfg Growth, draw *rand.Rand) (all result, err error) {
	const most = 200
	calls, told := 0.0, 0.0
	for pass := 0; pass < most && all.Passed < cfg.Span; pass++ {
		got, _, err := w.load(ctx, s, Config{Span: cfg.Span, Event: cfg.Event}, poll, draw)
		if err != nil {
			return all, err
		}
		all.CPU = (all.CPU*time.Duration(all.N) + got.CPU*time.Duration(got.N)) / time.Duration(all.N+got.N)
		all.Redis = (all.Redis*time.Duration(all.N) + got.Redis*time.Duration(got.N)) / time.Duration(all.N+got.N)
		// Each Room first got a sign of life from each caller, told once.
		got.told *= float64(got.N+callers) / float64(got.N)
		calls, told = calls+got.Calls*float64(got.N), told+got.told*float64(got.N)
		all.N, all.Passed = all.N+got.N, all.Passed+got.Passed
	}
	if all.N == 0 || all.Passed == 0 {
		return all, errors.New("nobody polled")
	}
	all.Rate, all.Calls, all.told = float64(all.N)/all.Passed.Seconds(), calls/float64(all.N), told/float64(all.N)
	if all.told < 0.99 {
		return all, fmt.Errorf("of the polls %.1f %% were told to Redis, want 99 %%: they would be cheap", 100*all.told)
	}
	return all, nil
}

// pings is how many PINGs a second Redis answers in pipelines of a depth.
func pings(ctx context.Context, s *redisserver.Server, depth int, span time.Duration) (rate float64, err error) {
	const clients = 4
	client := s.Client(clients)
	defer func() { err = errors.Join(err, client.Close()) }()
	var n atomic.Int64
	start := time.Now()
	err = together.For(clients, span, func(_ int, over *atomic.Bool) error {
		for !over.Load() {
			_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
				for range depth {
					p.Ping(ctx)
				}
				return nil
			})
			if err != nil {
				return err
			}
			n.Add(int64(depth))
		}
		return nil
	})
	return float64(n.Load()) / time.Since(start).Seconds(), err
}

// emptyScript is the cost of a call of a script that does nothing.
func emptyScript(ctx context.Context, s *redisserver.Server) (_ time.Duration, err error) {
	client, script := s.Client(1), redis.NewScript("return 1")
	defer func() { err = errors.Join(err, client.Close()) }()
	var took []time.Duration
	for range 101 {
		start := time.Now()
		if err := script.Run(ctx, client, []string{"{empty}"}).Err(); err != nil {
			return 0, fmt.Errorf("an empty script: %w", err)
		}
		took = append(took, time.Since(start))
	}
	return report.Median(took, func(d time.Duration) time.Duration { return d }), nil
}

// record keeps the results.
func (g Growth) record(all map[int][]grown, out *report.Recorder) {
	out.Title("medians of %d rounds of %s; %d callers; %d are admitted in a tick; the client has %d connections", g.Rounds, g.Span, callers, g.Admitted, g.PoolSize)
	out.Chart(report.Chart{Name: "polls", Title: "Polls, by how many wait", Unit: "polls/s", X: "people who wait", Note: "each poll opens a ticket and is told to Redis as a sign of life"})
	out.Chart(report.Chart{Name: "admit", Title: fmt.Sprintf("A tick that admits %d, by how many wait", g.Admitted), Unit: "ms", X: "people who wait"})
	for _, n := range g.People {
		got, x := all[n], report.Number(n)
		add := func(chart, name string, role report.Role, colour int, of func(grown) float64) {
			out.Figure(report.Figure{Chart: chart, Name: name, Role: role, Colour: colour, X: x, Rounds: report.Rounds(got, of)})
		}
		report.Paced(out, report.Figure{Chart: "polls", Name: "polls", Role: report.Ours, X: x,
			EngineCPU: report.Number(report.Median(got, func(v grown) float64 { return report.Micros(v.polls.Redis) }))}, got, func(v grown) report.Pace { return v.polls.Pace })
		add("polls", "limit: PING in pipelines as deep", report.Limit, -1, func(v grown) float64 { return v.pings })
		add("admit", "a tick", report.Ours, 0, func(v grown) float64 { return ms(v.admit) })
		add("admit", "of it, Redis serves nobody else", report.Ours, 1, func(v grown) float64 { return ms(v.blocked) })
		add("admit", "limit: an empty script", report.Limit, -1, func(v grown) float64 { return ms(v.empty) })
	}
	for _, n := range g.People {
		polls := make([]float64, len(all[n]))
		limits := make([]float64, len(all[n]))
		for i, v := range all[n] {
			polls[i], limits[i] = v.polls.Rate, v.pings
		}
		out.Told(fmt.Sprintf("polls/s, %d wait / PINGs/s", n), report.Between(polls, limits, func(v float64) float64 { return v }, "1/s"))
		out.Told(fmt.Sprintf("polls that a call of Redis tells, %d wait", n), report.Value(report.Median(all[n], func(v grown) float64 { return v.depth }), "polls"))
	}
}
