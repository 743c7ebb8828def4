package idempotencytest_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/idempotencytest"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/sqltx"
)

// leases is a correct lease store with at most one defect.
type leases struct {
	idempotency.LeaseStore
	claim    func(ctx context.Context, r idempotency.Record, ttl time.Duration) (idempotency.Claim, error)
	extend   func(ctx context.Context, c idempotency.Claim, ttl time.Duration) error
	complete func(ctx context.Context, c idempotency.Claim, result []byte) error
	release  func(ctx context.Context, c idempotency.Claim) error
	prune    func(ctx context.Context, before time.Time, limit int) (int, error)
}

func (l leases) Claim(ctx context.Context, r idempotency.Record, ttl time.Duration) (idempotency.Claim, error) {
	if l.claim == nil {
		return l.LeaseStore.Claim(ctx, r, ttl)
	}
	return l.claim(ctx, r, ttl)
}

func (l leases) Extend(ctx context.Context, c idempotency.Claim, ttl time.Duration) error {
	if l.extend == nil {
		return l.LeaseStore.Extend(ctx, c, ttl)
	}
	return l.extend(ctx, c, ttl)
}

func (l leases) Complete(ctx context.Context, c idempotency.Claim, result []byte) error {
	if l.complete == nil {
		return l.LeaseStore.Complete(ctx, c, result)
	}
	return l.complete(ctx, c, result)
}

func (l leases) Release(ctx context.Context, c idempotency.Claim) error {
	if l.release == nil {
		return l.LeaseStore.Release(ctx, c)
	}
	return l.release(ctx, c)
}

func (l leases) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	if l.prune == nil {
		return l.LeaseStore.Prune(ctx, before, limit)
	}
	return l.prune(ctx, before, limit)
}

type leaseDefect struct {
	name   string
	caught []string
	with   func(s *sqlidempotency.Leases, h idempotencytest.LeaseHarness) leases
}

// latest remembers the newest token of each key, as a store that does not
// compare tokens would act on it.
type latest struct {
	mu    sync.Mutex
	token map[string]int64
}

func (l *latest) of(s idempotency.LeaseStore) func(ctx context.Context, r idempotency.Record, ttl time.Duration) (idempotency.Claim, error) {
	return func(ctx context.Context, r idempotency.Record, ttl time.Duration) (idempotency.Claim, error) {
		c, err := s.Claim(ctx, r, ttl)
		if c.State == idempotency.Claimed {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.token[r.Key] = c.Token
		}
		return c, err
	}
}

func (l *latest) swap(c idempotency.Claim) idempotency.Claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, ok := l.token[c.Key]; ok {
		c.Token = t
	}
	return c
}

