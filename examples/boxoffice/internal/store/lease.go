package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrLeaseHeld is returned by TakeLease while another holder's lease is valid.
var ErrLeaseHeld = errors.New("store: the lease is held by another process")

// ErrLeaseLost is returned by Lease.Keep when the lease went to another holder.
var ErrLeaseLost = errors.New("store: the lease was lost to another process")

// Lease is the right to do a job that one process at a time does.
type Lease struct {
	store        *Store
	name, holder string
	token        int64
}

// TakeLease takes the lease of a job for ttl by the database's clock, or fails with
// ErrLeaseHeld. If the holder has the lease already, TakeLease renews it.
func (s *Store) TakeLease(ctx context.Context, name, holder string, ttl time.Duration) (Lease, error) {
	l := Lease{store: s, name: name, holder: holder}
	err := s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		take := func() error {
			return s.Update(ctx, tx, s.sql.TakeLease, []any{name, holder, ttl.Milliseconds()}, &l.token)
		}
		err := take()
		if errors.Is(err, sql.ErrNoRows) { // held, or never made
			if _, err := tx.ExecContext(ctx, s.sql.MakeLease, name); err != nil {
				return err
			}
			err = take()
		}
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Lease{}, ErrLeaseHeld
	}
	if err != nil {
		return Lease{}, fmt.Errorf("store: lease %s: %w", name, err)
	}
	return l, nil
}

// Token is the fencing token; it grows with every change of holder.
func (l Lease) Token() int64 { return l.token }

// Keep extends the lease inside tx, the transaction of a piece of the job, or
// fails with ErrLeaseLost: then the transaction must not be committed.
func (l Lease) Keep(ctx context.Context, tx *sql.Tx, ttl time.Duration) error {
	res, err := tx.ExecContext(ctx, l.store.sql.KeepLease, l.name, l.holder, l.token, ttl.Milliseconds())
	if err != nil {
		return fmt.Errorf("store: keep lease %s: %w", l.name, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("store: keep lease %s: %w", l.name, err)
	}
	if n == 0 {
		return ErrLeaseLost
	}
	return nil
}

// Renew is Keep in a transaction of its own.
func (l Lease) Renew(ctx context.Context, ttl time.Duration) error {
	return l.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error { return l.Keep(ctx, tx, ttl) })
}

// Drop releases the lease early. A lost lease is no error.
func (l Lease) Drop(ctx context.Context) error {
	err := l.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, l.store.sql.DropLease, l.name, l.holder, l.token)
		return err
	})
	if err != nil {
		return fmt.Errorf("store: drop lease %s: %w", l.name, err)
	}
	return nil
}
