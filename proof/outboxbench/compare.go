package outboxbench

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/proof/report"
)

// measured is the results of the rounds, by the systems' keys.
type measured struct {
	keys      []string
	names     map[string]string
	drains    map[string][]Drain
	latencies map[string][]Latency
}

// measure takes each system in turn, round after round: a drain, the work of
// drained, and latencies. It leaves nothing behind on the servers.
func measure(ctx context.Context, cfg Config, rows int, out *report.Recorder, drained func(key string, s system, round int) error, keys ...string) (measured, error) {
	m := measured{keys, map[string]string{}, map[string][]Drain{}, map[string][]Latency{}}
	systems := map[string]system{}
	for _, key := range keys {
		s, err := systemOf(cfg, key)
		if err != nil {
			return m, err
		}
		systems[key], m.names[key] = s, s.name()
		defer s.at().Drop(context.WithoutCancel(ctx)) //nolint:errcheck // best effort after the measurements
	}
	for round := 1; round <= cfg.Rounds; round++ {
		out.Round(round, cfg.Rounds)
		for _, key := range keys {
			s := systems[key]
			d, err := drain(ctx, s, rows, cfg.Size)
			if err != nil {
				return m, fmt.Errorf("%s: drain: %w", s.name(), err)
			}
			m.drains[key] = append(m.drains[key], d)
			fmt.Fprintf(out, "round %d  drain    %-17s %9.0f events/s\n", round, key, d.Rate)
			if drained != nil {
				if err := drained(key, s, round); err != nil {
					return m, err
				}
			}
			l, err := latency(ctx, s, key, cfg)
			if err != nil {
				return m, fmt.Errorf("%s: latency: %w", s.name(), err)
			}
			m.latencies[key] = append(m.latencies[key], l)
			fmt.Fprintf(out, "round %d  latency  %-17s p50 %s  p99 %s\n", round, key, report.MS(l.P50), report.MS(l.P99))
		}
	}
	return m, nil
}

// figures are the medians of one system.
type figures struct {
	rate     float64 // from the first event on
	whole    float64 // from the relay's start on
	p50, p99 time.Duration
}

// report writes the table and returns the medians.
func (m measured) report(cfg Config, rows int, out *report.Recorder) map[string]figures {
	out.Title("medians of %d rounds; %d rows of %d B into a publisher that counts; latency at %d/s from another process",
		cfg.Rounds, rows, cfg.Size, cfg.Rate)
	fmt.Fprintf(out, "%-58s %10s %9s %12s %9s %9s\n", "relay", "drain /s", "start ms", "CPU µs/event", "p50 ms", "p99 ms")
	all := map[string]figures{}
	out.Chart(report.Chart{Name: "drain", Title: "Draining a backlog", Unit: "events/s", Note: fmt.Sprintf("%d rows of %d B, from the first event to the last", rows, cfg.Size)})
	out.Chart(report.Chart{Name: "p50", Title: "From the commit to the publisher, median", Unit: "ms", Note: fmt.Sprintf("%d events/s from another process", cfg.Rate)})
	out.Chart(report.Chart{Name: "p99", Title: "From the commit to the publisher, 99th percentile", Unit: "ms", Note: fmt.Sprintf("%d events/s from another process", cfg.Rate)})
	for _, key := range m.keys {
		f := figures{
			rate:  report.Median(m.drains[key], func(d Drain) float64 { return d.Rate }),
			whole: report.Median(m.drains[key], func(d Drain) float64 { return d.Whole }),
			p50:   report.Median(m.latencies[key], func(l Latency) time.Duration { return l.P50 }),
			p99:   report.Median(m.latencies[key], func(l Latency) time.Duration { return l.P99 }),
		}
		cpu := report.Median(m.drains[key], func(d Drain) float64 { return report.Micros(d.CPU) })
		start := report.Median(m.drains[key], func(d Drain) time.Duration { return d.Start })
		fmt.Fprintf(out, "%-58s %10.0f %9s %12.1f %9s %9s\n", m.names[key], f.rate, report.MS(start), cpu, report.MS(f.p50), report.MS(f.p99))
		all[key] = f
		role := report.Peer
		if key == ours || key == oursOnMariaDB || key == oursOnMySQL {
			role = report.Ours
		}
		out.Figure(report.Figure{Chart: "drain", Name: m.names[key], Role: role, CPU: report.Number(cpu),
			Rounds: report.Rounds(m.drains[key], func(d Drain) float64 { return d.Rate })})
		out.Figure(report.Figure{Chart: "p50", Name: m.names[key], Role: role,
			Rounds: report.Rounds(m.latencies[key], func(l Latency) float64 { return float64(l.P50) / 1e6 })})
		out.Figure(report.Figure{Chart: "p99", Name: m.names[key], Role: role,
			Rounds: report.Rounds(m.latencies[key], func(l Latency) float64 { return float64(l.P99) / 1e6 })})
	}
	return all
}
