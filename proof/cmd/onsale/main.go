// Command onsale simulates the minute in which tickets go on sale, and prints the
// state of the waiting room each second. At the end it checks that the active users
// never exceeded the threshold, that no user entered before an earlier one, or
// twice, and that no user was lost. Then as many people line up before an opening, and
// each place of the draw is compared with what is published. It exits with 1 when one of
// these is broken. A table follows with the waits that people were told in on-sales in
// virtual time, and how many of them were right.
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
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/command"
	"github.com/millrace-go/millrace/proof/onsale"
)

func main() {
	cfg := onsale.Config{URL: os.Getenv("MILLRACE_REDIS_URL")}
	flags := flag.NewFlagSet("onsale", flag.ContinueOnError)
	flags.IntVar(&cfg.People, "people", 200_000, "`number` of people that want tickets")
	flags.DurationVar(&cfg.Arrive, "arrive", 10*time.Second, "within which all of them come")
	flags.DurationVar(&cfg.Window, "window", 75*time.Second, "from the first arrival to the end")
	flags.IntVar(&cfg.Instances, "instances", 4, "that serve them")
	flags.IntVar(&cfg.Threshold, "threshold", 1000, "`number` of people that may be inside at once")
	flags.IntVar(&cfg.Batch, "batch", 500, "admissions each second, over all instances")
	flags.DurationVar(&cfg.Hold, "hold", 4*time.Second, "how long people stay inside, more or less")
	flags.DurationVar(&cfg.NoShow, "noshow", 20*time.Second, "how long a turn lasts for a person that does not come")
	flags.IntVar(&cfg.Workers, "workers", 1024, "calls at once")
	flags.Uint64Var(&cfg.Seed, "seed", 1, "of what chance decides")
	flags.BoolVar(&cfg.Memory, "memory", false, "keep the line in the memory of this process")
	verify := flags.String("verify", "docs/verify-draw.py", "`program` that computes the places of the draw; empty: none")
	os.Exit(command.Run(flags, os.Args[1:], func(ctx context.Context) error {
		if err := onsale.Run(ctx, cfg, os.Stdout); err != nil {
			return err
		}
		fmt.Println()
		if err := onsale.Presale(ctx, cfg, *verify, os.Stdout); err != nil {
			return err
		}
		fmt.Println()
		return onsale.WaitsTable(ctx, cfg.Seed, os.Stdout)
	}))
}
