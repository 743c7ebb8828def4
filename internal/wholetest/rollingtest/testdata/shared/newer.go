package main

import (
	"context"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// admit admits users from the lines until the context ends. older.txt has the same, and
// take, for releases whose rooms do not run themselves.
func admit(ctx context.Context, room *queue.Room) error { return room.Run(ctx) }

// take takes as many of 50 units as are free.
func take(ctx context.Context, limiter driver.Store, plan *driver.Plan) (int, error) {
	g, err := limiter.Acquire(ctx, plan, driver.Ask{Runs: []driver.Run{{Priority: driver.High, Size: 1, Count: 50}}})
	if err != nil {
		return 0, err
	}
	return g.Runs[0].Granted, nil
}
