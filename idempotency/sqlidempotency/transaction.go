package sqlidempotency

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sqltx"
)

// attempts bounds how often a call begins its transaction. On MySQL each
// failure of the handler that holds a key costs every waiting duplicate but one
// an attempt.
const attempts = 20

// errLost is the error of a handler that went on after the server had ended its
// transaction.
var errLost = fault.MarkTransient(errors.New(
	"the server rolled the transaction back while the handler ran, most likely to end a deadlock, and the handler ignored that error; return errors of statements from the handler"))

// handlerError is an error of the caller's function, or of what it made of the
// transaction, which comes back without a word of ours.
type handlerError struct{ err error }

func (e *handlerError) Error() string { return e.err.Error() }

// do claims keys, of which key names one that was new, and runs fn in one transaction, begun or joined, if claim
// says that some are new. A claim that ends as the victim of a deadlock is
// tried again, in a new transaction; in an outer one the caller must begin again.
func (s *Store) do(ctx context.Context, key func() string,
	claim func(ctx context.Context, tx *sql.Tx) (fresh bool, err error), fn func(ctx context.Context) error,
) (fresh bool, err error) {
	_, joined := sqltx.On(ctx, s.db)
	for attempt := 1; ; attempt++ {
		var failed, refused error
		err := sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
			if fresh, refused = claim(ctx, tx); refused != nil || !fresh {
				return refused
			}
			if failed = fn(ctx); failed != nil || s.cfg.Dialect != MySQL {
				return failed
			}
			return s.stillThere(ctx, key())
		})
		switch {
		case err == nil:
			return fresh, nil
		case failed != nil:
			return false, &handlerError{err}
		case !deadlock(refused):
			return false, err
		case joined || attempt == attempts || ctx.Err() != nil:
			return false, fault.MarkTransient(err)
		}
	}
}

// stillThere refuses the commit of a transaction that is none any more. MySQL
// ends a deadlock by rolling one transaction back, and lets its session go on
// outside any: what follows commits by itself, and COMMIT says nothing.
func (s *Store) stillThere(ctx context.Context, key string) error {
	ok, err := s.Seen(ctx, key)
	if err == nil && !ok {
		err = errLost
	}
	return err
}

// deadlock reports whether the server rolled the transaction back so that
// others can go on: SQLSTATE 40001 (on MySQL any deadlock) or 40P01. Drivers
// print the state, and to ask the text spares linking them for their types. A
// wrong answer costs a few attempts, or leaves the retry to the consumer.
func deadlock(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "(40001)") || strings.Contains(text, "SQLSTATE 40001") || strings.Contains(text, "SQLSTATE 40P01")
}

// wrap names the call in an error, unless it is the handler's own.
func wrap(err error, format string, a ...any) error {
	var failed *handlerError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return failed.err
	}
	return fmt.Errorf("sqlidempotency: %s: %w", fmt.Sprintf(format, a...), err)
}
