package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/proof/batchbench"
	"github.com/millrace-go/millrace/proof/busbench"
	"github.com/millrace-go/millrace/proof/doorbench"
	"github.com/millrace-go/millrace/proof/gatebench"
	"github.com/millrace-go/millrace/proof/kafkabench"
	"github.com/millrace-go/millrace/proof/limitbench"
	"github.com/millrace-go/millrace/proof/outboxbench"
	"github.com/millrace-go/millrace/proof/queuebench"
	"github.com/millrace-go/millrace/proof/report"
	"github.com/millrace-go/millrace/proof/ssebench"
)

// The servers, by the environment variables that find them.
const (
	postgres = "MILLRACE_POSTGRES_URL"
	mariadb  = "MILLRACE_MARIADB_URL"
	mysql    = "MILLRACE_MYSQL_URL"
	redis    = "MILLRACE_REDIS_URL"
	cluster  = "MILLRACE_REDIS_CLUSTER"
	rabbitmq = "MILLRACE_RABBITMQ_URL"
	kafka    = "MILLRACE_KAFKA_BROKERS"
)

func servers() map[string]string {
	found := map[string]string{}
	for _, name := range []string{postgres, mariadb, mysql, redis, cluster, rabbitmq, kafka} {
		if v := os.Getenv(name); v != "" {
			found[name] = v
		}
	}
	return found
}

// section is a part of the report that can be run by itself.
type section struct {
	name     string
	title    string
	compared string  // the systems compared
	minutes  float64 // that it takes on a machine of two processors with nothing else to do
	needs    []string
	run      func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error
}

func sections() []section { return append(peers(), growths()...) }

