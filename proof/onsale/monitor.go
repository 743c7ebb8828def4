package onsale

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/percentile"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/proof/report"
	"github.com/millrace-go/millrace/queue"
)

// monitor samples the state once a second.
type monitor struct {
	sale *sale

	base  look // before the first arrival
	last  look
	full  look // when the line was longest
	heap  uint64
	late  time.Duration
	rates []float64 // admissions per second, of seconds with a line
}

// look is a sample of the state.
type look struct {
	at      time.Duration
	arrived int64
	state   queue.State
	calls   int64
	polls   percentile.Counts // how long they took
	cpu     time.Duration
	redis   redisserver.Used
	heap    uint64 // bytes in use
}

func newMonitor(s *sale) *monitor { return &monitor{sale: s} }

func (m *monitor) begin(ctx context.Context) error {
	runtime.GC()
	l, err := m.look(ctx)
	m.base, m.last, m.heap = l, l, l.heap
	m.base.at, m.last.at = 0, 0
	return err
}

func (m *monitor) look(ctx context.Context) (l look, err error) {
	s := m.sale
	l = look{at: s.schedule.now(), arrived: s.arrived.Load(), calls: s.checks.Count() + s.polls.Count(), cpu: report.CPU()}
	l.polls = s.polls.Counts()
	s.record.mu.Lock()
	l.state = s.record.last
	s.record.mu.Unlock()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	l.heap = memory.HeapInuse + memory.StackInuse
	if s.redis != nil {
		l.redis, err = s.redis.Used(ctx)
	}
	return l, err
}

// watch writes a line each second until ctx ends, and a last one then.
func (m *monitor) watch(ctx context.Context, out io.Writer) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		over := false
		select {
		case <-ctx.Done():
			over = true
		case <-tick.C:
		}
		l, err := m.look(context.WithoutCancel(ctx))
		if err != nil {
			return fmt.Errorf("look at Redis: %w", err)
		}
		if over {
			m.last = l
			return nil
		}
		m.see(l, out)
	}
}

func (m *monitor) see(l look, out io.Writer) {
	s, before := m.sale, m.last
	m.last = l
	m.heap = max(m.heap, l.heap)
	if l.state.Waiting > m.full.state.Waiting {
		m.full = l
	}
	passed := (l.at - before.at).Seconds()
	if passed <= 0 {
		return
	}
	entered := float64(l.state.Entered-before.state.Entered) / passed
	if before.state.Waiting > 0 {
		m.rates = append(m.rates, entered)
	}
	polls := l.polls.Since(before.polls)
	late := s.schedule.lateness()
	m.late = max(m.late, late)
	line := fmt.Sprintf("%3.0f s  arrived %s  waiting %s  inside %s, their turn %s  let in %s (%.0f/s)  polls %.0f/s p99 %s ms  CPU %.2f",
		l.at.Seconds(), screen.Thousands(l.arrived), screen.Thousands(int64(l.state.Waiting)), screen.Thousands(int64(l.state.Active)), screen.Thousands(int64(l.state.Entitled)),
		screen.Thousands(l.state.Entered), entered, float64(polls.Count())/passed, report.MS(polls.Of(0.99)), (l.cpu-before.cpu).Seconds()/passed)
	if s.redis != nil {
		line += fmt.Sprintf(" + Redis %.2f", (l.redis.CPU-before.redis.CPU).Seconds()/passed)
	}
	if n := s.failures.Load(); n > 0 {
		line += fmt.Sprintf("  %s refused", screen.Thousands(n))
	}
	if late > lateEnough {
		line += fmt.Sprintf("  late by %s", late.Round(time.Millisecond))
	}
	fmt.Fprintln(out, line)
}

// lateEnough is the least lateness that is reported.
const lateEnough = 100 * time.Millisecond

