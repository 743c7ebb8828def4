package idempotencytest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/sqltx"
)

// leaseTransactions: a claim must be visible at once; the end of a lease can be part of a
// transaction.
func leaseTransactions(ctx context.Context, h LeaseHarness) error {
	r := record("group:1")
	err := sqltx.Do(ctx, h.DB, func(ctx context.Context, _ *sql.Tx) error {
		_, err := h.Store.Claim(ctx, r, minute)
		return err
	})
	if !errors.Is(err, driver.ErrInTransaction) {
		return fmt.Errorf("Claim inside a transaction: %w; want ErrInTransaction", orNil(err))
	}
	c, err := claim(ctx, h.Store, r, minute, driver.Claimed)
	if err != nil {
		return err
	}
	for _, result := range []error{errHandler, nil} {
		err := sqltx.Do(ctx, h.DB, func(ctx context.Context, _ *sql.Tx) error {
			if err := must("Complete in a transaction", h.Store.Complete(ctx, c, nil)); err != nil {
				return err
			}
			return result
		})
		want := driver.Taken
		if result == nil {
			want = driver.Done
		}
		if result == nil && err != nil || !errors.Is(err, result) {
			return err
		}
		if _, err := claim(ctx, h.Peer, r, minute, want); err != nil {
			return fmt.Errorf("after a transaction that ended with %v: %w", result, err)
		}
	}
	return nil
}
