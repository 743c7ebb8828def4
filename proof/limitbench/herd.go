package limitbench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/proof/redisserver"
)

// herd decides which of many callers refreshes a key.
type herd struct {
	name     string
	commands []string // that its client sends
	open     func(s *redisserver.Server, pool int) (request func(ctx context.Context, key string) (mine bool, err error), done func() error, err error)
}

const (
	coalescer = "coalesce"
	setNX     = "SET NX each"
)

func herds() []herd {
	return []herd{
		{coalescer, scripted, func(s *redisserver.Server, pool int) (func(context.Context, string) (bool, error), func() error, error) {
			client, err := redisdb.Open(s.URL, redisdb.Config{PoolSize: pool})
			if err != nil {
				return nil, nil, err
			}
			store, err := rediscoalesce.New(client, rediscoalesce.Config{Prefix: "bench:"})
			if err != nil {
				return nil, nil, errors.Join(err, client.Close())
			}
			c, err := coalesce.New(store, coalesce.Config{Timeout: 5 * time.Second})
			if err != nil {
				return nil, nil, errors.Join(err, client.Close())
			}
			return func(ctx context.Context, key string) (bool, error) {
				d, err := c.Request(ctx, key, coalesce.High)
				return d.Mine(), err
			}, client.Close, nil
		}},
		{setNX, []string{"set", "setnx"}, func(s *redisserver.Server, pool int) (func(context.Context, string) (bool, error), func() error, error) {
			client := s.Client(pool)
			return func(ctx context.Context, key string) (bool, error) {
				return client.SetNX(ctx, "bench:nx:"+key, 1, 30*time.Second).Result()
			}, client.Close, nil
		}},
	}
}

// run sends herds of so many requests, each for a key of its own.
func (h herd) run(ctx context.Context, s *redisserver.Server, pool, herds, requests int, prefix string) (_ result, err error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	request, done, err := h.open(s, pool)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	gather := func(key string) error {
		var mine atomic.Int64
		start, errs := make(chan struct{}), make([]error, requests)
		var wg sync.WaitGroup
		for i := range requests {
			wg.Go(func() {
				<-start
				m, err := request(ctx, key)
				if errs[i] = err; m {
					mine.Add(1)
				}
			})
		}
		close(start)
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		if n := mine.Load(); n != 1 {
			return fmt.Errorf("%d of %d requests for one key were told to refresh it", n, requests)
		}
		return nil
	}
	if err := gather(prefix + "warm"); err != nil {
		return result{}, err
	}
	cost, err := s.Cost(ctx, h.commands, func() (int64, error) {
		for i := range herds {
			if err := gather(fmt.Sprint(prefix, i)); err != nil {
				return 0, err
			}
		}
		return int64(herds * requests), nil
	})
	return result{Cost: cost}, err
}
