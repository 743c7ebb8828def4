package redisratelimit

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/internal/budget"
)

// store is a [driver.Store] in Redis or a Redis Cluster, with Redis' own clock. It has no
// limits of its own: each call passes the plan, and all processes that share the name should
// pass the same plan.
type store struct {
	client  redis.UniversalClient
	name    string
	keys    keys
	buckets scripts
	windows scripts
	extra   func() []any // more arguments, for tests
}

var _ driver.Store = (*store)(nil)

// New creates a store on a client, which the caller closes. The client should be the limiter's
// own, with short timeouts. New refuses a client that ignores contexts (a server that hangs
// would block callers beyond theirs) or that repeats calls (a call that is executed twice is
// charged twice):
//
//	redis.NewUniversalClient(&redis.UniversalOptions{
//		Addrs: …, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
//	})
func New(client redis.UniversalClient, cfg Config) (driver.Store, error) {
	if client == nil {
		return nil, errors.New("redisratelimit: the client is nil; make one with redis.NewUniversalClient")
	}
	if cfg.Name == "" {
		cfg.Name = "rate"
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := redisdb.CheckClient(client); err != nil {
		return nil, fmt.Errorf("redisratelimit: %w", err)
	}
	return &store{client: client, name: cfg.Name, keys: keysOf(cfg.Name), buckets: bucketScripts(), windows: windowScripts()}, nil
}

// mode returns the scripts and the keys of a plan. The last key is the key of the day.
func (s *store) mode(p *driver.Plan) (scripts, []string) {
	scripts, keys := s.buckets, s.keys.buckets
	if p.Strict {
		scripts, keys = s.windows, s.keys.windows
	}
	if p.Day.Limit == 0 {
		keys = keys[:len(keys)-1]
	}
	return scripts, keys
}

// Acquire decides the runs in one script; see [driver.Store].
func (s *store) Acquire(ctx context.Context, plan *driver.Plan, ask driver.Ask) (driver.Grant, error) {
	if err := check(plan, ask); err != nil {
		return driver.Grant{}, fmt.Errorf("redisratelimit: acquire %q: %w", s.name, err)
	}
	scripts, keys := s.mode(plan)
	answer, err := scripts.acquire.Run(ctx, s.client, keys, s.with(acquireArgs(plan, ask))...).Text()
	if err != nil {
		return driver.Grant{}, failed("acquire", s.name, err)
	}
	g, ok := grantOf(answer, len(ask.Runs))
	if !ok {
		return driver.Grant{}, failed("acquire", s.name, fmt.Errorf("the script answered %q to %d runs", answer, len(ask.Runs)))
	}
	return g, nil
}

// maxRuns bounds the runs of one script, so that a script cannot block the server.
const maxRuns = 1000

func check(plan *driver.Plan, ask driver.Ask) error {
	if len(ask.Runs) > maxRuns {
		return fmt.Errorf("an Ask of %d Runs; give at most %d", len(ask.Runs), maxRuns)
	}
	return budget.Check(plan, ask)
}

// Return gives a permit back; see [driver.Store].
func (s *store) Return(ctx context.Context, plan *driver.Plan, r driver.Returned) error {
	if err := budget.CheckReturned(r); err != nil {
		return fmt.Errorf("redisratelimit: return %q: %w", s.name, err)
	}
	scripts, keys := s.mode(plan)
	if err := scripts.giveBack.Run(ctx, redisdb.Once{UniversalClient: s.client}, keys, s.with(returnArgs(plan, r))...).Err(); err != nil {
		return failed("return to", s.name, err)
	}
	return nil
}

func (s *store) with(args doubles) []any {
	if s.extra == nil {
		return []any{[]byte(args)}
	}
	return append([]any{[]byte(args)}, s.extra()...)
}
