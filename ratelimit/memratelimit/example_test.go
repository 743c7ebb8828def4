package memratelimit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
)

func ExampleNew() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store, err := memratelimit.New(memratelimit.Config{Now: func() time.Time { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	ask := driver.Ask{Runs: []driver.Run{{Priority: driver.Low, Size: 1, Count: 100}}}
	for range 2 {
		g, err := store.Acquire(context.Background(), plan, ask)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(g.Runs[0].Granted, g.Runs[0].Reason, g.Runs[0].RetryAfter, "high could have", g.Remaining[driver.High])
		now = now.Add(time.Second)
	}
	// Output:
	// 0 low_cap 2.858ms high could have 0
	// 31 low_cap 2.858ms high could have 9
}
