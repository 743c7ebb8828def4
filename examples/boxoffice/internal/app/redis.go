package app

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	coalescedriver "github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/meter"
	ratelimitdriver "github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
	"github.com/millrace-go/millrace/redisclient"
)

// shared is the state that processes share beside the database and the transport: in
// Redis, or in this process when it is the only one.
type shared struct {
	locks   coalescedriver.Store
	permits ratelimitdriver.Store
	calls   meter.Store
}

// redisTimeout bounds a call; callers have shorter deadlines of their own.
const redisTimeout = time.Second

// openShared connects to nothing: an outage of Redis delays neither the start of a
// process nor the answer to a read.
func (a *App) openShared(opened *closers) error {
	if !a.mirrors() {
		return nil
	}
	if a.cfg.RedisURL == config.EmbeddedRedis {
		permits, err := memratelimit.New(memratelimit.Config{})
		if err != nil {
			return err
		}
		a.shared = shared{locks: memcoalesce.New(), permits: permits, calls: meter.NewMemory()}
		return nil
	}
	// The limiter's calls are late after milliseconds, so they have connections of their
	// own and wait for no other calls.
	own, err := a.openRedis(opened)
	if err != nil {
		return err
	}
	others, err := a.openRedis(opened)
	if err != nil {
		return err
	}
	if a.shared.permits, err = redisratelimit.New(own, redisratelimit.Config{Name: a.cfg.RedisPrefix + "rate"}); err != nil {
		return err
	}
	if a.shared.locks, err = rediscoalesce.New(others, rediscoalesce.Config{Prefix: a.cfg.RedisPrefix + "upd:"}); err != nil {
		return err
	}
	a.shared.calls, err = meter.NewRedis(others, meter.RedisConfig{Name: a.cfg.RedisPrefix + "calls"})
	return err
}

func (a *App) openRedis(opened *closers) (redis.UniversalClient, error) {
	client, err := redisclient.Open(a.cfg.RedisURL, redisclient.Config{Timeout: redisTimeout})
	if err != nil {
		return nil, fmt.Errorf("BOXOFFICE_REDIS_URL (--redis-url): %w", err)
	}
	client.AddHook(a.commands)
	opened.add(client.Close)
	return client, nil
}
