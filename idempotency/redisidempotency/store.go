package redisidempotency

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/internal/renewal"
	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/lease"
)

// mark is the value of a handled key. The value of a key that is being handled is a random,
// longer one of its holder.
const mark = "1"

type store struct {
	client  redis.UniversalClient
	cfg     Config
	scripts markScripts
}

// New creates a store on a client, which the caller closes. It is a [driver.Precheck], and a
// [driver.Store] if a lost key is tolerable.
func New(client redis.UniversalClient, cfg Config) (driver.KeyStore, error) {
	if client == nil {
		return nil, errors.New("redisidempotency: the client is nil; make one with redis.NewUniversalClient")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Prefix = cmp.Or(cfg.Prefix, "idempotency:")
	cfg.TTL = cmp.Or(cfg.TTL, week)
	cfg.Lease = cmp.Or(cfg.Lease, 30*time.Second)
	return &store{client: client, cfg: cfg, scripts: newMarkScripts()}, nil
}

// Known reports which keys are handled, in one round trip; see
// [driver.Precheck].
func (s *store) Known(ctx context.Context, keys []string) ([]bool, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	values := make([]*redis.StringCmd, len(keys))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			values[i] = p.Get(ctx, named(s.cfg.Prefix, key))
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, failed("look up", keys[0], err)
	}
	known := make([]bool, len(keys))
	for i, value := range values {
		if err := value.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return nil, failed("look up", keys[i], err)
		}
		known[i] = value.Val() == mark
	}
	return known, nil
}

// Mark stores keys whose effects are committed, in one round trip.
func (s *store) Mark(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range keys {
			p.Set(ctx, named(s.cfg.Prefix, key), mark, s.cfg.TTL)
		}
		return nil
	})
	if err != nil {
		return failed("mark", keys[0], err)
	}
	return nil
}

// Seen reports whether the key is handled.
func (s *store) Seen(ctx context.Context, key string) (bool, error) {
	if key == "" {
		return false, driver.ErrEmptyKey
	}
	known, err := s.Known(ctx, []string{key})
	if err != nil {
		return false, err
	}
	return known[0], nil
}

// Prune does nothing: Redis deletes each key at the end of its TTL.
func (s *store) Prune(_ context.Context, _ time.Duration, limit int) (int, error) {
	return 0, checkLimit(limit)
}

// holding holds the keys of the calls around this one, innermost first.
type holding struct {
	store *store
	key   string
	outer *holding
}

type contextKey struct{}

// Once runs fn if the key is new, with Redis as the only truth. The key is marked as handled
// after fn has returned nil. Until then it is a lease, so that after a crash the key is free
// after Config.Lease, and the effect, if there was one, is repeated. A concurrent duplicate
// polls until the first call is over.
func (s *store) Once(ctx context.Context, r driver.Record, fn func(ctx context.Context) error) (fresh bool, err error) {
	if r.Key == "" {
		return false, driver.ErrEmptyKey
	}
	outer, _ := ctx.Value(contextKey{}).(*holding)
	for h := outer; h != nil; h = h.outer {
		if h.store == s && h.key == r.Key {
			return false, nil // this call would wait for itself
		}
	}
	holder := rand.Text()
	began, fresh, err := s.take(ctx, r.Key, holder)
	if err != nil || !fresh {
		return false, err
	}
	name := []string{named(s.cfg.Prefix, r.Key)}
	work, keeper := renewal.Start(ctx, began, s.cfg.Lease, driver.ErrLeaseLost, func(ctx context.Context) error {
		ours, err := s.scripts.renew.Run(ctx, s.client, name, holder, s.cfg.Lease.Milliseconds()).Bool()
		return held("renew", r.Key, ours, err)
	})
	defer keeper.Stop()
	worked := false
	defer func() {
		if !worked {
			// If this fails too, the key is free at its deadline.
			_ = s.insist(ctx, func(ctx context.Context) error {
				ours, err := s.scripts.drop.Run(ctx, s.client, name, holder).Bool()
				return held("release", r.Key, ours, err)
			})
		}
	}()
	if err := fn(context.WithValue(work, contextKey{}, &holding{s, r.Key, outer})); err != nil {
		if keeper.Lost() {
			err = fmt.Errorf("%w: %w", driver.ErrLeaseLost, err)
		}
		return false, err
	}
	worked = true
	err = s.insist(ctx, func(ctx context.Context) error {
		const marked = 2 // by this call, whose answer was lost, unless another one has taken over
		n, err := s.scripts.done.Run(ctx, s.client, name, holder, mark, s.cfg.TTL.Milliseconds()).Int()
		return held("complete", r.Key, n == 1 || n == marked && !keeper.Lost(), err)
	})
	return err == nil, err
}

// take waits until no other call holds the key. It reports whether this call holds the key now
// or the key was handled, and since when this call holds it.
func (s *store) take(ctx context.Context, key, holder string) (began time.Time, fresh bool, err error) {
	name := named(s.cfg.Prefix, key)
	policy := backoff.Policy{Initial: 5 * time.Millisecond, Max: 200 * time.Millisecond, Jitter: 0.3}
	for attempt := 1; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return began, false, failed("record", key, err)
		}
		began = time.Now()
		asking, cancel := lease.Asking(ctx)
		ours, err := s.client.SetNX(asking, name, holder, s.cfg.Lease).Result()
		cancel()
		switch {
		case err != nil:
			return began, false, failed("record", key, err)
		case ours:
			return began, true, nil
		}
		switch value, err := s.client.Get(ctx, name).Result(); {
		case errors.Is(err, redis.Nil):
			continue // released just now
		case err != nil:
			return began, false, failed("record", key, err)
		case value == holder:
			return began, true, nil // the answer was lost, and the client sent the command again
		case value == mark:
			return began, false, nil
		}
		if err := backoff.Sleep(ctx, policy.Delay(attempt)); err != nil {
			return began, false, failed("record", key, err)
		}
	}
}

// insist retries the end of a call for the length of a lease.
func (s *store) insist(ctx context.Context, f func(context.Context) error) error {
	return renewal.Insist(ctx, s.cfg.Lease, func(err error) bool { return errors.Is(err, driver.ErrLeaseLost) }, f)
}
