package redisratelimit_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

// The limiter has its own client, which neither retries nor waits beyond a context.
func ExampleNew() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: []string{"127.0.0.1:6379"}, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
	})
	defer client.Close()
	store, err := redisratelimit.New(client, redisratelimit.Config{Name: "artists"})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	grant, err := store.Acquire(context.Background(), plan, driver.Ask{
		Runs: []driver.Run{{Priority: driver.High, Size: 1, Count: 3}},
	})
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	fmt.Println(grant.Runs[0].Granted, grant.Runs[0].RetryAfter)
}

func ExampleConfig() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:6379"}})
	defer client.Close()
	_, err := redisratelimit.New(client, redisratelimit.Config{Name: "{artists}"})
	fmt.Println(err)
	// Output:
	// redisratelimit: Config.Name "{artists}" has a brace, a space or what is no text at byte 0; it is the hash tag of the keys, leave it out
}
