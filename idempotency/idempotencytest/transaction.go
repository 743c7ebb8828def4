package idempotencytest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/intx"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/sqltx"
)

func transactionCases() []testCase {
	db := []conformance.Need{NeedDB}
	return []testCase{
		{Name: "transaction-in-context", Needs: db, Run: transactionInContext},
		{Name: "outer-commit", Needs: db, Run: outerCommit},
		{Name: "outer-rollback", Needs: db, Run: outerRollback},
		{Name: "cancelled-in-handler", Needs: db, Run: cancelledInHandler},
		{Name: "same-key-inside", Run: sameKeyInside},
	}
}

// transactionInContext: key and effect become visible together.
func transactionInContext(ctx context.Context, h Harness) error {
	e, key := newEffects(h), "group:1"
	committed := false
	_, err := h.Store.Once(ctx, record(key), func(ctx context.Context) error {
		tx, ok := intx.From(ctx)
		if !ok {
			return errors.New("the handler's context carries no transaction")
		}
		if on, ok := sqltx.On(ctx, h.DB); !ok || on != tx {
			return errors.New("the handler's transaction is not on Harness.DB")
		}
		if seen, err := h.Store.Seen(ctx, key); !seen || err != nil {
			return fmt.Errorf("inside the transaction: key recorded %v, %w; want true, since it is inserted first", seen, orNil(err))
		}
		if !sqltx.AfterCommit(ctx, func() { committed = true }) {
			return errors.New("AfterCommit is refused inside the handler")
		}
		if err := e.do(ctx, "one", nil); err != nil {
			return err
		}
		if committed {
			return errors.New("a commit hook ran before the handler returned")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !committed {
		return errors.New("the commit hook did not run")
	}
	return e.expect(ctx, "at the end", key, "one", true, 1)
}

// outerCommit: two guarded effects, a duplicate and other work in one transaction of the
// caller.
func outerCommit(ctx context.Context, h Harness) error {
	e := newEffects(h)
	err := sqltx.Do(ctx, h.DB, func(ctx context.Context, outer *sql.Tx) error {
		if err := e.do(ctx, "outer", nil); err != nil {
			return err
		}
		for _, step := range []struct {
			key, name string
			fresh     bool
		}{{"group:1", "one", true}, {"group:2", "two", true}, {"group:1", "one", false}} {
			if err := once(ctx, "key "+step.key+" inside an outer transaction", h.Store, step.key, step.fresh, func(ctx context.Context) error {
				if tx, _ := intx.From(ctx); tx != outer {
					return errors.New("Once began a transaction of its own inside the outer one")
				}
				return e.do(ctx, step.name, nil)
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return errors.Join(
		e.expect(ctx, "after the commit", "group:1", "one", true, 1),
		e.expect(ctx, "after the commit", "group:2", "two", true, 1),
		e.expect(ctx, "after the commit", "group:1", "outer", true, 1),
	)
}

func outerRollback(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	e, key := newEffects(h), "group:1"
	if err := sqltx.Do(ctx, h.DB, func(ctx context.Context, _ *sql.Tx) error {
		if err := once(ctx, "inside an outer transaction", h.Store, key, true, e.handler("one")); err != nil {
			return err
		}
		return errHandler
	}); !errors.Is(err, errHandler) {
		return fmt.Errorf("the outer transaction ended with %w", orNil(err))
	}
	steps.Do(e.expect(ctx, "after the outer rollback", key, "one", false, 0))
	// A failed handler dooms the outer transaction, even if its error is ignored there: the
	// handler's writes must not be committed.
	if err := sqltx.Do(ctx, h.DB, func(ctx context.Context, _ *sql.Tx) error {
		_, _ = h.Store.Once(ctx, record(key), func(ctx context.Context) error { return e.do(ctx, "one", errHandler) })
		return nil
	}); !errors.Is(err, sqltx.ErrDoomed) {
		return fmt.Errorf("an outer transaction that ignores the handler's error ended with %w, want ErrDoomed", orNil(err))
	}
	steps.Do(e.expect(ctx, "after the doomed transaction", key, "one", false, 0))
	steps.Do(once(ctx, "the delivery after the rollbacks", h.Store, key, true, e.handler("one")))
	return e.expect(ctx, "at the end", key, "one", true, 1)
}

// cancelledInHandler: the context ends while the handler runs, which does not notice.
func cancelledInHandler(ctx context.Context, h Harness) error {
	e, key := newEffects(h), "group:1"
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	fresh, err := h.Store.Once(inner, record(key), func(ctx context.Context) error {
		defer cancel()
		return e.do(ctx, "one", nil)
	})
	if !errors.Is(err, context.Canceled) || fresh {
		return fmt.Errorf("cancelled before the commit: fresh %v, %w; want false and context.Canceled", fresh, orNil(err))
	}
	return e.expect(ctx, "after the cancelled commit", key, "one", false, 0)
}

// sameKeyInside: a handler that calls Once with its own key does not wait for itself.
func sameKeyInside(ctx context.Context, h Harness) error {
	e, key := newEffects(h), "group:1"
	_, err := h.Store.Once(ctx, record(key), func(ctx context.Context) error {
		if err := once(ctx, "the same key inside its handler", h.Store, key, false, e.handler("one")); err != nil {
			return err
		}
		return e.do(ctx, "one", nil)
	})
	if err != nil {
		return err
	}
	return e.expect(ctx, "at the end", key, "one", true, 1)
}
