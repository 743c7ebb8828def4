package idempotencytest_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/idempotencytest"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/sqltx"
)

// leases is a correct lease store with at most one defect.
type leases struct {
	driver.LeaseStore
	claim    func(ctx context.Context, r driver.Record, ttl time.Duration) (idempotency.Claim, error)
	extend   func(ctx context.Context, c idempotency.Claim, ttl time.Duration) error
	complete func(ctx context.Context, c idempotency.Claim, result []byte) error
	release  func(ctx context.Context, c idempotency.Claim) error
	prune    func(ctx context.Context, age time.Duration, limit int) (int, error)
}

func (l leases) Claim(ctx context.Context, r driver.Record, ttl time.Duration) (idempotency.Claim, error) {
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

func (l leases) Prune(ctx context.Context, age time.Duration, limit int) (int, error) {
	if l.prune == nil {
		return l.LeaseStore.Prune(ctx, age, limit)
	}
	return l.prune(ctx, age, limit)
}

type leaseDefect struct {
	name   string
	caught []string
	with   func(s driver.SQLLeaseStore, h idempotencytest.LeaseHarness) leases
}

// latest holds the newest token of each key, for a store that does not compare tokens.
type latest struct {
	mu    sync.Mutex
	token map[string]int64
}

func (l *latest) of(s driver.LeaseStore) func(ctx context.Context, r driver.Record, ttl time.Duration) (idempotency.Claim, error) {
	return func(ctx context.Context, r driver.Record, ttl time.Duration) (idempotency.Claim, error) {
		c, err := s.Claim(ctx, r, ttl)
		if c.State == driver.Claimed {
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

// answers changes the answers of Claim.
func answers(s driver.SQLLeaseStore, change func(c *idempotency.Claim)) leases {
	return leases{claim: func(ctx context.Context, r driver.Record, ttl time.Duration) (idempotency.Claim, error) {
		c, err := s.Claim(ctx, r, ttl)
		change(&c)
		return c, err
	}}
}

func leaseHarness(t *testing.T, with func(driver.SQLLeaseStore, idempotencytest.LeaseHarness) leases) idempotencytest.LeaseHarness {
	t.Helper()
	path, db := servicetest.SQLite(t)
	second, err := sqlitedb.Open(path, sqlitedb.Config{Synchronous: sqlitedb.Normal})
	require.NoError(t, err)
	t.Cleanup(func() { second.Close() })
	h := idempotencytest.LeaseHarness{DB: db, Backdate: func(ctx context.Context, key string, by time.Duration) error {
		_, err := db.ExecContext(ctx, `UPDATE idempotency_leases SET leased_until = leased_until - ? WHERE idempotency_key = ?`, by.Microseconds(), key)
		return err
	}}
	var sides []driver.LeaseStore
	for _, pool := range []*sql.DB{db, second} {
		s, err := sqlidempotency.NewLeases(pool, sqlidempotency.Config{Dialect: sqltx.SQLite})
		require.NoError(t, err)
		require.NoError(t, s.Migrate(t.Context()))
		b := with(s, h)
		b.LeaseStore = s
		sides = append(sides, b)
	}
	h.Store, h.Peer = sides[0], sides[1]
	return h
}

func TestBrokenLeaseStoresAreCaught(t *testing.T) {
	var mutants []conformance.Mutant[idempotencytest.LeaseHarness]
	for _, d := range leaseDefects() {
		mutants = append(mutants, conformance.Mutant[idempotencytest.LeaseHarness]{
			Name: d.name, Cases: d.caught, Open: func(t *testing.T) idempotencytest.LeaseHarness {
				t.Helper()
				return leaseHarness(t, d.with)
			},
		})
	}
	idempotencytest.LeaseSuite().Mutants(t, mutants)
}

// TestCorrectLeaseStorePasses is the control: without a defect the same harness passes every
// case.
func TestCorrectLeaseStorePasses(t *testing.T) {
	idempotencytest.RunLeases(t, func(t *testing.T) idempotencytest.LeaseHarness {
		return leaseHarness(t, func(driver.SQLLeaseStore, idempotencytest.LeaseHarness) leases { return leases{} })
	})
}
