package rediscounter_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/rediscounter"
)

func ExampleNew() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs:                 []string{"127.0.0.1:6379"},
		ContextTimeoutEnabled: true,
		MaxRetries:            -1, // a repeated addition would count twice
	})
	defer client.Close() //nolint:errcheck // the program ends
	store, err := rediscounter.New(client, rediscounter.Config{})
	if err != nil {
		panic(err)
	}
	comments, err := counter.New("comment", store, counter.Config{})
	if err != nil {
		panic(err)
	}
	// After the commit of a comment; INCRBY of the post's delta.
	if err := comments.Add(context.Background(), "post-1", 1); err != nil {
		fmt.Println("not counted yet:", err)
	}
}
