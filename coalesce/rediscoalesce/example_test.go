package rediscoalesce_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
)

func ExampleNew() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: []string{"127.0.0.1:6379"}, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
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
		d, err := coalescer.Do(ctx, "42", driver.High, func(_ context.Context, version int64) error {
			fmt.Println("publish; the lock is", client.Get(ctx, "upd:{42}:lock").Val() == fmt.Sprint("HIGH:", version))
			return nil
		})
		fmt.Println(d.Outcome, err) // Published, then AlreadyProcessing
	}
}
