package sqltx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// DefaultAttempts is how often [Do] runs its function at most. Of 8 writers that
// read and wrote the same two rows at SERIALIZABLE without a rest, the unluckiest
// needed 19 attempts in 320 transactions on PostgreSQL and 10 on MariaDB.
const DefaultAttempts = 20

// The pause before a repetition grows from the first to the longest, and the
// pauses of the default attempts take a second and a half at most. Shorter ones
// make the tail longer: new transactions meet those that are repeated.
const (
	firstPause   = 2 * time.Millisecond
	longestPause = 100 * time.Millisecond
)

type options struct {
	tx       sql.TxOptions
	attempts int
	onConn   bool
}

// Option changes one call of [Do].
type Option func(*options)

// WithOptions sets the isolation level and read-only flag of a transaction
// that Do begins. A Do that joins an outer transaction ignores it.
func WithOptions(o sql.TxOptions) Option { return func(all *options) { all.tx = o } }

// Attempts sets how often Do runs its function at most, [DefaultAttempts] if it
// is not given. 1 is for a function that must not run twice; the caller then
// gets the first conflict as an error.
func Attempts(n int) Option { return func(all *options) { all.attempts = max(n, 1) } }

// OnConn begins the transaction on a connection that [Conn] hands out inside it, for
// functions that use the driver's own transaction (package pgxtx). The end of ctx then
// rolls back when fn has returned, and not while fn may use that connection. A Do that
// joins an outer transaction ignores it.
func OnConn() Option { return func(all *options) { all.onConn = true } }

// Do runs fn in a transaction on db and commits it when fn returns nil. The
// context given to fn carries the transaction, so that [From] finds it and
// [AfterCommit] can add hooks. When ctx already carries a transaction on the
// same db, fn joins that one and the outer Do commits.
//
// FN CAN RUN MORE THAN ONCE. When the database rolls the transaction back for a
// conflict with another one ([IsConflict]: a serialization failure or a
// deadlock), in fn or at COMMIT, Do begins a new transaction after a short pause
// and runs fn again, up to [DefaultAttempts] times or until ctx is done. So fn
// must set its results again in each run (assign, do not append to variables
// outside), and do nothing outside the transaction that must not happen twice:
// that belongs into AfterCommit. [Attempts] of 1 switches the repetition off.
// After the last attempt the database's error is returned, wrapped. An error of
// fn that is no conflict comes back as it is, and fn is not run again.
//
// Only the Do that began the transaction repeats it. A Do that joins returns the
// conflict, and so does one that began its transaction inside another
// database's: what fn has done in the other one would be done twice. In both
// cases the outermost Do starts over, if the functions in between return the
// error.
//
// Hooks run in the calling goroutine after COMMIT succeeded; those of a run that
// was rolled back are dropped. When COMMIT fails for another reason than a
// conflict its outcome can be unknown; hooks do not run then.
func Do(ctx context.Context, db *sql.DB, fn func(ctx context.Context, tx *sql.Tx) error, opts ...Option) error {
	outer := current(ctx)
	if t := outer.on(db); t != nil {
		return t.join(ctx, fn)
	}
	o := options{attempts: DefaultAttempts}
	for _, opt := range opts {
		opt(&o)
	}
	if outer != nil {
		o.attempts = 1
	}
	for attempt := 1; ; attempt++ {
		err := once(ctx, db, fn, outer, &o)
		if !IsConflict(err) || o.attempts == 1 {
			return err
		}
		if attempt == o.attempts {
			return fmt.Errorf("sqltx: the database rolled back each of %d attempts: %w", attempt, err)
		}
		if ended := pause(ctx, attempt); ended != nil {
			return fmt.Errorf("sqltx: %w after attempt %d, which the database rolled back: %w", ended, attempt, err)
		}
	}
}

// once is one attempt, from BEGIN to COMMIT.
func once(ctx context.Context, db *sql.DB, fn func(ctx context.Context, tx *sql.Tx) error, outer *frame, o *options) error {
	t := &transaction{db: db}
	begin, lasting := db.BeginTx, ctx
	if o.onConn {
		conn, err := db.Conn(ctx)
		if err != nil {
			return fmt.Errorf("sqltx: begin: %w", err)
		}
		defer conn.Close() //nolint:errcheck // says only that the connection is gone
		t.conn, begin, lasting = conn, conn.BeginTx, context.WithoutCancel(ctx)
	}
	tx, err := begin(lasting, &o.tx)
	if err != nil {
		return fmt.Errorf("sqltx: begin: %w", err)
	}
	t.tx = tx
	// Rollback after Commit is a no-op, and it also covers a panic in fn.
	defer tx.Rollback() //nolint:errcheck // the error that matters is returned below

	defer t.end() //nolint:errcheck // on the way out of a failure or a panic, which says more
	if err := fn(context.WithValue(ctx, contextKey{}, &frame{t, outer}), tx); err != nil {
		return err
	}
	hooks, doomed := t.end()
	if doomed != nil {
		return fmt.Errorf("%w: %w", ErrDoomed, doomed)
	}
	if o.onConn && ctx.Err() != nil {
		return fmt.Errorf("sqltx: commit: %w", ctx.Err())
	}
	if err := tx.Commit(); err != nil {
		// database/sql may have rolled back already because ctx ended, and then
		// says only that the transaction is over.
		if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("sqltx: commit: %w", err)
	}
	run(hooks)
	return nil
}

// pause waits before the next attempt, for a random part of a time that doubles:
// transactions that met once should not meet again. It returns the context's
// error when that ends first.
func pause(ctx context.Context, attempt int) error {
	most := longestPause
	if d := firstPause << (attempt - 1); attempt < 10 && d < most {
		most = d
	}
	t := time.NewTimer(most/2 + rand.N(most/2))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
