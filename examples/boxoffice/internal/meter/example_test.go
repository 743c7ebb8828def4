package meter_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/meter"
	"github.com/millrace-go/millrace/ratelimit"
)

func ExampleNew() {
	m, err := meter.New(meter.NewMemory(), meter.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(ctx); err != nil {
			log.Print(err)
		}
	})
	m.Count(ratelimit.High, 3)
	m.Count(ratelimit.Low, 4)
	counted := time.Now().Unix()
	stop()
	running.Wait()

	var seconds []meter.Second
	for len(seconds) == 0 || seconds[len(seconds)-1].Unix < counted { // told when it is over
		time.Sleep(100 * time.Millisecond)
		if seconds, err = m.Series(context.Background(), 30); err != nil {
			log.Fatal(err)
		}
	}
	var high, low int64
	for _, s := range seconds {
		high += s.High
		low += s.Low
	}
	fmt.Println(high, low)
	// Output: 3 4
}

func ExampleNewRedis() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: []string{"127.0.0.1:6379"}, MaxRetries: -1, ContextTimeoutEnabled: true,
	})
	defer client.Close()
	store, err := meter.NewRedis(client, meter.RedisConfig{Name: "boxoffice_calls"})
	if err != nil {
		log.Fatal(err)
	}
	m, err := meter.New(store, meter.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limits := ratelimit.Config{OnAcquired: m.Count}
	fmt.Println(limits.OnAcquired != nil)
}
