package millrace

import (
	"context"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/sqltx"
)

// Database is where an application keeps its rows, and with them the outbox and the
// idempotency keys. Packages postgres, mysql and sqlite make one. Tx is its transaction.
type Database[Tx any] interface {
	// Stores returns what an App stands on. It connects to no server.
	Stores() (*Stores[Tx], error)
}

// Stores is what an App needs of a database.
type Stores[Tx any] struct {
	// Do runs fn in a transaction, as [sqltx.Do] does.
	Do func(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Execer is a transaction as the outbox takes it.
	Execer func(tx Tx) sqltx.Execer
	Outbox outbox.Store
	Keys   idempotency.BatchStore // and an idempotency.TxStore[Tx]
	Leases idempotency.LeaseStore
	// Scheme is the database's own log as a transport, and URL names it; URL is "" where
	// only its owner knows it.
	Scheme bus.Scheme
	URL    string
	// Migrate brings the tables up to date.
	Migrate func(ctx context.Context) error
	Ping    func(ctx context.Context) error
	// Classify judges the database's errors.
	Classify fault.Classifier
	// Close ends what Stores opened.
	Close func() error
}
