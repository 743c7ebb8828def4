package idempotencytest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/sqltx"
)

func freshNeedsTransaction(ctx context.Context, h Harness) error {
	s := batchOf(h.Store)
	if _, err := s.Fresh(ctx, records("group:1")); !errors.Is(err, driver.ErrNoTransaction) {
		return fmt.Errorf("Fresh outside a transaction: %w; want ErrNoTransaction", orNil(err))
	}
	if ok, err := h.Store.Seen(ctx, "group:1"); ok || err != nil {
		return fmt.Errorf("after the refused Fresh: key recorded %v, %w", ok, orNil(err))
	}
	return nil
}

// freshInHandler: keys claimed inside a handler are kept or dropped with its key.
func freshInHandler(ctx context.Context, h Harness) error {
	s := batchOf(h.Store)
	for _, result := range []error{errHandler, nil} {
		_, err := h.Store.Once(ctx, record("group:outer"), func(ctx context.Context) error {
			fresh, err := s.Fresh(ctx, records("group:1", "group:2", "group:1", "group:outer"))
			if err := positions("Fresh inside a handler", fresh, err, 0, 1); err != nil {
				return err
			}
			fresh, err = s.Fresh(ctx, records("group:2", "group:3"))
			return errors.Join(positions("Fresh again", fresh, err, 1), result)
		})
		if result == nil && err != nil || !errors.Is(err, result) {
			return err
		}
		want := 0
		if result == nil {
			want = 4
		}
		if n, err := seen(ctx, h, "group:outer", "group:1", "group:2", "group:3"); n != want || err != nil {
			return fmt.Errorf("after a handler that returned %v %d keys are recorded, %w; want %d", result, n, orNil(err), want)
		}
	}
	return nil
}

// freshInTransaction: keys, effects and other work are in one transaction of the caller.
func freshInTransaction(ctx context.Context, h Harness) error {
	e, s := newEffects(h), batchOf(h.Store)
	for _, result := range []error{errHandler, nil} {
		err := sqltx.Do(ctx, h.DB, func(ctx context.Context, _ *sql.Tx) error {
			fresh, err := s.Fresh(ctx, records("group:2", "group:1"))
			if err := positions("Fresh in a transaction", fresh, err, 0, 1); err != nil {
				return err
			}
			return e.do(ctx, "one", result)
		})
		if result == nil && err != nil || !errors.Is(err, result) {
			return err
		}
		effects := 0
		if result == nil {
			effects = 1
		}
		if err := e.expect(ctx, "after the transaction", "group:1", "one", result == nil, effects); err != nil {
			return err
		}
	}
	return nil
}
