package idempotencytest_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/idempotencytest"
	"github.com/millrace-go/millrace/sqltx"
)

// leaseDefects lists the cases that must fail for each broken lease store.
func leaseDefects() []leaseDefect {
	l := &latest{token: map[string]int64{}} // shared by both sides of a harness, like a database
	return []leaseDefect{
		{
			"does not compare tokens",
			[]string{"takeover-after-deadline", "release-frees", "ends-once"},
			func(s driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return leases{
					claim: l.of(s),
					extend: func(ctx context.Context, c driver.Claim, ttl time.Duration) error {
						return s.Extend(ctx, l.swap(c), ttl)
					},
					complete: func(ctx context.Context, c driver.Claim, r []byte) error { return s.Complete(ctx, l.swap(c), r) },
					release:  func(ctx context.Context, c driver.Claim) error { return s.Release(ctx, l.swap(c)) },
				}
			},
		},
		{
			"says done when somebody else is at it",
			[]string{"claim-complete", "extend", "one-winner"},
			func(s driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return answers(s, func(c *driver.Claim) {
					if c.State == driver.Taken {
						c.State = driver.Done
					}
				})
			},
		},
		{
			"never lets go of a lease that ran out",
			[]string{"takeover-after-deadline", "deadline-by-the-clock", "tokens-grow", "other-request"},
			func(s driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r driver.Record, ttl time.Duration) (driver.Claim, error) {
					return s.Claim(ctx, r, ttl+100*time.Hour)
				}}
			},
		},
		{
			"lets go of a lease too soon",
			[]string{"claim-complete", "deadline-by-the-clock"},
			func(s driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r driver.Record, ttl time.Duration) (driver.Claim, error) {
					return s.Claim(ctx, r, ttl/3)
				}}
			},
		},
		{
			"ignores Extend",
			[]string{"extend", "late-is-not-lost"},
			func(_ driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return leases{extend: func(context.Context, driver.Claim, time.Duration) error { return nil }}
			},
		},
		{
			"refuses whoever is late",
			[]string{"late-is-not-lost"},
			func(s driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return leases{complete: func(ctx context.Context, c driver.Claim, r []byte) error {
					if strings.HasSuffix(c.Key, "complete") {
						return driver.ErrLeaseLost
					}
					return s.Complete(ctx, c, r)
				}}
			},
		},
		{
			"keeps a released key",
			[]string{"release-frees", "other-request", "tokens-grow"},
			func(_ driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return leases{release: func(context.Context, driver.Claim) error { return nil }}
			},
		},
		{
			"refuses a repeated end",
			[]string{"repeated-end"},
			func(s driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				var ended sync.Map
				once := func(c driver.Claim, f func() error) error {
					if _, twice := ended.LoadOrStore(c.Key, true); twice {
						return driver.ErrLeaseLost
					}
					return f()
				}
				return leases{
					complete: func(ctx context.Context, c driver.Claim, r []byte) error {
						return once(c, func() error { return s.Complete(ctx, c, r) })
					},
					release: func(ctx context.Context, c driver.Claim) error {
						return once(c, func() error { return s.Release(ctx, c) })
					},
				}
			},
		},
		{
			"ignores fingerprints",
			[]string{"other-request"},
			func(s driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r driver.Record, ttl time.Duration) (driver.Claim, error) {
					r.Fingerprint = ""
					return s.Claim(ctx, r, ttl)
				}}
			},
		},
		{
			"counts tokens from one again after a release",
			[]string{"release-frees", "tokens-grow"},
			func(s driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return answers(s, func(c *driver.Claim) {
					if c.State == driver.Claimed {
						c.Token = 1
					}
				})
			},
		},
		{
			"cuts results",
			[]string{"results", "lease-keys"},
			func(s driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return leases{complete: func(ctx context.Context, c driver.Claim, r []byte) error {
					return s.Complete(ctx, c, r[:min(len(r), 2000)])
				}}
			},
		},
		{
			"keeps results as text",
			[]string{"results"},
			func(s driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return leases{complete: func(ctx context.Context, c driver.Claim, r []byte) error {
					return s.Complete(ctx, c, bytes.ToValidUTF8(r, nil))
				}}
			},
		},
		{
			"compares keys without regard to case",
			[]string{"lease-keys"},
			func(s driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r driver.Record, ttl time.Duration) (driver.Claim, error) {
					r.Key = strings.ToLower(r.Key)
					return s.Claim(ctx, r, ttl)
				}}
			},
		},
		{
			"takes any argument",
			[]string{"lease-arguments"},
			func(s driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r driver.Record, ttl time.Duration) (driver.Claim, error) {
					return s.Claim(ctx, r, max(ttl, time.Second))
				}}
			},
		},
		{
			"looks and then takes",
			[]string{"one-winner", "http-herd"},
			func(s driver.SQLLeaseStore, h idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r driver.Record, ttl time.Duration) (driver.Claim, error) {
					c, err := s.Claim(ctx, r, ttl)
					if c.State == driver.Taken { // as if it had looked before the other took it
						c.State, c.Token = driver.Claimed, time.Now().UnixMicro()
					}
					return c, err
				}}
			},
		},
		{
			"does not heed its context",
			[]string{"lease-cancelled-context"},
			func(s driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r driver.Record, ttl time.Duration) (driver.Claim, error) {
					return s.Claim(context.WithoutCancel(ctx), r, ttl)
				}}
			},
		},
		{
			"prunes nothing",
			[]string{"lease-prune"},
			func(driver.SQLLeaseStore, idempotencytest.LeaseHarness) leases {
				return leases{prune: func(context.Context, time.Duration, int) (int, error) { return 0, nil }}
			},
		},
		{
			"ignores the limit of Prune",
			[]string{"lease-prune", "lease-prune-bad-limit"},
			func(s driver.SQLLeaseStore, _ idempotencytest.LeaseHarness) leases {
				return leases{prune: func(ctx context.Context, age time.Duration, _ int) (int, error) { return s.Prune(ctx, age, 1000) }}
			},
		},
		{
			"prunes leases that run",
			[]string{"lease-prune"},
			func(s driver.SQLLeaseStore, h idempotencytest.LeaseHarness) leases {
				return leases{prune: func(ctx context.Context, age time.Duration, limit int) (int, error) {
					if age < 0 {
						if err := h.Backdate(ctx, "group:running", 2*time.Hour); err != nil {
							return 0, err
						}
					}
					return s.Prune(ctx, age, limit)
				}}
			},
		},
		{
			"claims inside a transaction",
			[]string{"lease-transactions"},
			func(s driver.SQLLeaseStore, h idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r driver.Record, ttl time.Duration) (driver.Claim, error) {
					if _, inside := sqltx.On(ctx, h.DB); inside {
						return driver.Claim{State: driver.Claimed, Key: r.Key, Token: 1}, nil
					}
					return s.Claim(ctx, r, ttl)
				}}
			},
		},
	}
}
