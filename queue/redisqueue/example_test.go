package redisqueue_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/redisqueue"
)

// A client of the waiting room's own, without retries of its own, whose calls end
// with their context.
func ExampleNew() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: []string{"127.0.0.1:6379"}, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
	})
	defer client.Close() //nolint:errcheck // at the end
	store, err := redisqueue.New(client, redisqueue.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rules := driver.Rules{
		Threshold: 1000, Active: 10 * time.Minute, Seen: 10 * time.Minute, NoShow: 150 * time.Second,
		Tick: time.Second, Batch: 100, SweepEvery: 30 * time.Second, Settle: 70 * time.Second,
	}
	visited, err := store.Visit(context.Background(), "show-1", rules, driver.Beats{}, []driver.Visit{
		{Kind: driver.Check, User: "alice"},
	})
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	fmt.Println(visited.Outcomes[0].Status == driver.Active, visited.Active)
}

func ExampleConfig() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:6379"}})
	defer client.Close() //nolint:errcheck // at the end
	_, err := redisqueue.New(client, redisqueue.Config{Prefix: "{shop}:"})
	fmt.Println(err)
	// Output:
	// redisqueue: Config.Prefix "{shop}:" has a brace, a space or what is no text at byte 0; it stands before the hash tag of the keys, leave it out
}
