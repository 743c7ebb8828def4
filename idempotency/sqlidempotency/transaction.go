package sqlidempotency

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sqltx"
)

// errLost is the error of a handler that went on after the server had ended its transaction.
var errLost = fault.MarkTransient(errors.New(
	"the server rolled the transaction back while the handler ran, most likely to end a deadlock, and the handler ignored that error; return errors of statements from the handler"))

// handlerError is an error of the caller's function, which is returned unchanged.
type handlerError struct{ err error }

func (e *handlerError) Error() string { return e.err.Error() }
func (e *handlerError) Unwrap() error { return e.err }

// do claims keys and runs fn in one transaction, begun or joined, if claim reports that some of
// the keys are new. key names one of the new keys. sqltx.Do runs both again if the database
// rolled the transaction back because of a conflict; in an outer transaction the caller must
// begin again.
func (s *store) do(ctx context.Context, key func() string,
	claim func(ctx context.Context, tx *sql.Tx) (fresh bool, err error), fn func(ctx context.Context) error,
) (fresh bool, err error) {
	var own *handlerError // of the last run
	err = sqltx.Do(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		var err error
		own = nil
		if fresh, err = claim(ctx, tx); err != nil || !fresh {
			return err
		}
		if err := fn(ctx); err != nil {
			own = &handlerError{err}
			return own
		}
		if s.cfg.Dialect != sqltx.MySQL {
			return nil
		}
		return s.stillThere(ctx, key())
	})
	switch {
	case err == nil:
		return fresh, nil
	case own != nil && err == error(own): //nolint:errorlint // as it is
		return false, own
	case own != nil && errors.Is(err, own): // with a word on the attempts
		return false, &handlerError{err}
	case sqltx.IsConflict(err):
		return false, fault.MarkTransient(err)
	}
	return false, err
}

// stillThere refuses to commit if the transaction does not exist any more. MySQL ends a deadlock by
// rolling one transaction back, and its session goes on outside any transaction: later
// statements commit by themselves, and COMMIT returns no error.
func (s *store) stillThere(ctx context.Context, key string) error {
	ok, err := s.Seen(ctx, key)
	if err == nil && !ok {
		err = errLost
	}
	return err
}

// wrap names the call in an error, unless it is the handler's own.
func wrap(err error, format string, a ...any) error {
	if err == nil {
		return nil
	}
	// Not errors.As: a nested call's handler is not this one's.
	if failed, ok := err.(*handlerError); ok { //nolint:errorlint // see above
		return failed.err
	}
	return fmt.Errorf("sqlidempotency: %s: %w", fmt.Sprintf(format, a...), err)
}
