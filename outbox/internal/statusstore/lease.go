package statusstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
	"github.com/millrace-go/millrace/sqltx"
)

// tenure is the State of a lease.
type tenure struct {
	start driver.Mark
	// held holds the attempts at events that kept their place, as earlier holders stored them,
	// if the reader does not return the attempts.
	held map[int64]attempts
}

type attempts struct {
	n, retries int
	age, wait  time.Duration
	since      time.Time
}

// Lease implements driver.Store. An attempt of a standby is one statement that changes nothing.
func (s *Store) Lease(ctx context.Context, shard int, holder string, ttl time.Duration) (driver.Lease, error) {
	if shard < 0 || shard >= s.shards {
		return driver.Lease{}, fmt.Errorf("outbox: lease: there is no shard %d of %d", shard, s.shards)
	}
	var held int
	if _, err := s.sql.leaseHeld.one(ctx, s.reads, &held)(shard, holder); err != nil {
		return driver.Lease{}, wrap("lease", err)
	}
	if held > 0 {
		return driver.Lease{}, wrap("lease", driver.ErrLeaseHeld)
	}
	origin, err := s.origin(ctx)
	if err != nil {
		return driver.Lease{}, wrap("lease", err)
	}
	l := driver.Lease{Shard: shard, Holder: holder}
	var position string
	err = sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		for range 2 {
			n, err := s.sql.leaseTake.exec(ctx, tx, shard, holder, ttl.Microseconds())
			if err != nil {
				return err
			}
			if n > 0 {
				_, err := s.sql.leaseGet.one(ctx, tx, &l.Token, &position)(shard)
				return err
			}
			if n, err = s.sql.leasePut.exec(ctx, tx, shard, origin); err != nil {
				return err
			}
			if n == 0 {
				break
			}
		}
		return driver.ErrLeaseHeld
	})
	if err != nil {
		return driver.Lease{}, wrap("lease", err)
	}
	t := &tenure{}
	l.State = t
	if t.start, err = s.reader.Begin(ctx, position); err == nil {
		err = s.recall(ctx, &l, t)
	}
	if err != nil {
		sqlstore.GiveBack(ctx, func(ctx context.Context) error { return s.Release(ctx, l) })
		return driver.Lease{}, wrap("lease", err)
	}
	return l, nil
}

// recall reads the failures that earlier holders stored.
func (s *Store) recall(ctx context.Context, l *driver.Lease, t *tenure) error {
	var err error
	l.Aside, err = all(ctx, s.db, s.sql.asideKeys, sqlstore.ScanAside, l.Shard)
	if err != nil || s.sql.held.empty() {
		return err
	}
	t.held = map[int64]attempts{}
	return s.sql.held.each(ctx, s.db, func(rows *sql.Rows) error {
		var a attempts
		var id, age, wait, since int64
		if err := rows.Scan(&id, &a.n, &a.retries, &age, &wait, &since); err != nil {
			return err
		}
		a.age, a.wait, a.since = sqlstore.Micros(age), sqlstore.Micros(wait), sqlstore.Instant(since)
		t.held[id] = a
		return nil
	}, l.Shard)
}

// Release implements driver.Store.
func (s *Store) Release(ctx context.Context, l driver.Lease) error {
	_, err := s.sql.release.exec(ctx, s.db, l.Shard, l.Token)
	return wrap("release", err)
}

func tenureOf(l driver.Lease) (*tenure, error) {
	t, ok := l.State.(*tenure)
	if !ok {
		return nil, fmt.Errorf("outbox: the lease of shard %d was made by another store", l.Shard)
	}
	return t, nil
}
