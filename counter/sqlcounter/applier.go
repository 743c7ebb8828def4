package sqlcounter

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/internal/sqlrows"
	"github.com/millrace-go/millrace/sqltx"
)

type applier struct {
	db      *sql.DB
	dialect dialect
	also    func(ctx context.Context, tx *sql.Tx, name string, deltas []driver.Delta) error

	create, lease, state, release string
	lock, noted, note, add, move  string
	totals, prune                 string
}

// New creates an applier on db, which the caller closes. It does not connect to the database;
// Migrate creates the tables.
func New(db *sql.DB, cfg Config) (driver.SQLApplier, error) {
	if db == nil {
		return nil, errors.New("sqlcounter: db is nil; open the database that has the totals")
	}
	if err := dialect(cfg.Dialect).validate("Config.Dialect"); err != nil {
		return nil, err
	}
	a := &applier{db: db, dialect: dialect(cfg.Dialect), also: cfg.Also}
	for name, text := range map[string]*string{
		"create": &a.create, "lease": &a.lease, "state": &a.state, "release": &a.release,
		"lock": &a.lock, "noted": &a.noted, "note": &a.note, "add": &a.add, "move": &a.move,
		"totals": &a.totals, "prune": &a.prune,
	} {
		var err error
		if *text, err = dialect(cfg.Dialect).statement(name); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func failed(what, name string, err error) error {
	return fmt.Errorf("sqlcounter: %s %s: %w", what, name, err)
}

// Lease implements [driver.Applier].
func (a *applier) Lease(ctx context.Context, name, holder string, ttl time.Duration) (driver.Lease, error) {
	l, err := a.take(ctx, name, holder, ttl)
	if errors.Is(err, sql.ErrNoRows) { // the first time
		if _, err = a.db.ExecContext(ctx, a.create, name); err == nil {
			l, err = a.take(ctx, name, holder, ttl)
		}
	}
	if err != nil {
		return driver.Lease{}, failed("lease", name, err)
	}
	return l, nil
}

func (a *applier) take(ctx context.Context, name, holder string, ttl time.Duration) (driver.Lease, error) {
	if _, err := a.db.ExecContext(ctx, a.lease, holder, ttl.Microseconds(), name, holder); err != nil {
		return driver.Lease{}, err
	}
	l := driver.Lease{Counter: name}
	if err := a.db.QueryRowContext(ctx, a.state, name).Scan(&l.Holder, &l.Token, &l.Position, &l.Server); err != nil {
		return driver.Lease{}, err
	}
	if l.Holder != holder {
		return driver.Lease{}, driver.ErrLeaseHeld
	}
	return l, nil
}

// Release implements [driver.Applier].
func (a *applier) Release(ctx context.Context, l driver.Lease) error {
	if _, err := a.db.ExecContext(ctx, a.release, l.Counter, l.Token); err != nil {
		return failed("release", l.Counter, err)
	}
	return nil
}

// Apply implements [driver.Applier]. It joins a transaction on the same database that the
// context carries.
func (a *applier) Apply(ctx context.Context, l driver.Lease, b driver.Batch) (fresh bool, err error) {
	err = sqltx.Do(ctx, a.db, func(ctx context.Context, tx *sql.Tx) (err error) {
		fresh, err = a.apply(ctx, tx, l, b)
		return err
	})
	if err != nil {
		return false, failed("apply a batch of", l.Counter, err)
	}
	return fresh, nil
}

func (a *applier) apply(ctx context.Context, tx *sql.Tx, l driver.Lease, b driver.Batch) (bool, error) {
	if _, err := tx.ExecContext(ctx, a.lock, l.Counter); err != nil {
		return false, err
	}
	var now driver.Lease
	err := tx.QueryRowContext(ctx, a.state, l.Counter).Scan(&now.Holder, &now.Token, &now.Position, &now.Server)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && (now.Token != l.Token || now.Holder != l.Holder || now.Server != l.Server):
		return false, driver.ErrLeaseLost
	case err != nil:
		return false, err
	}
	if there, err := a.isNoted(ctx, tx, b.ID); err != nil || there {
		return false, err
	}
	if b.Interval() && now.Position != b.From {
		return false, driver.ErrMoved
	}
	if b.Verify != nil {
		if err := b.Verify(ctx); err != nil {
			return false, err
		}
	}
	return true, a.write(ctx, tx, l, b)
}

func (a *applier) isNoted(ctx context.Context, tx *sql.Tx, id string) (bool, error) {
	var n int
	err := tx.QueryRowContext(ctx, a.noted, id).Scan(&n)
	return n > 0, err
}

// write is the part of a transaction that changes rows.
func (a *applier) write(ctx context.Context, tx *sql.Tx, l driver.Lease, b driver.Batch) error {
	if b.Rows > 0 {
		if _, err := tx.ExecContext(ctx, a.note, b.ID, l.Counter, b.From, b.To, b.Rows); err != nil {
			return err
		}
	}
	if len(b.Deltas) > 0 {
		if err := a.addUp(ctx, tx, l.Counter, b); err != nil {
			return err
		}
	}
	if !b.Interval() {
		return nil
	}
	res, err := tx.ExecContext(ctx, a.move, b.To, l.Counter, b.From, l.Token)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 || b.To == b.From {
		return err
	}
	return driver.ErrLeaseLost // Config.Also went on in another transaction
}

// errLost is the error of an Also that went on after the server had ended its
// transaction.
var errLost = errors.New("the server rolled the transaction back while Config.Also ran, most likely to end a deadlock, and it ignored that error; return errors of statements from it")

func (a *applier) addUp(ctx context.Context, tx *sql.Tx, name string, b driver.Batch) error {
	pairs := make([][2]any, len(b.Deltas))
	for i, d := range b.Deltas {
		pairs[i] = [2]any{d.Key, d.N}
	}
	text, err := json.Marshal(pairs)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, a.add, name, string(text)); err != nil || a.also == nil {
		return err
	}
	if err := a.also(ctx, tx, name, b.Deltas); err != nil {
		return err
	}
	// MySQL ends a deadlock by rolling one transaction back, and its session goes on outside
	// any transaction.
	if there, err := a.isNoted(ctx, tx, b.ID); err != nil || there {
		return err
	}
	return errLost
}

// Totals implements [driver.Applier]. Inside a transaction on the same database it also sees
// the changes of that transaction.
func (a *applier) Totals(ctx context.Context, name string, keys []string) (map[string]int64, error) {
	if len(keys) == 0 {
		return map[string]int64{}, nil
	}
	text, err := json.Marshal(keys)
	if err != nil {
		return nil, failed("read totals of", name, err)
	}
	args := []any{name, string(text)}
	if a.dialect == mysql {
		args[0], args[1] = args[1], args[0] // its parameters have no numbers
	}
	db := sqlrows.Querier(a.db)
	if tx, ok := sqltx.On(ctx, a.db); ok {
		db = tx
	}
	out := make(map[string]int64, len(keys))
	err = sqlrows.Each(ctx, db, func(rows *sql.Rows) error {
		var key string
		var total int64
		err := rows.Scan(&key, &total)
		out[key] = total
		return err
	}, a.totals, args...)
	if err != nil {
		return nil, failed("read totals of", name, err)
	}
	return out, nil
}

// Prune implements [driver.Applier].
func (a *applier) Prune(ctx context.Context, name string, age time.Duration, limit int) (int, error) {
	res, err := a.db.ExecContext(ctx, a.prune, name, age.Microseconds(), limit)
	if err != nil {
		return 0, failed("prune batches of", name, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, failed("prune batches of", name, err)
	}
	return int(n), nil
}
