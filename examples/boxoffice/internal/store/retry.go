package store

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/sqltx"
)

// maxTries bounds how often writers that got into each other's way start over.
const maxTries = 8

// retried runs fn in a transaction, again when the database chose it to break a
// deadlock: writers of one database meet on the same seats in any order.
func (s *Store) retried(ctx context.Context, fn writeFunc) error {
	pause := backoff.Policy{Initial: 2 * time.Millisecond, Max: 100 * time.Millisecond, Multiplier: 2, Jitter: 0.5}
	for try := 1; ; try++ {
		err := sqltx.Do(ctx, s.writer, fn)
		if err == nil || try == maxTries || s.dialect.classify(err) != fault.Transient {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause.Delay(try)):
		}
	}
}
