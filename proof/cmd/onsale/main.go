// Command onsale simulates the minute in which tickets go on sale, and prints the
// state of the waiting room each second. At the end it checks that the active users
// never exceeded the threshold, that no user entered before an earlier one, or
// twice, and that no user was lost. It exits with 1 when one of these is broken. A
// table follows with the waits that people were told in on-sales in virtual time, and
// how many of them were right.
//
//	go run ./proof/cmd/onsale [-memory] [-people 200000] [-threshold 1000] [-window 75s]
//
// It starts a redis-server of its own; where there is none in PATH it takes the
// Redis at MILLRACE_REDIS_URL. With -memory it needs neither.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/millrace-go/millrace/proof/onsale"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg := onsale.Config{URL: os.Getenv("MILLRACE_REDIS_URL")}
	flag.IntVar(&cfg.People, "people", 200_000, "who want tickets")
	flag.DurationVar(&cfg.Arrive, "arrive", 10*time.Second, "within which all of them come")
	flag.DurationVar(&cfg.Window, "window", 75*time.Second, "from the first arrival to the end")
	flag.IntVar(&cfg.Instances, "instances", 4, "that serve them")
	flag.IntVar(&cfg.Threshold, "threshold", 1000, "who may be inside at once")
	flag.IntVar(&cfg.Batch, "batch", 500, "admissions each second, over all instances")
	flag.DurationVar(&cfg.Hold, "hold", 4*time.Second, "how long people stay inside, more or less")
	flag.DurationVar(&cfg.NoShow, "noshow", 20*time.Second, "how long a place is kept for who does not come")
	flag.IntVar(&cfg.Workers, "workers", 1024, "calls at once")
	flag.Uint64Var(&cfg.Seed, "seed", 1, "of what chance decides")
	flag.BoolVar(&cfg.Memory, "memory", false, "keep the line in the memory of this process")
	flag.Parse()
	err := onsale.Run(ctx, cfg, os.Stdout)
	if err == nil {
		fmt.Println()
		err = onsale.WaitsTable(ctx, cfg.Seed, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
