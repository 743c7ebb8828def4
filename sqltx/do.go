package sqltx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace-go/millrace/internal/intx"
)

// attempts is the default of Options.Attempts. In a test, 8 writers read and wrote the same two
// rows at SERIALIZABLE without a pause; the unluckiest of 320 transactions needed 19 attempts on
// PostgreSQL and 10 on MariaDB.
const attempts = 20

// The pause before a retry grows from firstPause to longestPause; the pauses of the default
// attempts add up to 1.5 s at most. Shorter pauses make the tail longer: new transactions
// conflict with those that are retried.
const (
	firstPause   = 2 * time.Millisecond
	longestPause = 100 * time.Millisecond
)

// Options change one call of [Do].
type Options struct {
	// Isolation and ReadOnly are those of a transaction that Do begins. A Do that joins an outer
	// transaction ignores them.
	Isolation sql.IsolationLevel
	ReadOnly  bool
	// Attempts is how often Do runs its function at most; 20 when zero. Use 1 for a function that
	// must not run twice; the caller then gets the first conflict as an error.
	Attempts int
}

// Do runs fn in a transaction on db and commits it when fn returns nil. The context given to fn
// carries the transaction, so that [On] finds it and [AfterCommit] can add hooks. If ctx
// already carries a transaction on the same db, fn joins that transaction and the outer Do
// commits.
//
// FN CAN RUN MORE THAN ONCE. If the database rolls the transaction back because of a conflict
// with another one ([IsConflict]: a serialization failure or a deadlock), in fn or at COMMIT,
// Do begins a new transaction after a short pause and runs fn again, up to 20 times or until ctx
// is done. So fn must set its results again in each run (assign, do not append to variables
// outside). Move work outside the transaction that must not happen twice to AfterCommit.
// Attempts of 1 in the [Options] disable the repetition. After the last attempt Do returns the
// database's error, wrapped. Other errors of fn are returned unchanged, and fn is not run again.
//
// Only the Do that began the transaction repeats it. A Do that joins a transaction returns the
// conflict. So does a Do that began its transaction inside another database's: its repetition
// would repeat the work of fn in the other transaction. In both cases the outermost Do repeats
// its function, if the functions in between return the error.
//
// Hooks run in the calling goroutine after COMMIT succeeded; hooks of a rolled-back run are
// dropped. If COMMIT fails for another reason than a conflict, its outcome can be unknown, and
// the hooks do not run.
func Do(ctx context.Context, db *sql.DB, fn func(ctx context.Context, tx *sql.Tx) error, opts ...Options) error {
	outer := current(ctx)
	if t := outer.on(db); t != nil {
		return t.join(ctx, fn)
	}
	var o Options
	switch len(opts) {
	case 0:
	case 1:
		o = opts[0]
	default:
		return fmt.Errorf("sqltx: Do got %d Options; give one", len(opts))
	}
	if o.Attempts == 0 {
		o.Attempts = attempts
	}
	if outer != nil {
		o.Attempts = 1
	}
	for attempt := 1; ; attempt++ {
		err := once(ctx, db, fn, outer, &o)
		if !IsConflict(err) || o.Attempts <= 1 {
			return err
		}
		if attempt == o.Attempts {
			return fmt.Errorf("sqltx: the database rolled back each of %d attempts: %w", attempt, err)
		}
		if ended := pause(ctx, attempt); ended != nil {
			return fmt.Errorf("sqltx: %w after attempt %d, which the database rolled back: %w", ended, attempt, err)
		}
	}
}

// once runs one attempt, from BEGIN to COMMIT.
func once(ctx context.Context, db *sql.DB, fn func(ctx context.Context, tx *sql.Tx) error, outer *frame, o *Options) (err error) {
	t := &transaction{db: db}
	options := &sql.TxOptions{Isolation: o.Isolation, ReadOnly: o.ReadOnly}
	bound := func() {}
	if intx.IsWanted(ctx) {
		var done func()
		if bound, done, err = t.beginOnConn(ctx, options); err == nil {
			defer done()
		}
	} else {
		t.tx, err = db.BeginTx(ctx, options)
	}
	if err != nil {
		return fmt.Errorf("sqltx: begin: %w", err)
	}
	// Rollback after Commit is a no-op; this also covers a panic in fn.
	defer t.tx.Rollback() //nolint:errcheck // the error that matters is returned below

	defer t.end() //nolint:errcheck // on the way out of a failure or a panic, which says more
	err = func() error {
		defer bound()
		return fn(t.in(ctx, outer), t.tx)
	}()
	if err != nil {
		return err
	}
	hooks, doomed := t.end()
	if doomed != nil {
		return fmt.Errorf("%w: %w", ErrDoomed, doomed)
	}
	if t.conn != nil && ctx.Err() != nil {
		return fmt.Errorf("sqltx: commit: %w", ctx.Err())
	}
	if err := t.tx.Commit(); err != nil {
		switch {
		case ctx.Err() == nil:
		case errors.Is(err, sql.ErrTxDone):
			// database/sql may have rolled back already because ctx ended; its error then only
			// says that the transaction is over.
			err = ctx.Err()
		case t.conn != nil:
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return fmt.Errorf("sqltx: commit: %w", err)
	}
	run(hooks)
	return nil
}

// grace is how long a COMMIT or ROLLBACK on a connection of its own may take after the context of
// the transaction has ended.
const grace = time.Second

// beginOnConn begins the transaction on a connection that the function may use directly, so that
// the end of ctx rolls nothing back while the function runs. Call bound when the function has
// ended: from then on the end of ctx ends the transaction, because a server that hangs would never
// answer a COMMIT or ROLLBACK. Call done at last.
func (t *transaction) beginOnConn(ctx context.Context, options *sql.TxOptions) (bound, done func(), err error) {
	conn, err := t.db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	lasting, cut := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cut)
	done = func() {
		stop()
		cut()
		conn.Close() //nolint:errcheck // says only that the connection is gone
	}
	tx, err := conn.BeginTx(lasting, options)
	if !stop() { // ctx has ended, and ends the transaction
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		if tx != nil {
			tx.Rollback() //nolint:errcheck // the context's end says more
		}
		done()
		return nil, nil, err
	}
	t.conn, t.tx = conn, tx
	bound = func() { stop = context.AfterFunc(ctx, func() { time.AfterFunc(grace, cut) }) }
	return bound, done, nil
}

// pause waits before the next attempt, for a random part of a time that doubles, so that
// transactions that conflicted once do not conflict again. It returns the context's error if
// ctx ends first.
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
