package redisgate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/queue/frontgate/redisgate"
)

// A client without retries of its own, whose calls end with their context.
func ExampleNew() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: []string{"127.0.0.1:6379"}, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
	})
	defer client.Close()
	store, err := redisgate.New(client, redisgate.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if _, err := store.Switch(ctx, "show-1", true); err != nil {
		fmt.Println("refused:", err)
		return
	}
	state, err := store.Assign(ctx, "show-1", 3)
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	round, err := store.Advance(ctx, "show-1", 500, 10*time.Second)
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	fmt.Println(state.Assigned, round.Moved, round.Next)
}

func ExampleConfig() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:6379"}})
	defer client.Close()
	_, err := redisgate.New(client, redisgate.Config{Prefix: "{shop}"})
	fmt.Println(err)
	// Output:
	// redisgate: Config.Prefix "{shop}" has a brace; the event is the hash tag of the keys, leave braces out
}
