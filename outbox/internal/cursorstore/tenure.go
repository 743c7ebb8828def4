package cursorstore

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/sqlrows"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
)

// tenure is the State of a lease.
type tenure struct {
	start log.Position // the cursor's position when the lease was taken
	// held holds the attempts at events that kept their place, as earlier holders stored them.
	held map[int64]attempts

	mu    sync.Mutex
	lease log.Lease // its Position is the cursor's current position
}

type attempts struct {
	n    int
	age  time.Duration
	wait time.Duration
}

func tenureOf(l driver.Lease) (*tenure, error) {
	t, ok := l.State.(*tenure)
	if !ok {
		return nil, fmt.Errorf("outbox: the lease of shard %d was made by another store", l.Shard)
	}
	return t, nil
}

// Lease implements driver.Store.
func (s *Store) Lease(ctx context.Context, shard int, holder string, ttl time.Duration) (driver.Lease, error) {
	if shard < 0 || shard >= s.shards {
		return driver.Lease{}, fmt.Errorf("outbox: lease: there is no shard %d of %d", shard, s.shards)
	}
	lease, err := s.log.Lease(ctx, s.cursor(shard), holder, ttl)
	if err != nil {
		return driver.Lease{}, wrap("lease", err)
	}
	t := &tenure{lease: lease, start: lease.Position, held: map[int64]attempts{}}
	l := driver.Lease{Shard: shard, Holder: holder, Token: lease.Token, State: t}
	if err := s.recall(ctx, &l, t); err != nil {
		sqlstore.GiveBack(ctx, func(ctx context.Context) error { return s.Release(ctx, l) })
		return driver.Lease{}, wrap("lease", err)
	}
	return l, nil
}

// recall reads the failures that earlier holders stored.
func (s *Store) recall(ctx context.Context, l *driver.Lease, t *tenure) error {
	var err error
	if l.Aside, err = sqlrows.All(ctx, s.db, sqlstore.ScanAside, s.sql.asideKeys, l.Shard); err != nil {
		return err
	}
	return sqlrows.Each(ctx, s.db, func(rows *sql.Rows) error {
		var id, age, wait int64
		var a attempts
		if err := rows.Scan(&id, &a.n, &age, &wait); err != nil {
			return err
		}
		a.age, a.wait = sqlstore.Micros(age), sqlstore.Micros(wait)
		t.held[id] = a
		return nil
	}, s.sql.held, l.Shard)
}

// Read implements driver.Store.
func (s *Store) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	t, err := tenureOf(l)
	if err != nil {
		return driver.Batch{}, err
	}
	if len(q.Keys) > 0 {
		return s.readAside(ctx, l.Shard, q)
	}
	after := t.start
	if p, ok := q.After.(*log.Position); ok {
		after = *p
	}
	entries, next, err := s.log.Read(ctx, l.Shard, after, q.Limit)
	if err != nil {
		return driver.Batch{}, wrap("read", err)
	}
	b := driver.Batch{Items: make([]driver.Item, len(entries)), Next: &next}
	for i := range entries {
		e := &entries[i]
		it := &b.Items[i]
		it.ID, it.MessageID, it.Topic, it.Key = e.ID, e.MessageID, e.Topic, e.Key
		it.Headers, it.Payload, it.CreatedAt = e.Headers, e.Payload, e.CreatedAt
		it.Mark = &e.Position // a pointer, so that no row costs an allocation
		if len(t.held) > 0 {
			if a, ok := t.held[e.ID]; ok {
				it.Attempts, it.Age, it.Wait = a.n, a.age, a.wait
			}
		}
	}
	return b, nil
}

func (s *Store) readAside(ctx context.Context, shard int, q driver.Query) (driver.Batch, error) {
	items, err := sqlrows.All(ctx, s.db, func(rows *sql.Rows) (it driver.Item, err error) {
		var created, age int64
		err = rows.Scan(&it.ID, &it.Topic, &it.MessageID, &it.Key, &it.Headers, &it.Payload, &created, &it.Attempts, &age)
		it.CreatedAt, it.Age = sqlstore.Instant(created), sqlstore.Micros(age)
		return it, err
	}, s.sql.asideRead, shard, sqlstore.Array(q.Keys), q.Limit)
	return driver.Batch{Items: items}, wrap("read aside", err)
}
