package memratelimit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
)

// A new store is empty: the first call waits for its share of the rate.
func ExampleNew() {
	limiter, err := ratelimit.New(memratelimit.New(), ratelimit.Config{
		Limits: ratelimit.Limits{HardLimit: 100, Rate: 50, Delay: 500 * time.Millisecond},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := limiter.Allow(context.Background(), ratelimit.High)
	fmt.Println(d.Allowed, d.Reason, d.RetryAfter > 0, err)
	permit, err := limiter.Wait(context.Background(), ratelimit.High)
	fmt.Println(permit != nil, err)
	// Output:
	// false global true <nil>
	// true <nil>
}