func leaseDefects() []leaseDefect {
	l := &latest{token: map[string]int64{}} // of both sides of a harness, as a database would be
	return []leaseDefect{
		{
			"does not compare tokens",
			[]string{"takeover-after-deadline", "release-frees", "ends-once"},
			func(s *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return leases{
					claim: l.of(s),
					extend: func(ctx context.Context, c idempotency.Claim, ttl time.Duration) error {
						return s.Extend(ctx, l.swap(c), ttl)
					},
					complete: func(ctx context.Context, c idempotency.Claim, r []byte) error { return s.Complete(ctx, l.swap(c), r) },
					release:  func(ctx context.Context, c idempotency.Claim) error { return s.Release(ctx, l.swap(c)) },
				}
			},
		},
		{
			"says done when somebody else is at it",
			[]string{"claim-complete", "extend", "one-winner"},
			func(s *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return answers(s, func(c *idempotency.Claim) {
					if c.State == idempotency.Taken {
						c.State = idempotency.Done
					}
				})
			},
		},
		{
			"never lets go of a lease that ran out",
			[]string{"takeover-after-deadline", "deadline-by-the-clock", "tokens-grow", "other-request"},
			func(s *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r idempotency.Record, ttl time.Duration) (idempotency.Claim, error) {
					return s.Claim(ctx, r, ttl+100*time.Hour)
				}}
			},
		},
		{
			"lets go of a lease too soon",
			[]string{"claim-complete", "deadline-by-the-clock"},
			func(s *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r idempotency.Record, ttl time.Duration) (idempotency.Claim, error) {
					return s.Claim(ctx, r, ttl/3)
				}}
			},
		},
		{
			"ignores Extend",
			[]string{"extend", "late-is-not-lost"},
			func(_ *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return leases{extend: func(context.Context, idempotency.Claim, time.Duration) error { return nil }}
			},
		},
		{
			"refuses whoever is late",
			[]string{"late-is-not-lost"},
			func(s *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return leases{complete: func(ctx context.Context, c idempotency.Claim, r []byte) error {
					if strings.HasSuffix(c.Key, "complete") {
						return idempotency.ErrLeaseLost
					}
					return s.Complete(ctx, c, r)
				}}
			},
		},
		{
			"keeps a released key",
			[]string{"release-frees", "other-request", "tokens-grow"},
			func(_ *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return leases{release: func(context.Context, idempotency.Claim) error { return nil }}
			},
		},
		{
			"refuses a repeated end",
			[]string{"repeated-end"},
			func(s *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				var ended sync.Map
				once := func(c idempotency.Claim, f func() error) error {
					if _, twice := ended.LoadOrStore(c.Key, true); twice {
						return idempotency.ErrLeaseLost
					}
					return f()
				}
				return leases{
					complete: func(ctx context.Context, c idempotency.Claim, r []byte) error {
						return once(c, func() error { return s.Complete(ctx, c, r) })
					},
					release: func(ctx context.Context, c idempotency.Claim) error {
						return once(c, func() error { return s.Release(ctx, c) })
					},
				}
			},
		},
		{
			"ignores fingerprints",
			[]string{"other-request"},
			func(s *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r idempotency.Record, ttl time.Duration) (idempotency.Claim, error) {
					r.Fingerprint = ""
					return s.Claim(ctx, r, ttl)
				}}
			},
		},
		{
			"counts tokens from one again after a release",
			[]string{"release-frees", "tokens-grow"},
			func(s *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return answers(s, func(c *idempotency.Claim) {
					if c.State == idempotency.Claimed {
						c.Token = 1
					}
				})
			},
		},
		{
			"cuts results",
			[]string{"results", "lease-keys"},
			func(s *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return leases{complete: func(ctx context.Context, c idempotency.Claim, r []byte) error {
					return s.Complete(ctx, c, r[:min(len(r), 2000)])
				}}
			},
		},
		{
			"keeps results as text",
			[]string{"results"},
			func(s *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return leases{complete: func(ctx context.Context, c idempotency.Claim, r []byte) error {
					return s.Complete(ctx, c, bytes.ToValidUTF8(r, nil))
				}}
			},
		},
		{
			"compares keys without regard to case",
			[]string{"lease-keys"},
			func(s *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r idempotency.Record, ttl time.Duration) (idempotency.Claim, error) {
					r.Key = strings.ToLower(r.Key)
					return s.Claim(ctx, r, ttl)
				}}
			},
		},
		{
			"takes any argument",
			[]string{"lease-arguments"},
			func(s *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r idempotency.Record, ttl time.Duration) (idempotency.Claim, error) {
					return s.Claim(ctx, r, max(ttl, time.Second))
				}}
			},
		},
		{
			"looks and then takes",
			[]string{"one-winner", "http-herd"},
			func(s *sqlidempotency.Leases, h idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r idempotency.Record, ttl time.Duration) (idempotency.Claim, error) {
					c, err := s.Claim(ctx, r, ttl)
					if c.State == idempotency.Taken { // as if it had looked before the other took it
						c.State, c.Token = idempotency.Claimed, time.Now().UnixMicro()
					}
					return c, err
				}}
			},
		},
		{
			"does not heed its context",
			[]string{"lease-cancelled-context"},
			func(s *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r idempotency.Record, ttl time.Duration) (idempotency.Claim, error) {
					return s.Claim(context.WithoutCancel(ctx), r, ttl)
				}}
			},
		},
		{
			"prunes nothing",
			[]string{"lease-prune"},
			func(*sqlidempotency.Leases, idempotencytest.LeaseHarness) leases {
				return leases{prune: func(context.Context, time.Time, int) (int, error) { return 0, nil }}
			},
		},
		{
			"ignores the limit of Prune",
			[]string{"lease-prune", "lease-prune-bad-limit"},
			func(s *sqlidempotency.Leases, _ idempotencytest.LeaseHarness) leases {
				return leases{prune: func(ctx context.Context, before time.Time, _ int) (int, error) { return s.Prune(ctx, before, 1000) }}
			},
		},
		{
			"prunes leases that run",
			[]string{"lease-prune"},
			func(s *sqlidempotency.Leases, h idempotencytest.LeaseHarness) leases {
				return leases{prune: func(ctx context.Context, before time.Time, limit int) (int, error) {
					if before.After(time.Now()) {
						if err := h.Backdate(ctx, "group:running", 2*time.Hour); err != nil {
							return 0, err
						}
					}
					return s.Prune(ctx, before, limit)
				}}
			},
		},
		{
			"claims inside a transaction",
			[]string{"lease-transactions"},
			func(s *sqlidempotency.Leases, h idempotencytest.LeaseHarness) leases {
				return leases{claim: func(ctx context.Context, r idempotency.Record, ttl time.Duration) (idempotency.Claim, error) {
					if _, inside := sqltx.On(ctx, h.DB); inside {
						return idempotency.Claim{State: idempotency.Claimed, Key: r.Key, Token: 1}, nil
					}
					return s.Claim(ctx, r, ttl)
				}}
			},
		},
	}
}

