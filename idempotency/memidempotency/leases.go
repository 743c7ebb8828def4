package memidempotency

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/idempotency/driver"
)

type leases struct {
	mu   sync.Mutex
	keys map[string]*lease
}

type lease struct {
	state       leaseState
	token       int64
	fingerprint string
	until       time.Time // the deadline; in other states, the time of the end
	result      []byte
}

type leaseState uint8

const (
	held leaseState = iota
	released
	completed
)

// NewLeases returns an empty lease store.
func NewLeases() driver.MemoryLeaseStore { return &leases{keys: map[string]*lease{}} }

// Claim takes the key; see [driver.LeaseStore].
func (s *leases) Claim(ctx context.Context, r driver.Record, ttl time.Duration) (driver.Claim, error) {
	if err := driver.CheckLease(r.Key, ttl); err != nil {
		return driver.Claim{}, err
	}
	if err := ctx.Err(); err != nil {
		return driver.Claim{}, fmt.Errorf("memidempotency: claim %q: %w", r.Key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	l := s.keys[r.Key]
	c := driver.Claim{Key: r.Key}
	switch {
	case l == nil:
		l = &lease{}
		s.keys[r.Key] = l
	case l.state == released:
	case l.fingerprint != r.Fingerprint:
		c.State = driver.Mismatch
		return c, nil
	case l.state == completed:
		c.State, c.Result = driver.Done, append([]byte(nil), l.result...)
		return c, nil
	case l.until.After(now):
		c.State, c.Wait = driver.Taken, l.until.Sub(now)
		return c, nil
	}
	// The token must also be above those of a pruned lease.
	token := max(l.token+1, now.UnixMicro())
	*l = lease{state: held, token: token, fingerprint: r.Fingerprint, until: now.Add(ttl)}
	c.State, c.Token = driver.Claimed, token
	return c, nil
}

// Extend moves the deadline.
func (s *leases) Extend(ctx context.Context, c driver.Claim, ttl time.Duration) error {
	if err := driver.CheckLease(c.Key, ttl); err != nil {
		return err
	}
	return s.change(ctx, c, func(l *lease) bool {
		if l.state != held {
			return false
		}
		l.until = time.Now().Add(ttl)
		return true
	})
}

// Complete stores the result.
func (s *leases) Complete(ctx context.Context, c driver.Claim, result []byte) error {
	return s.change(ctx, c, func(l *lease) bool {
		if l.state == held {
			l.state, l.until, l.result = completed, time.Now(), append([]byte(nil), result...)
		}
		return l.state == completed
	})
}

// Release frees the key.
func (s *leases) Release(ctx context.Context, c driver.Claim) error {
	return s.change(ctx, c, func(l *lease) bool {
		if l.state == held {
			l.state, l.until = released, time.Now()
		}
		return l.state == released
	})
}

func (s *leases) change(ctx context.Context, c driver.Claim, f func(l *lease) bool) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memidempotency: lease %q: %w", c.Key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.keys[c.Key]; l == nil || l.token != c.Token || !f(l) {
		return fmt.Errorf("memidempotency: lease %q: %w", c.Key, driver.ErrLeaseLost)
	}
	return nil
}

// Prune deletes up to limit keys that ended longer ago than age.
func (s *leases) Prune(_ context.Context, age time.Duration, limit int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	return prune(s.keys, limit, func(l *lease) bool {
		return l.until.Before(now.Add(-age)) && (l.state != held || !l.until.After(now))
	})
}

// Backdate implements [driver.MemoryLeaseStore].
func (s *leases) Backdate(_ context.Context, key string, by time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.keys[key]
	if l == nil {
		return fmt.Errorf("memidempotency: backdate: there is no lease %q", key)
	}
	l.until = l.until.Add(-by)
	return nil
}
