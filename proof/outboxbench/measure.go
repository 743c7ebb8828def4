package outboxbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/percentile"
	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/proof/part"
	"github.com/millrace-go/millrace/proof/report"
	"github.com/millrace-go/millrace/proof/together"
)

// Drain is the result of emptying a backlog with one system.
type Drain struct {
	Rate  float64       // events per second, from the first to the last
	Whole float64       // events per second, from the relay's start to the last
	Start time.Duration // from the relay's start to its first event
	CPU   time.Duration // processor time of this process, per event
}

// drain fills a backlog of n events and relays it.
func drain(ctx context.Context, s system, n, size int) (Drain, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if err := s.fill(ctx, n, payloadOf(size)); err != nil {
		return Drain{}, fmt.Errorf("fill: %w", err)
	}
	if err := s.at().Settle(ctx); err != nil {
		return Drain{}, err
	}
	var published atomic.Int64
	all := make(chan struct{})
	var first, last time.Time
	start, cpu := time.Now(), report.CPU()
	stop := run(ctx, s, func(string) {
		switch published.Add(1) {
		case 1:
			first = time.Now()
		case int64(n):
			last = time.Now()
			close(all)
		}
	})
	select {
	case <-all:
	case <-ctx.Done():
		return Drain{}, errors.Join(fmt.Errorf("%d of %d events after %s", published.Load(), n, deadline), stop())
	}
	used := report.CPU() - cpu
	d := Drain{
		Rate: float64(n) / last.Sub(first).Seconds(), Whole: float64(n) / last.Sub(start).Seconds(),
		Start: first.Sub(start), CPU: used / time.Duration(n),
	}
	return d, stop()
}

// run starts a relay; the result stops it and waits for its end.
func run(ctx context.Context, s system, sink Sink) (stop func() error) {
	return together.Background(ctx, func(ctx context.Context) error { return s.relay(ctx, sink) })
}

// Latency is how long after its commit an event was published.
type Latency struct{ P50, P99 time.Duration }

// latency relays the events that a child process appends at the given rate.
func latency(ctx context.Context, s system, key string, cfg Config) (Latency, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if err := s.fill(ctx, 1, payloadOf(cfg.Size)); err != nil { // one event, so that everything is warm
		return Latency{}, fmt.Errorf("fill: %w", err)
	}
	var mu sync.Mutex
	published := map[string]time.Time{}
	first := make(chan struct{})
	var once sync.Once
	stop := run(ctx, s, func(id string) {
		now := time.Now()
		mu.Lock()
		if _, ok := published[id]; !ok {
			published[id] = now
		}
		mu.Unlock()
		once.Do(func() { close(first) })
	})
	defer stop() //nolint:errcheck // its error follows from ctx
	select {
	case <-first:
	case <-ctx.Done():
		return Latency{}, errors.New("the relay published nothing")
	}
	committed, err := appendInChild(ctx, key, cfg)
	if err != nil {
		return Latency{}, err
	}
	if err := until(ctx, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(published) > len(committed)
	}); err != nil {
		return Latency{}, fmt.Errorf("%d of %d events were published: %w", len(published)-1, len(committed), err)
	}
	mu.Lock()
	defer mu.Unlock()
	all := make([]time.Duration, 0, len(committed))
	for id, at := range committed {
		all = append(all, max(published[id].Sub(at), 0))
	}
	slices.Sort(all)
	return Latency{P50: percentile.Of(all, 0.5), P99: percentile.Of(all, 0.99)}, nil
}

// until polls cond every 20 ms.
func until(ctx context.Context, cond func() bool) error {
	for !cond() {
		if err := backoff.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// appendInChild runs this program's appender and returns when each event was
// committed, by the machine's clock, which both processes share.
func appendInChild(ctx context.Context, key string, cfg Config) (map[string]time.Time, error) {
	out, err := part.Output(ctx, "appender", cfg.Prefix, key, strconv.Itoa(cfg.Rate), strconv.Itoa(cfg.Seconds), strconv.Itoa(cfg.Size))
	if err != nil {
		return nil, err
	}
	committed := make(map[string]time.Time, cfg.Rate*cfg.Seconds)
	for line := range strings.Lines(out) {
		id, nanos, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(nanos, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("appender said %q", line)
		}
		committed[id] = time.Unix(0, n)
	}
	if len(committed) == 0 {
		return nil, errors.New("the appender committed nothing")
	}
	return committed, nil
}

// Appender is the child process of a latency measurement: it commits events at
// a steady rate and prints "id nanoseconds" for each.
func Appender(ctx context.Context, cfg Config, args []string, out io.Writer) error {
	if len(args) != 5 {
		return errors.New("usage: appender PREFIX SYSTEM RATE SECONDS SIZE")
	}
	cfg.Prefix = args[0]
	s, err := systemOf(cfg, args[1])
	if err != nil {
		return err
	}
	numbers := [3]int{}
	for i := range numbers {
		if numbers[i], err = strconv.Atoi(args[i+2]); err != nil {
			return err
		}
	}
	rate, seconds, payload := numbers[0], numbers[1], payloadOf(numbers[2])
	appendOne, done, err := s.appender(ctx)
	if err != nil {
		return err
	}
	defer done()
	w := bufio.NewWriter(out)
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for range rate * seconds {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		id, err := appendOne(payload)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s %d\n", id, time.Now().UnixNano())
	}
	return w.Flush()
}

// payloadOf is JSON-safe text of the given length.
func payloadOf(size int) []byte { return []byte(strings.Repeat("x", size)) }