// answers changes what Claim answers.
func answers(s *sqlidempotency.Leases, change func(c *idempotency.Claim)) leases {
	return leases{claim: func(ctx context.Context, r idempotency.Record, ttl time.Duration) (idempotency.Claim, error) {
		c, err := s.Claim(ctx, r, ttl)
		change(&c)
		return c, err
	}}
}

func leaseHarness(t *testing.T, with func(*sqlidempotency.Leases, idempotencytest.LeaseHarness) leases) idempotencytest.LeaseHarness {
	t.Helper()
	path, db := servicetest.SQLite(t)
	second, err := sqlitedb.Open(path, sqlitedb.Config{Synchronous: sqlitedb.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { second.Close() })
	h := idempotencytest.LeaseHarness{DB: db, Backdate: func(ctx context.Context, key string, by time.Duration) error {
		_, err := db.ExecContext(ctx, `UPDATE idempotency_leases SET leased_until = leased_until - ? WHERE idempotency_key = ?`, by.Microseconds(), key)
		return err
	}}
	var sides []idempotency.LeaseStore
	for _, pool := range []*sql.DB{db, second} {
		s, err := sqlidempotency.NewLeases(pool, sqlidempotency.LeaseConfig{Dialect: sqlidempotency.SQLite})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		b := with(s, h)
		b.LeaseStore = s
		sides = append(sides, b)
	}
	h.Store, h.Peer = sides[0], sides[1]
	return h
}

func TestBrokenLeaseStoresAreCaught(t *testing.T) {
	cases := idempotencytest.LeaseCases()
	watched := map[string]bool{}
	for _, d := range leaseDefects() {
		t.Run(d.name, func(t *testing.T) {
			for _, name := range d.caught {
				watched[name] = true
				i := slices.IndexFunc(cases, func(c idempotencytest.LeaseCase) bool { return c.Name == name })
				if i < 0 {
					t.Fatalf("there is no case %q", name)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				err := idempotencytest.CheckLeases(ctx, cases[i], leaseHarness(t, d.with))
				cancel()
				if err == nil || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s does not notice a lease store that %s (%v)", name, d.name, err)
				} else {
					t.Logf("%s: %v", name, err)
				}
			}
		})
	}
	for _, c := range cases {
		if !watched[c.Name] {
			t.Errorf("no broken lease store shows that case %s can fail", c.Name)
		}
	}
}

// The control: without a defect the same harness passes every case.
func TestCorrectLeaseStorePasses(t *testing.T) {
	idempotencytest.RunLeases(t, func(t *testing.T) idempotencytest.LeaseHarness {
		return leaseHarness(t, func(*sqlidempotency.Leases, idempotencytest.LeaseHarness) leases { return leases{} })
	})
}
