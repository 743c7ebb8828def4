// Command cheats runs a waiting room in which half of the people cheat: four processes that are
// killed at random, and a Redis that loses a second at each promotion of its replica. It judges
// the room by what the honest people were answered, and exits with 1 when a promise was broken.
//
//	go run ./proof/cmd/cheats [-people 5000] [-for 10m] [-threshold 60]
//
// It needs a redis-server in PATH.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/millrace-go/millrace/proof/cheats"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var cfg cheats.Config
	flag.IntVar(&cfg.People, "people", 5000, "number of people, half of which cheat")
	flag.DurationVar(&cfg.For, "for", 10*time.Minute, "time from the first arrival to the end")
	flag.IntVar(&cfg.Threshold, "threshold", 60, "number of people who may be inside at once")
	flag.DurationVar(&cfg.Kill, "kill", 15*time.Second, "time between two kills of an instance")
	flag.DurationVar(&cfg.Promote, "promote", time.Minute, "time between two promotions of the replica")
	flag.Uint64Var(&cfg.Seed, "seed", 1, "seed of the random choices")
	flag.StringVar(&cfg.Room, "room", "", "program of an instance, made from proof/cmd/room; built when empty")
	flag.Parse()
	if err := cheats.Run(ctx, cfg, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
