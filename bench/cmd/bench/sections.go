package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/bench/batchbench"
	"github.com/millrace-go/millrace/bench/busbench"
	"github.com/millrace-go/millrace/bench/kafkabench"
	"github.com/millrace-go/millrace/bench/limitbench"
	"github.com/millrace-go/millrace/bench/outboxbench"
	"github.com/millrace-go/millrace/bench/queuebench"
	"github.com/millrace-go/millrace/bench/ssebench"
)

// The servers, by the environment variables that find them.
const (
	postgres = "MILLRACE_POSTGRES_URL"
	mariadb  = "MILLRACE_MARIADB_URL"
	redis    = "MILLRACE_REDIS_URL"
	rabbitmq = "MILLRACE_RABBITMQ_URL"
	kafka    = "MILLRACE_KAFKA_BROKERS"
)

func servers() map[string]string {
	found := map[string]string{}
	for _, name := range []string{postgres, mariadb, redis, rabbitmq, kafka} {
		if v := os.Getenv(name); v != "" {
			found[name] = v
		}
	}
	return found
}

// sizes are what the flags say.
type sizes struct{ rounds, rows, size, rate, seconds int }

// section is a part of the report that can be run by itself.
type section struct {
	name  string
	title string
	needs []string
	run   func(ctx context.Context, servers map[string]string, size sizes, out io.Writer) error
}

func sections() []section {
	ofOutbox := func(servers map[string]string, s sizes) outboxbench.Config {
		return outboxbench.Config{
			URL: servers[postgres], MariaDB: servers[mariadb],
			Rows: s.rows, Size: s.size, Rounds: s.rounds, Rate: s.rate, Seconds: s.seconds,
		}
	}
	return []section{
		{"outbox", "cursor outbox on PostgreSQL", []string{postgres}, func(ctx context.Context, servers map[string]string, s sizes, out io.Writer) error {
			return outboxbench.Run(ctx, ofOutbox(servers, s), out)
		}},
		{"status", "status outbox on PostgreSQL", []string{postgres}, func(ctx context.Context, servers map[string]string, s sizes, out io.Writer) error {
			return outboxbench.RunStatus(ctx, ofOutbox(servers, s), out)
		}},
		{"mariadb", "cursor outbox on MariaDB", []string{mariadb}, func(ctx context.Context, servers map[string]string, s sizes, out io.Writer) error {
			return outboxbench.RunMariaDB(ctx, ofOutbox(servers, s), out)
		}},
		{"kafka", "outbox on PostgreSQL to Kafka", []string{postgres, kafka}, func(ctx context.Context, servers map[string]string, s sizes, out io.Writer) error {
			cfg := kafkabench.Config{URL: servers[postgres], Brokers: servers[kafka], Rows: 2 * s.rows, Size: s.size, Rounds: s.rounds}
			return kafkabench.Run(ctx, cfg, out)
		}},
		{"batch", "batch and sequential consumers of views", []string{postgres, kafka}, func(ctx context.Context, servers map[string]string, s sizes, out io.Writer) error {
			return batchbench.Run(ctx, batchbench.Config{URL: servers[postgres], Brokers: servers[kafka], Rounds: s.rounds}, out)
		}},
		{"bus", "what the transports publish and consume", []string{postgres, mariadb, redis, rabbitmq, kafka}, func(ctx context.Context, servers map[string]string, s sizes, out io.Writer) error {
			return busbench.Run(ctx, busbench.Config{
				Postgres: servers[postgres], MariaDB: servers[mariadb], Redis: servers[redis], RabbitMQ: servers[rabbitmq], Brokers: servers[kafka],
				Size: s.size, Rounds: min(s.rounds, 3), // eleven rows take their time
			}, out)
		}},
		{"limit", "rate limiters and coalescers on one hot key of Redis", []string{redis}, func(ctx context.Context, servers map[string]string, s sizes, out io.Writer) error {
			return limitbench.Run(ctx, limitbench.Config{URL: servers[redis], Rounds: s.rounds}, out)
		}},
		{"queue", "the waiting room at a million people on Redis", []string{redis}, func(ctx context.Context, servers map[string]string, s sizes, out io.Writer) error {
			return queuebench.Run(ctx, queuebench.Config{URL: servers[redis], Rounds: s.rounds}, out)
		}},
		{"streams", "server-sent events to 10,000 streams", nil, func(ctx context.Context, _ map[string]string, s sizes, out io.Writer) error {
			return ssebench.Run(ctx, ssebench.Config{Rounds: s.rounds}, out)
		}},
	}
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

// runAll runs the sections one after the other, if all of them have what they
// need.
func runAll(ctx context.Context, chosen []section, servers map[string]string, size sizes, out io.Writer) error {
	for _, s := range chosen {
		for _, name := range s.needs {
			if servers[name] == "" {
				return fmt.Errorf("%s is not set, which section %s needs; `make bench` starts the servers and sets it, -only chooses sections", name, s.name)
			}
		}
	}
	for _, s := range chosen {
		fmt.Fprintf(out, "== %s: %s\n\n", s.name, s.title)
		start := time.Now()
		if err := s.run(ctx, servers, size, out); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(out, "\n(%s took %s)\n\n", s.name, time.Since(start).Round(time.Second))
	}
	return nil
}
