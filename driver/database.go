// Package driver is the interface between a database and package millrace, for authors of a package
// such as postgres, mysql or sqlite.
//
//	func Open(url string) millrace.Database[*sql.Tx] {
//		return driver.SQLDatabase{Name: "postgres", …}.Open(url)
//	}
package driver

import (
	"context"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
	idempotencydriver "github.com/millrace-go/millrace/idempotency/driver"
	outboxdriver "github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/sqltx"
)

// Database holds an application's rows, its outbox and its idempotency keys. Tx is the type of its
// transactions.
type Database[Tx any] interface {
	// Stores returns the stores that an App uses. It connects to no server.
	Stores() (*Stores[Tx], error)
}

// Stores holds the parts of a database that an App uses.
type Stores[Tx any] struct {
	// Do runs fn in a transaction, as [sqltx.Do] does.
	Do func(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Execer converts a transaction for the outbox.
	Execer func(tx Tx) sqltx.Execer
	Outbox outboxdriver.Store
	Keys   idempotencydriver.BatchStore // and an idempotencydriver.TxStore[Tx]
	Leases idempotencydriver.LeaseStore
	// Scheme is the database's own log as a transport, and URL names it. URL is "" when only
	// the owner of the pool knows it.
	Scheme bus.Scheme
	URL    string
	// Migrate creates or updates the tables.
	Migrate func(ctx context.Context) error
	Ping    func(ctx context.Context) error
	// Classify classifies the database's errors.
	Classify fault.Classifier
	// Close closes the pool that Stores opened.
	Close func() error
}
