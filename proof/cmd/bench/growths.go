package main

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/proof/bookingbench"
	"github.com/millrace-go/millrace/proof/limitbench"
	"github.com/millrace-go/millrace/proof/outboxbench"
	"github.com/millrace-go/millrace/proof/queuebench"
	"github.com/millrace-go/millrace/proof/report"
	"github.com/millrace-go/millrace/proof/ssebench"
)

// growths are the sections that show how cost grows with work, each beside the
// limit of the engine underneath.
func growths() []section {
	return []section{
		{
			"growth-outbox", "how a drain grows with the backlog and the shards",
			"Backlogs of 1,000 to 1,000,000 rows in 1, 2, 4 and 8 shards of one relay on PostgreSQL. The limit, dashed, is a read of the same rows by primary key, on one connection, in the same rounds. " +
				"A short backlog is drained in milliseconds, most of which the relay takes to begin.",
			6, []string{postgres}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				cfg := outboxbench.Growth{URL: servers[postgres], Rounds: s.of(min(s.rounds, 3), 1)}
				if s.quick {
					cfg.Rows, cfg.Shards = []int{500, 2000}, []int{1, 2}
				}
				return outboxbench.RunGrowth(ctx, cfg, out)
			},
		},
		{
			"growth-queue", "how polls and admissions grow with the waiting",
			"Lines of 1,000 to 1,000,000 people on one Redis. Polls by 64 callers are told to Redis many at a time; their limit, dashed, is PING in pipelines of the same depth. " +
				"A tick that admits 100 stands beside an empty script, which is the least that any call of a script takes.",
			2, []string{redis}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				cfg := queuebench.Growth{URL: servers[redis], Rounds: s.of(min(s.rounds, 3), 1)}
				if s.quick {
					cfg.People, cfg.Span = []int{500, 5000}, 100*time.Millisecond
				}
				return queuebench.RunGrowth(ctx, cfg, out)
			},
		},
		{
			"growth-streams", "how memory and fan-out grow with the streams",
			"1,000 to 50,000 streams of server-sent events, portable and lean. The limit, dashed, is a server that writes to each connection and does nothing else.",
			8, nil, func(ctx context.Context, _ map[string]string, s sizes, out *report.Recorder) error {
				cfg := ssebench.Growth{Rounds: s.of(min(s.rounds, 3), 1)}
				if s.quick {
					cfg.Streams, cfg.Span = []int{50, 200}, 50*time.Millisecond
				}
				return ssebench.RunGrowth(ctx, cfg, out)
			},
		},
		{
			"growth-limit", "how decisions grow with callers and processes",
			"1 to 1,024 callers in each of 1, 2, 4 and 8 processes ask one limiter, on one hot key of Redis. Dashed, in the colour of as many processes: an empty script for each decision. " +
				"It is the limit of every limiter that asks Redis each time; ours asks for many callers at once and may stand above it.",
			4, []string{redis}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				cfg := limitbench.Growth{URL: servers[redis], Rounds: s.of(min(s.rounds, 3), 1)}
				if s.quick {
					cfg.Callers, cfg.Processes, cfg.Span = []int{1, 16}, []int{1, 2}, 50*time.Millisecond
				}
				return limitbench.RunGrowth(ctx, cfg, out)
			},
		},
		{
			"growth-bookings", "how bookings grow with the processes of the box office",
			"1, 2, 4 and 8 processes of the reference app, each with all roles, on Kafka, PostgreSQL and a Redis Cluster: seats are booked over HTTP while the events are published and consumed. " +
				"The limit, dashed, is the bare SQL of the same bookings by as many connections: no HTTP, no waiting room, no event. All processes share the machine with the servers and the callers.",
			8, []string{postgres, kafka, cluster}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				cfg := bookingbench.Config{URL: servers[postgres], Brokers: servers[kafka], Cluster: servers[cluster], Rounds: s.of(min(s.rounds, 3), 1)}
				if s.quick {
					cfg.Processes, cfg.Bookings, cfg.Callers = []int{1, 2}, 40, 3
				}
				return bookingbench.Run(ctx, cfg, out)
			},
		},
	}
}
