// Command bench runs the benchmarks beside their peers and prints the ratios.
//
//	go run ./bench/cmd/bench [-only outbox,kafka] [-rounds 5] [-rows 50000] [-seconds 5]
//
// It needs the servers of its sections, by the same environment variables as the
// tests; `make bench` starts them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/millrace-go/millrace/bench/outboxbench"
	"github.com/millrace-go/millrace/bench/ssebench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	s := servers()
	if len(os.Args) > 1 && os.Args[1] == "appender" {
		return outboxbench.Appender(ctx, outboxbench.Config{URL: s[postgres], MariaDB: s[mariadb]}, os.Args[2:], os.Stdout)
	}
	if len(os.Args) > 1 && os.Args[1] == ssebench.Part {
		return ssebench.Take(ctx, os.Args[2:], os.Stdin, os.Stdout)
	}
	var size sizes
	flag.IntVar(&size.rounds, "rounds", 5, "interleaved rounds")
	flag.IntVar(&size.rows, "rows", 50_000, "rows of backlog to drain")
	flag.IntVar(&size.size, "size", 500, "bytes of payload")
	flag.IntVar(&size.rate, "rate", 500, "events per second while latency is measured")
	flag.IntVar(&size.seconds, "seconds", 5, "seconds of each latency measurement")
	only := flag.String("only", "", "sections to run, separated by commas; all when empty: "+names(sections()))
	flag.Parse()
	chosen, err := choose(sections(), *only)
	if err != nil {
		return err
	}
	return runAll(ctx, chosen, s, size, os.Stdout)
}
