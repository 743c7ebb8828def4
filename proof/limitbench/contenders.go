package limitbench

import (
	"context"
	_ "embed"
	"errors"
	"time"

	redisrate "github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	limiterredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

// The limits when all calls are granted: the highest rate that leaves millrace a
// burst for the more than 512 callers that ask at once.
const (
	hardLimit = 1_000_000
	rate      = 900_000
)

// generous gives the store a higher rate than the limiter's own maximum of a
// million calls a second, which combined callers reach: the benchmark measures the
// decisions and not the budget. All else is the limiter's and the store's.
type generous struct {
	driver.Store
	plan driver.Plan
}

func newGenerous(s driver.Store, l ratelimit.Limits) (*generous, error) {
	p, err := l.Plan()
	if err != nil {
		return nil, err
	}
	g := &generous{s, *p}
	g.plan.Rate, g.plan.LowRate = 20*rate, 20*rate
	return g, nil
}

// Acquire implements driver.Store.
func (g *generous) Acquire(ctx context.Context, _ *driver.Plan, ask driver.Ask) (driver.Grant, error) {
	return g.Store.Acquire(ctx, &g.plan, ask)
}

// scarce is the number of calls granted at once, and the seconds of a refusal,
// where every call is refused.
const scarce = 60

// scripted are the commands of a client that runs scripts.
var scripted = []string{"evalsha", "eval"}

// decide asks for one call, or for more than the budget.
type decide func(ctx context.Context) (allowed bool, err error)

// contender is a limiter under measurement.
type contender struct {
	name string
	// open makes it on a key of its own. With denied the budget is used up.
	open func(ctx context.Context, s *redisserver.Server, key string, pool int, denied bool) (decide, func() error, error)
}

const (
	millrace  = "millrace"
	redisRate = "redis_rate"
	ulule     = "ulule"
	plain     = "plain script"
)

func contenders() []contender {
	return []contender{{millrace, openMillrace}, {redisRate, openRedisRate}, {ulule, openUlule}, {plain, openPlain}}
}

func openMillrace(_ context.Context, s *redisserver.Server, key string, pool int, denied bool) (decide, func() error, error) {
	client, err := redisdb.Open(s.URL, redisdb.Config{PoolSize: pool})
	if err != nil {
		return nil, nil, err
	}
	limits, n := ratelimit.Limits{HardLimit: hardLimit, Rate: rate}, 1
	if denied {
		limits, n = ratelimit.Limits{HardLimit: 2 * scarce, Rate: 1, Burst: scarce}, scarce
	}
	var store driver.Store
	store, err = redisratelimit.New(client, redisratelimit.Config{Name: key})
	if err == nil && !denied {
		store, err = newGenerous(store, limits)
	}
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	// The default timeout of 100 ms is for programs; a loaded machine that stalls
	// for longer should cost time here and not decisions.
	l, err := ratelimit.New(store, ratelimit.Config{Limits: limits, Timeout: 5 * time.Second})
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return func(ctx context.Context) (bool, error) {
		d, err := l.AllowN(ctx, ratelimit.Low, n)
		return d.Allowed, err
	}, client.Close, nil
}

func openRedisRate(_ context.Context, s *redisserver.Server, key string, pool int, denied bool) (decide, func() error, error) {
	client := s.Client(pool)
	l, limit := redisrate.NewLimiter(client), redisrate.PerSecond(rate)
	if denied {
		limit = redisrate.Limit{Rate: 1, Burst: 1, Period: scarce * time.Second}
	}
	return func(ctx context.Context) (bool, error) {
		r, err := l.Allow(ctx, key, limit)
		return err == nil && r.Allowed > 0, err
	}, client.Close, nil
}

func openUlule(_ context.Context, s *redisserver.Server, key string, pool int, denied bool) (decide, func() error, error) {
	client := s.Client(pool)
	store, err := limiterredis.NewStore(client)
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	l := limiter.New(store, limiter.Rate{Period: time.Second, Limit: rate})
	if denied {
		l = limiter.New(store, limiter.Rate{Period: scarce * time.Second, Limit: 1})
	}
	return func(ctx context.Context) (bool, error) {
		r, err := l.Get(ctx, key)
		return err == nil && !r.Reached, err
	}, client.Close, nil
}

//go:embed lua/plain.lua
var plainText string

func openPlain(_ context.Context, s *redisserver.Server, key string, pool int, denied bool) (decide, func() error, error) {
	client, script := s.Client(pool), redis.NewScript(plainText)
	keys, args := []string{"{" + key + "-plain}:global", "{" + key + "-plain}:low_cap"}, []any{rate, rate, hardLimit - rate, hardLimit - rate}
	if denied {
		args = []any{1.0 / scarce, 1.0 / scarce, 1, 1}
	}
	return func(ctx context.Context) (bool, error) {
		n, err := script.Run(ctx, client, keys, args...).Int()
		return n == 1, err
	}, client.Close, nil
}
