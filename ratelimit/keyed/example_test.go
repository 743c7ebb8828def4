package keyed_test

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/ratelimit/keyed"
)

// Two attempts at once, and one more each minute.
func ExampleNew() {
	limiter, err := keyed.New(nil, keyed.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		wait := limiter.Take(context.Background(), "203.0.113.7", time.Minute, 2)
		fmt.Println(wait == 0, wait.Round(time.Second))
	}
	// Output:
	// true 0s
	// true 0s
	// false 1m0s
}
