// Package onedb determines whether the application's pool is on the database of a transport's
// own pool, so that the transport can take part in the application's transactions.
//
// It checks at the first use and not before, since opening a transport contacts no server. If
// there is a transaction of the application, the check uses it: on a pool whose connections are
// all in transactions, the wait for another connection would never end.
package onedb

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	"github.com/millrace-go/millrace/sqltx"
)

// Querier is a pool or a transaction.
type Querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Pools are the application's pool and the transport's own.
type Pools struct {
	db, app *sql.DB
	same    func(ctx context.Context, db *sql.DB, app Querier) (bool, error)

	known, together atomic.Bool
}

// New makes Pools. app may be nil, or db itself. same reports whether app is on the database of
// db, with names of the same tables. Its statements on app must be possible in any transaction,
// and have no lasting effect.
func New(db, app *sql.DB, same func(ctx context.Context, db *sql.DB, app Querier) (bool, error)) *Pools {
	p := &Pools{db: db, app: app, same: same}
	p.together.Store(app != nil && app == db)
	p.known.Store(app == nil || app == db)
	return p
}

// Joins reports whether ctx carries a transaction of the application's pool that the
// transport can take part in, as far as is known.
func (p *Pools) Joins(ctx context.Context) bool {
	if !p.together.Load() {
		return false
	}
	_, ok := sqltx.On(ctx, p.app)
	return ok
}

// Look determines the state for Joins, if it is not known yet and ctx carries a transaction of
// the application's pool.
func (p *Pools) Look(ctx context.Context) error {
	if p.known.Load() {
		return nil
	}
	if _, ok := sqltx.On(ctx, p.app); !ok {
		return nil
	}
	err := sqltx.Do(ctx, p.app, func(ctx context.Context, tx *sql.Tx) error { return p.ask(ctx, tx) })
	if errors.Is(err, sqltx.ErrEnded) {
		return nil // no statement can be part of it any more
	}
	return err
}

// Together reports whether the application's pool is on the database. If that is not known yet,
// it checks with the pool.
func (p *Pools) Together(ctx context.Context) (bool, error) {
	if !p.known.Load() {
		if err := p.ask(ctx, p.app); err != nil {
			return false, err
		}
	}
	return p.together.Load(), nil
}

func (p *Pools) ask(ctx context.Context, app Querier) error {
	together, err := p.same(ctx, p.db, app)
	if err != nil {
		return err
	}
	p.together.Store(together)
	p.known.Store(true)
	return nil
}
