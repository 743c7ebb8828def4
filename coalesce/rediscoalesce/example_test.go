package rediscoalesce_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
)

func ExampleNew() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		panic(err)
	}
	defer server.Close()
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: []string{server.Addr()}, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
	})
	defer client.Close()

	store, err := rediscoalesce.New(client, rediscoalesce.Config{})
	if err != nil {
		panic(err)
	}
	coalescer, err := coalesce.New(store, coalesce.Config{})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	for range 3 {
		d, err := coalescer.Do(ctx, "42", coalesce.High, func(_ context.Context, version int64) error {
			fmt.Println("publish; the lock is", client.Get(ctx, "upd:{42}:lock").Val() == fmt.Sprint("HIGH:", version))
			return nil
		})
		fmt.Println(d.Outcome, err)
	}
	// Output:
	// publish; the lock is true
	// Published <nil>
	// AlreadyProcessing <nil>
	// AlreadyProcessing <nil>
}
