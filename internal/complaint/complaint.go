// Package complaint logs errors at most once a second: during an outage a crowd makes one with
// each request.
package complaint

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Log is a place in a program that logs errors. The zero value is ready for use.
type Log struct {
	mu     sync.Mutex
	next   time.Time // of the next entry
	silent int64     // errors since the last entry
}

// Error logs an error, unless another one was logged within the last second. An entry says how
// many errors were not logged before it.
func (l *Log) Error(ctx context.Context, to *slog.Logger, what string, err error, args ...any) {
	now := time.Now()
	l.mu.Lock()
	if now.Before(l.next) {
		l.silent++
		l.mu.Unlock()
		return
	}
	silent := l.silent
	l.next, l.silent = now.Add(time.Second), 0
	l.mu.Unlock()
	to.ErrorContext(ctx, what, append(args, slog.Any("error", err), slog.Int64("not_logged", silent))...)
}
