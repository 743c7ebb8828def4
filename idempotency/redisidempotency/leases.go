package redisidempotency

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/idempotency/driver"
)

// leases is a [driver.LeaseStore] in Redis, with Redis' own clock.
type leases struct {
	client  redis.UniversalClient
	cfg     Config
	scripts leaseScripts
}

var _ driver.LeaseStore = (*leases)(nil)

// NewLeases creates a lease store on a client, which the caller closes.
func NewLeases(client redis.UniversalClient, cfg Config) (driver.LeaseStore, error) {
	if client == nil {
		return nil, errors.New("redisidempotency: the client is nil; make one with redis.NewUniversalClient")
	}
	if cfg.Lease != 0 {
		return nil, fmt.Errorf("redisidempotency: Config.Lease is %v for leases, whose length is idempotency.LeaseConfig.TTL; leave it zero", cfg.Lease)
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Prefix = cmp.Or(cfg.Prefix, "idempotency:lease:")
	cfg.TTL = cmp.Or(cfg.TTL, week)
	return &leases{client: client, cfg: cfg, scripts: newLeaseScripts()}, nil
}

func (s *leases) check(key string, ttl time.Duration) error {
	if err := driver.CheckLease(key, ttl); err != nil {
		return err
	}
	if ttl > s.cfg.TTL {
		return fmt.Errorf("redisidempotency: a lease of %v is longer than Config.TTL (%v), after which Redis forgets it; use a shorter lease", ttl, s.cfg.TTL)
	}
	return nil
}

// Claim takes the key; see [driver.LeaseStore].
func (s *leases) Claim(ctx context.Context, r driver.Record, ttl time.Duration) (driver.Claim, error) {
	c := driver.Claim{Key: r.Key}
	if err := s.check(r.Key, ttl); err != nil {
		return c, err
	}
	answer, err := s.scripts.claim.Run(ctx, s.client, []string{named(s.cfg.Prefix, r.Key)},
		r.Fingerprint, ttl.Microseconds(), s.cfg.TTL.Milliseconds(), rand.Text()).StringSlice()
	if err != nil {
		return c, failed("claim", r.Key, err)
	}
	if c, err = claimOf(r.Key, answer); err != nil {
		return c, failed("claim", r.Key, err)
	}
	return c, nil
}

// claimOf parses the answer of claim.lua: a word, and for most words a value.
func claimOf(key string, answer []string) (c driver.Claim, err error) {
	c.Key = key
	if len(answer) == 0 || len(answer) == 1 && answer[0] != "mismatch" {
		return c, fmt.Errorf("the script answered %q", answer)
	}
	switch answer[0] {
	case "claimed":
		c.State = driver.Claimed
		c.Token, err = strconv.ParseInt(answer[1], 10, 64)
	case "done":
		c.State = driver.Done
		if answer[1] != "" {
			c.Result = []byte(answer[1])
		}
	case "mismatch":
		c.State = driver.Mismatch
	default:
		var left int64
		left, err = strconv.ParseInt(answer[1], 10, 64)
		c.State, c.Wait = driver.Taken, time.Duration(left)*time.Microsecond
	}
	return c, err
}

// Extend moves the deadline.
func (s *leases) Extend(ctx context.Context, c driver.Claim, ttl time.Duration) error {
	if err := s.check(c.Key, ttl); err != nil {
		return err
	}
	return s.change(ctx, "extend the lease of", s.scripts.extend, c, ttl.Microseconds(), s.cfg.TTL.Milliseconds())
}

// Complete stores the result.
func (s *leases) Complete(ctx context.Context, c driver.Claim, result []byte) error {
	return s.change(ctx, "complete", s.scripts.complete, c, result, s.cfg.TTL.Milliseconds())
}

// Release frees the key.
func (s *leases) Release(ctx context.Context, c driver.Claim) error {
	return s.change(ctx, "release", s.scripts.release, c)
}

func (s *leases) change(ctx context.Context, what string, script *redis.Script, c driver.Claim, args ...any) error {
	ours, err := script.Run(ctx, s.client, []string{named(s.cfg.Prefix, c.Key)}, append([]any{c.Token}, args...)...).Bool()
	return held(what, c.Key, ours, err)
}

// Prune does nothing: Redis deletes each key at the end of its TTL.
func (s *leases) Prune(_ context.Context, _ time.Duration, limit int) (int, error) {
	return 0, checkLimit(limit)
}

func checkLimit(limit int) error {
	if limit < 1 {
		return fmt.Errorf("redisidempotency: prune: the limit is %d; use at least 1", limit)
	}
	return nil
}
