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
	"os"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/command"
	"github.com/millrace-go/millrace/proof/cheats"
)

func main() {
	var cfg cheats.Config
	flags := flag.NewFlagSet("cheats", flag.ContinueOnError)
	flags.IntVar(&cfg.People, "people", 5000, "number of people, half of which cheat")
	flags.DurationVar(&cfg.For, "for", 10*time.Minute, "time from the first arrival to the end")
	flags.IntVar(&cfg.Threshold, "threshold", 60, "number of people who may be inside at once")
	flags.DurationVar(&cfg.Kill, "kill", 15*time.Second, "time between two kills of an instance")
	flags.DurationVar(&cfg.Promote, "promote", time.Minute, "time between two promotions of the replica")
	flags.Uint64Var(&cfg.Seed, "seed", 1, "seed of the random choices")
	flags.StringVar(&cfg.Room, "room", "", "program of an instance, made from proof/cmd/room; built when empty")
	os.Exit(command.Run(flags, os.Args[1:], func(ctx context.Context) error { return cheats.Run(ctx, cfg, os.Stdout) }))
}
