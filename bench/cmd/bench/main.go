// Command bench runs the benchmarks beside their peers and prints the ratios.
//
//	go run ./bench/cmd/bench [-rounds 5] [-rows 50000] [-seconds 10]
//
// It needs PostgreSQL at MILLRACE_POSTGRES_URL; `make bench` starts one.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/millrace-go/millrace/bench/outboxbench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cfg := outboxbench.Config{URL: os.Getenv("MILLRACE_POSTGRES_URL")}
	if cfg.URL == "" {
		return fmt.Errorf("MILLRACE_POSTGRES_URL is not set; `make bench` starts a PostgreSQL and sets it")
	}
	if len(os.Args) > 1 && os.Args[1] == "appender" {
		return outboxbench.Appender(ctx, cfg.URL, os.Args[2:], os.Stdout)
	}
	flag.IntVar(&cfg.Rounds, "rounds", 5, "interleaved rounds")
	flag.IntVar(&cfg.Rows, "rows", 50_000, "rows of backlog to drain")
	flag.IntVar(&cfg.Size, "size", 500, "bytes of payload")
	flag.IntVar(&cfg.Rate, "rate", 500, "events per second while latency is measured")
	flag.IntVar(&cfg.Seconds, "seconds", 10, "seconds of each latency measurement")
	flag.Parse()
	return outboxbench.Run(ctx, cfg, os.Stdout)
}
