package redissse_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/redissse"
)

// One client serves both, without retries; its calls end with their context.
func ExampleNew() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: []string{"127.0.0.1:6379"}, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
	})
	defer client.Close() //nolint:errcheck // at the end
	streams, broker, err := redissse.New(client, redissse.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	hub, err := sse.New(streams, broker, sse.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stop() // an app runs it until the app ends
	fmt.Println(hub.Run(ctx))
}

func ExampleNew_client() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:6379"}, MaxRetries: -1})
	defer client.Close() //nolint:errcheck // at the end
	_, _, err := redissse.New(client, redissse.Config{})
	fmt.Println(err)
	// Output:
	// redissse: the Redis client's options do not fit: ContextTimeoutEnabled is false, so a call outlasts the deadline of its context; make the client by redisclient.Open, or with ContextTimeoutEnabled: true
}

func ExampleNew_prefix() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: []string{"127.0.0.1:6379"}, ContextTimeoutEnabled: true, MaxRetries: -1,
	})
	defer client.Close() //nolint:errcheck // at the end
	_, _, err := redissse.New(client, redissse.Config{Prefix: "{shop}:"})
	fmt.Println(err)
	// Output:
	// redissse: Config.Prefix "{shop}:" has a brace, a space or what is no text at byte 0; it stands before the hash tag of the keys, leave it out
}
