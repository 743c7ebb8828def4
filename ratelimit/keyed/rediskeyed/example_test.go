package rediskeyed_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/ratelimit/keyed"
	"github.com/millrace-go/millrace/ratelimit/keyed/rediskeyed"
)

// The limits of all processes with this name on this Redis are one.
func ExampleNew() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: []string{"127.0.0.1:6379"}, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
	})
	defer client.Close()
	store, err := rediskeyed.New(client, rediskeyed.Config{Name: "joins"})
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter, err := keyed.New(store, keyed.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(limiter.Take(context.Background(), "203.0.113.7", 200*time.Millisecond, 200))
}
