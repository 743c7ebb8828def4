package store

import (
	"context"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/sqltx"
)

// Appender writes events in the caller's transaction: the outbox.
type Appender interface {
	Append(ctx context.Context, tx sqltx.Execer, events ...event.Event) error
}