// peers are the sections that compare Millrace with others.
func peers() []section {
	ofOutbox := func(servers map[string]string, s sizes) outboxbench.Config {
		return outboxbench.Config{
			URL: servers[postgres], MariaDB: servers[mariadb], MySQL: servers[mysql],
			Rows: s.of(s.rows, 2000), Size: s.size, Rounds: s.of(s.rounds, 1), Rate: s.of(s.rate, 100), Seconds: s.of(s.seconds, 1), Bookings: s.of(2000, 40),
		}
	}
	return []section{
		{
			"outbox", "cursor outbox on PostgreSQL",
			"A backlog is drained, and events are committed by another process at a steady rate: our relay, watermill-sql with Watermill's forwarder, and River. " +
				"The limit is a read of the same rows by primary key. Beside them: what an idle relay asks of the server, and which part of a booking's transaction appending its event takes.",
			5, []string{postgres}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				return outboxbench.Run(ctx, ofOutbox(servers, s), out)
			},
		},
		{
			"status", "status outbox on PostgreSQL",
			"Our status kind, which keeps a row for each event and its state, beside the queue that a textbook makes of a table: SKIP LOCKED, publish, DELETE. And on few hot keys beside many.",
			3, []string{postgres}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				return outboxbench.RunStatus(ctx, ofOutbox(servers, s), out)
			},
		},
		{
			"mariadb", "cursor outbox on MariaDB",
			"A backlog is drained, and events are committed by another process at a steady rate: our relay, and watermill-sql with Watermill's forwarder.",
			5, []string{mariadb}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				return outboxbench.RunMariaDB(ctx, ofOutbox(servers, s), out)
			},
		},
		{
			"mysql", "cursor outbox on MySQL",
			"A backlog is drained, and events are committed by another process at a steady rate: our relay, and watermill-sql with Watermill's forwarder.",
			5, []string{mysql}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				return outboxbench.RunMySQL(ctx, ofOutbox(servers, s), out)
			},
		},
		{
			"kafka", "outbox on PostgreSQL to Kafka",
			"Our relay end to end, beside a bare program of pgx and franz-go that reads the same rows and keeps no place, franz-go driven flat out with the same messages in memory (the limit), and Watermill's publisher, which sends one message at a time.",
			3, []string{postgres, kafka}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				cfg := kafkabench.Config{
					URL: servers[postgres], Brokers: servers[kafka], Rows: s.of(2*s.rows, 2000), Size: s.size, Rounds: s.of(s.rounds, 1), Lone: s.of(2000, 50),
				}
				return kafkabench.Run(ctx, cfg, out)
			},
		},
		{
			"batch", "batch and sequential consumers of views",
			"The same consumer counts views in a database one by one, and in batches of up to 100; with and without a guard that counts each event once.",
			3, []string{postgres, kafka}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				return batchbench.Run(ctx, batchbench.Config{
					URL: servers[postgres], Brokers: servers[kafka], Rounds: s.of(s.rounds, 1), Single: s.of(2000, 50), Many: s.of(20_000, 500),
				}, out)
			},
		},
		{
			"bus", "what the transports publish and consume",
			"Each transport beside Watermill's own package for the same server: one caller, 64 callers, 500 messages a call, and a consumer whose handler does nothing. Ours has retries, dead letters and order per key on.",
			6, []string{postgres, mariadb, redis, rabbitmq, kafka}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				return busbench.Run(ctx, busbench.Config{
					Postgres: servers[postgres], MariaDB: servers[mariadb], Redis: servers[redis], RabbitMQ: servers[rabbitmq], Brokers: servers[kafka],
					Size: s.size, Rounds: s.of(s.rounds, 1), Backlog: s.of(20_000, 200), Window: s.span(time.Second, 20*time.Millisecond),
				}, out)
			},
		},
		{
			"frontdoor", "the front door beside its packages by hand",
			"The same program written on package millrace, and on the packages that it wires: a row and its event in a transaction, by one caller, and events relayed in memory and handled in a transaction each.",
			1, []string{postgres}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				return doorbench.Run(ctx, doorbench.Config{URL: servers[postgres], Rounds: s.of(s.rounds, 1), Emits: s.of(2000, 40), Events: s.of(5000, 100)}, out)
			},
		},
		{
			"limit", "rate limiters and coalescers on one hot key of Redis",
			"Our limiter beside redis_rate, ulule/limiter and the script that one writes oneself: what is granted, what is denied, and how long a lone caller waits; and our coalescer beside a SET NX for each request.",
			4, []string{redis}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				return limitbench.Run(ctx, limitbench.Config{
					URL: servers[redis], Rounds: s.of(s.rounds, 1), Span: s.span(2*time.Second, 100*time.Millisecond), Lone: s.of(10_000, 100), Herds: s.of(50, 2),
				}, out)
			},
		},
		{
			"queue", "the waiting room at a million people on Redis",
			"Our room beside the plain design that teams write, three sorted sets and a script for each thing that happens: polls, joins, memory, and for how long Redis is blocked at once.",
			8, []string{redis}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				cfg := queuebench.Config{URL: servers[redis], Rounds: s.of(s.rounds, 1)}
				if s.quick {
					cfg.People, cfg.Ticks, cfg.Dead, cfg.Span = 3000, []int{10, 700}, 900, 100*time.Millisecond
				}
				return queuebench.Run(ctx, cfg, out)
			},
		},
		{
			"gate", "millrace gate beside nginx and Caddy",
			"Our program as a reverse proxy, in front of visitors who are inside, beside bare nginx and bare Caddy before the same origin: what each adds to a request at a steady rate, requests flat out and their processor time. " +
				"The limit is the origin without a proxy. Then a million people line up at the gate.",
			5, []string{redis}, func(ctx context.Context, servers map[string]string, s sizes, out *report.Recorder) error {
				cfg := gatebench.Config{Redis: servers[redis], Rounds: s.of(s.rounds, 1)}
				if s.quick {
					cfg.Span, cfg.People = 200*time.Millisecond, 500
				}
				return gatebench.Run(ctx, cfg, out)
			},
		},
		{
			"streams", "server-sent events to 10,000 streams",
			"Our hub, portable and lean, beside a bare net/http handler, tmaxmax/go-sse and r3labs/sse: memory of an idle stream, one event and bursts to everybody. At last 50,000 streams are held with pings.",
			9, nil, func(ctx context.Context, _ map[string]string, s sizes, out *report.Recorder) error {
				cfg := ssebench.Config{Rounds: s.of(s.rounds, 1)}
				if s.quick {
					cfg.Conns, cfg.Span, cfg.Held, cfg.Ping = 50, 50*time.Millisecond, 100, 200*time.Millisecond
				}
				return ssebench.Run(ctx, cfg, out)
			},
		},
	}
}

// span is the length of a measurement, and the shorter one of a quick run.
func (s sizes) span(d, quick time.Duration) time.Duration {
	if s.quick {
		return quick
	}
	return d
}

func names(all []section) string {
	list := make([]string, len(all))
	for i, s := range all {
		list[i] = s.name
	}
	return strings.Join(list, ",")
}

// choose returns the sections named, in their own order.
func choose(all []section, only string) ([]section, error) {
	if only == "" {
		return all, nil
	}
	var chosen []section
	wanted := strings.Split(only, ",")
	for _, name := range wanted {
		if !slices.ContainsFunc(all, func(s section) bool { return s.name == name }) {
			return nil, fmt.Errorf("-only: there is no section %q; known are %s", name, names(all))
		}
	}
	for _, s := range all {
		if slices.Contains(wanted, s.name) {
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}
