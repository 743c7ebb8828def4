package idempotency

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/internal/renewal"
)

// LeaseConfig is the configuration of [Leases].
type LeaseConfig struct {
	// Group is the consumer group of the effects; required, without a colon.
	Group string
	// Key names the effect of an event, as Config.Key does; {group}:{eventId} when nil.
	Key func(group string, e event.Event) (string, error)
	// TTL is how long a claim is valid without a renewal, and so how long a crash blocks its
	// key; 30 s when zero. The claim is renewed each third of TTL.
	TTL time.Duration
	// Finish bounds how long completing or releasing is retried after the work, also after the
	// context has ended; TTL when zero. The lease is renewed for as long.
	Finish time.Duration
	// Logger receives errors that cannot be returned: a failed release, after which the key is
	// free at its deadline. slog.Default() when nil.
	Logger *slog.Logger
}

func (c LeaseConfig) validate() error {
	if c.Group == "" {
		return errors.New("idempotency: LeaseConfig.Group is empty; give the consumer group's name")
	}
	if strings.Contains(c.Group, ":") {
		return fmt.Errorf("idempotency: LeaseConfig.Group %q holds a colon, which separates the parts of a key; use another character", c.Group)
	}
	return checkTimes("LeaseConfig", c.TTL, c.Finish)
}

func checkTimes(config string, ttl, finish time.Duration) error {
	if ttl != 0 && ttl < 10*time.Millisecond {
		return fmt.Errorf("idempotency: %s.TTL is %v; use at least 10 ms, or 0 for 30 s", config, ttl)
	}
	if finish < 0 {
		return fmt.Errorf("idempotency: %s.Finish is %v; use a positive duration, or 0 for the TTL", config, finish)
	}
	return nil
}

// Leases runs effects outside the database once per key: a call of another service, an email.
// They cannot commit together with the key, so after a crash between the effect and its
// completion the next worker repeats the effect. Pass the claim's token or the key to the other
// side, which then can refuse a stale call and recognize a repeated one.
type Leases struct {
	keys Config // makes the records
	run  runner
}

// NewLeases creates a runner for one consumer group. The store can be shared.
func NewLeases(store driver.LeaseStore, cfg LeaseConfig) (*Leases, error) {
	if store == nil {
		return nil, errors.New("idempotency: the lease store is nil; make one with sqlidempotency.NewLeases")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Key == nil {
		cfg.Key = byEvent
	}
	return &Leases{
		keys: Config{Group: cfg.Group, Key: cfg.Key},
		run:  newRunner(store, cfg.TTL, cfg.Finish, cfg.Logger),
	}, nil
}

// Do runs fn if the event's key is free, and stores the result of fn. For a key that was
// completed before, Do returns that result and fresh is false. While another worker holds the
// key, Do returns an error of the class [fault.Busy] at once: a consumer lets the event wait
// until the key is done or free, however long that takes. [fault.Wait] is the rest of the
// holder's lease, unless the lease is extended.
//
// The lease is renewed while fn works. If the lease is lost in spite of this, fn's context ends
// with the cause [ErrLeaseLost], and Do returns that error. An error of fn releases the key and
// is returned unchanged.
func (l *Leases) Do(ctx context.Context, e event.Event, fn func(ctx context.Context, c Claim) ([]byte, error)) (result []byte, fresh bool, err error) {
	r, err := l.keys.record(e)
	if err != nil {
		return nil, false, err
	}
	return l.once(event.NewContext(ctx, e), r, fn)
}

// Once is Do for a key that does not belong to an event, such as that of a request. The
// fingerprint, "" for none, distinguishes two requests with one key: if the key was claimed with
// another one, Once returns [ErrMismatch].
func (l *Leases) Once(ctx context.Context, key, fingerprint string, fn func(ctx context.Context, c Claim) ([]byte, error)) (result []byte, fresh bool, err error) {
	return l.once(ctx, driver.Record{Key: key, Group: l.keys.Group, Fingerprint: fingerprint}, fn)
}

func (l *Leases) once(ctx context.Context, r driver.Record, fn func(ctx context.Context, c Claim) ([]byte, error)) (result []byte, fresh bool, err error) {
	began := time.Now()
	c, err := l.run.claim(ctx, r)
	if err != nil {
		return nil, false, err
	}
	switch c.State {
	case driver.Claimed:
		result, err = l.run.held(ctx, began, c, fn)
		return result, err == nil, err
	case driver.Done:
		return c.Result, false, nil
	case driver.Mismatch:
		return nil, false, ErrMismatch
	default:
		return nil, false, fault.MarkBusy(fmt.Errorf("idempotency: another worker holds the key %q for %v more; try again later",
			r.Key, c.Wait.Round(time.Millisecond)), c.Wait)
	}
}

type claimKey struct{}

// ClaimFrom returns the claim of the work with context ctx, for its token.
func ClaimFrom(ctx context.Context) (Claim, bool) {
	c, ok := ctx.Value(claimKey{}).(Claim)
	return c, ok
}

// runner runs work under a claim.
type runner struct {
	store       driver.LeaseStore
	ttl, finish time.Duration
	log         *slog.Logger
	counts      *leaseCounts
}

func newRunner(store driver.LeaseStore, ttl, finish time.Duration, log *slog.Logger) runner {
	ttl = cmp.Or(ttl, 30*time.Second)
	return runner{store, ttl, cmp.Or(finish, ttl), cmp.Or(log, slog.Default()), &leaseCounts{}}
}

// held runs fn under a claim that was requested at the time began, and completes it, or
// releases it if fn fails.
func (r runner) held(ctx context.Context, began time.Time, c Claim, fn func(ctx context.Context, c Claim) ([]byte, error)) (result []byte, err error) {
	work, keeper := renewal.Start(ctx, began, r.ttl, driver.ErrLeaseLost, func(ctx context.Context) error {
		return r.store.Extend(ctx, c, r.ttl)
	})
	defer keeper.Stop()
	defer func() { r.ended(err) }()
	worked := false
	defer func() {
		// Do not release if only recording the work failed: its effect has happened, so the key
		// stays claimed, as after a crash.
		if !worked {
			r.release(ctx, c)
		}
	}()
	result, err = fn(context.WithValue(work, claimKey{}, c), c)
	if err != nil {
		if keeper.Lost() {
			err = fmt.Errorf("%w: %w", driver.ErrLeaseLost, err)
		}
		return nil, err
	}
	worked = true
	if err := r.complete(ctx, c, result); err != nil {
		return nil, fmt.Errorf("idempotency: the work of the key %q is done, but that could not be recorded: %w", c.Key, err)
	}
	return result, nil
}

// complete retries until it succeeds, also after the local deadline: if no other worker has
// taken over, the claim still counts.
func (r runner) complete(ctx context.Context, c Claim, result []byte) error {
	return renewal.Insist(ctx, r.finish, final, func(ctx context.Context) error { return r.store.Complete(ctx, c, result) })
}

func (r runner) release(ctx context.Context, c Claim) {
	err := renewal.Insist(ctx, r.finish, final, func(ctx context.Context) error { return r.store.Release(ctx, c) })
	if err != nil && !errors.Is(err, driver.ErrLeaseLost) {
		r.log.WarnContext(ctx, "releasing an idempotency key failed; it is free at its deadline", "key", c.Key, "error", err)
	}
}

func final(err error) bool {
	return errors.Is(err, driver.ErrLeaseLost) || fault.Of(err) == fault.Permanent
}