// preface describes the run.
func (s *sale) preface() string {
	where := "Redis"
	if s.redis == nil {
		where = "this process' memory"
	} else if !s.redis.Own {
		where = "the given Redis, whose figures count what others do"
	}
	return fmt.Sprintf("%s people come within %s to %d instances, whose line is in %s; %s may be inside, up to %d enter each second and stay about %s\n",
		screen.Thousands(int64(s.cfg.People)), s.cfg.Arrive, s.cfg.Instances, where, screen.Thousands(int64(s.cfg.Threshold)), s.cfg.Batch, s.cfg.Hold)
}

// report writes the results.
func (m *monitor) report(out io.Writer) {
	s, end := m.sale, m.last
	fmt.Fprintf(out, "\nthe on-sale: %s people in %s\n\n", screen.Thousands(int64(s.cfg.People)), s.cfg.Window)
	row := func(what, format string, args ...any) {
		fmt.Fprintf(out, "  %-22s %s\n", what, fmt.Sprintf(format, args...))
	}
	last := time.Duration(0)
	for _, p := range s.people {
		last = max(last, p.first.to)
	}
	if last > 0 {
		row("arrivals", "%s, %.0f/s until the last was answered; callers were late by at most %s ms", screen.Thousands(s.arrived.Load()), float64(s.arrived.Load())/last.Seconds(), report.MS(m.late))
	}
	row("a check took", "p50 %s  p99 %s  at most %s ms", report.MS(s.checks.Of(0.5)), report.MS(s.checks.Of(0.99)), report.MS(s.checks.Max()))
	row("a poll took", "p50 %s  p99 %s  at most %s ms; %s of them", report.MS(s.polls.Of(0.5)), report.MS(s.polls.Of(0.99)), report.MS(s.polls.Max()), screen.Thousands(s.polls.Count()))
	var counts queue.Stats
	for _, i := range s.instances {
		c := i.room.Stats()
		counts.Snapshot, counts.Store, counts.Calls, counts.Beats = counts.Snapshot+c.Snapshot, counts.Store+c.Store, counts.Calls+c.Calls, counts.Beats+c.Beats
	}
	row("answered", "%s from snapshots, %s by the store, in %s calls with %s signs of life", screen.Thousands(counts.Snapshot), screen.Thousands(counts.Store), screen.Thousands(counts.Calls), screen.Thousands(counts.Beats))
	row("let in", "%s, %.0f/s in the middle; %s know it, half of them after %s s", screen.Thousands(end.state.Entered), report.Median(m.rates, func(r float64) float64 { return r }), screen.Thousands(s.entered.Load()), strconv.FormatFloat(s.waits.Of(0.5).Seconds(), 'f', 1, 64))
	row("gone", "%s were done, %s did not come in time, %s left the line, %s crashed", screen.Thousands(s.ended.Load()), screen.Thousands(end.state.NoShows), screen.Thousands(s.staged(left)), screen.Thousands(s.staged(crashed)))
	if n := s.failures.Load(); n > 0 {
		row("refused", "%s calls, which were made again:", screen.Thousands(n))
		for what, n := range s.failed {
			row("", "%s times %s", screen.Thousands(int64(n)), strings.TrimSpace(what))
		}
	}
	row("this process", "%.0f MB at most, %.0f MB of it before the first arrival (the crowd); CPU %.1f s, %.1f µs a call with the caller's part",
		float64(m.heap)/1e6, float64(m.base.heap)/1e6, (end.cpu - m.base.cpu).Seconds(), report.Micros(end.cpu-m.base.cpu)/float64(max(1, end.calls)))
	if s.redis != nil && m.full.state.Waiting > 0 {
		row("Redis", "%.0f B for each of %s who waited; CPU %.1f s, %.1f µs a call",
			float64(m.full.redis.Memory-m.base.redis.Memory)/float64(m.full.state.Waiting), screen.Thousands(int64(m.full.state.Waiting)),
			(end.redis.CPU - m.base.redis.CPU).Seconds(), report.Micros(end.redis.CPU-m.base.redis.CPU)/float64(max(1, end.calls)))
	}
}

func (s *sale) staged(what stage) (n int64) {
	for _, p := range s.people {
		if p.stage == what {
			n++
		}
	}
	return n
}
