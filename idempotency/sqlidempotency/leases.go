package sqlidempotency

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/sqltx"
)

// leasesTable is the table's name and the folder of its SQL.
const leasesTable = "idempotency_leases"

// attempts bounds how often a claim is retried after a concurrent one.
const attempts = 20

type leases struct {
	schema
	queries struct{ claim, look, extend, complete, release, prune string }
}

// NewLeases creates a lease store on db, which the caller closes. It does not connect to the
// database; Migrate creates the table. Complete and Release join a transaction on the same
// database that their context carries.
func NewLeases(db *sql.DB, cfg Config) (driver.SQLLeaseStore, error) {
	if db == nil {
		return nil, errors.New("sqlidempotency: db is nil; open a database")
	}
	cfg.Table = cmp.Or(cfg.Table, leasesTable)
	if cfg.ProcessedEvents {
		return nil, errors.New("sqlidempotency: Config.ProcessedEvents is set for leases, which have one layout; leave it false")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &leases{schema: schema{db, files{dialect(cfg.Dialect), leasesTable, cfg.Table}}}
	for name, text := range map[string]*string{
		"claim": &s.queries.claim, "look": &s.queries.look, "extend": &s.queries.extend,
		"complete": &s.queries.complete, "release": &s.queries.release, "prune": &s.queries.prune,
	} {
		var err error
		if *text, err = s.files.statement(name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// row is a lease as stored in the table.
type row struct {
	state       string
	token       int64
	claim       int64
	fingerprint string
	result      []byte
	left        int64 // microseconds
}

// Claim takes the key; see [driver.LeaseStore]. It runs two statements, each of which
// commits by itself.
func (s *leases) Claim(ctx context.Context, r driver.Record, ttl time.Duration) (driver.Claim, error) {
	if err := driver.CheckLease(r.Key, ttl); err != nil {
		return driver.Claim{}, err
	}
	if _, inside := sqltx.On(ctx, s.db); inside {
		return driver.Claim{}, driver.ErrInTransaction
	}
	key, print, number := stored(r.Key), stored(r.Fingerprint), rand.Int64()
	if r.Fingerprint == "" {
		print = ""
	}
	for attempt := 1; ; attempt++ {
		_, err := s.db.ExecContext(ctx, s.queries.claim, key, s.files.dialect.info(r.Group), s.files.dialect.info(r.EventType),
			s.files.dialect.info(r.AggregateID), print, number, ttl.Microseconds())
		if sqltx.IsConflict(err) && attempt < attempts {
			continue
		}
		var l row
		if err == nil {
			l, err = s.look(ctx, key)
		}
		switch {
		case errors.Is(err, sql.ErrNoRows) && attempt < attempts:
			continue // pruned in between
		case err != nil:
			return driver.Claim{}, fmt.Errorf("sqlidempotency: claim %q: %w", r.Key, err)
		}
		return l.answer(r.Key, print, number), nil
	}
}

// answer returns the meaning of the row for the call with this fingerprint and number.
func (l row) answer(key, print string, number int64) driver.Claim {
	c := driver.Claim{Key: key}
	switch {
	case l.state == "CLAIMED" && l.claim == number:
		c.State, c.Token = driver.Claimed, l.token
	case l.state == "RELEASED": // released just now, or this call would have taken it
		c.State = driver.Taken
	case l.fingerprint != print:
		c.State = driver.Mismatch
	case l.state == "COMPLETED":
		c.State, c.Result = driver.Done, l.result
	default:
		c.State, c.Wait = driver.Taken, max(0, time.Duration(l.left)*time.Microsecond)
	}
	return c
}

func (s *leases) look(ctx context.Context, key string) (l row, err error) {
	query := s.db.QueryRowContext
	if tx, ok := sqltx.On(ctx, s.db); ok {
		query = tx.QueryRowContext
	}
	err = query(ctx, s.queries.look, key).Scan(&l.state, &l.token, &l.claim, &l.fingerprint, &l.result, &l.left)
	return l, err
}

// Extend moves the deadline.
func (s *leases) Extend(ctx context.Context, c driver.Claim, ttl time.Duration) error {
	if err := driver.CheckLease(c.Key, ttl); err != nil {
		return err
	}
	if _, inside := sqltx.On(ctx, s.db); inside {
		return driver.ErrInTransaction
	}
	return s.change(ctx, "extend", "CLAIMED", c, s.queries.extend, ttl.Microseconds())
}

// Complete stores the result.
func (s *leases) Complete(ctx context.Context, c driver.Claim, result []byte) error {
	return s.change(ctx, "complete", "COMPLETED", c, s.queries.complete, result)
}

// Release frees the key.
func (s *leases) Release(ctx context.Context, c driver.Claim) error {
	return s.change(ctx, "release", "RELEASED", c, s.queries.release)
}

// change runs a statement whose last arguments are the key and the token. If it changed no row,
// the row's state decides: a repeated call finds its own work done.
func (s *leases) change(ctx context.Context, what, state string, c driver.Claim, query string, args ...any) error {
	key := stored(c.Key)
	exec := s.db.ExecContext
	if tx, ok := sqltx.On(ctx, s.db); ok {
		exec = tx.ExecContext
	}
	res, err := exec(ctx, query, append(args, key, c.Token)...)
	var n int64
	if err == nil {
		n, err = res.RowsAffected()
	}
	if err == nil && n == 0 {
		var l row
		l, err = s.look(ctx, key)
		if errors.Is(err, sql.ErrNoRows) || err == nil && (l.token != c.Token || l.state != state) {
			err = driver.ErrLeaseLost
		}
	}
	if err != nil {
		if sqltx.IsConflict(err) {
			err = fault.MarkTransient(err)
		}
		return fmt.Errorf("sqlidempotency: %s the lease of %q: %w", what, c.Key, err)
	}
	return nil
}

// Prune deletes up to limit leases that ended longer ago than age by the database's clock.
func (s *leases) Prune(ctx context.Context, age time.Duration, limit int) (int, error) {
	return prune(ctx, s.db, s.queries.prune, age, limit)
}
