package driver

import "github.com/millrace-go/millrace/migrations"

// SQLStore is a store in a SQL table, whose transactions are of type Tx, as the constructors of
// packages sqlidempotency and pgidempotency return it. Call Migrate once before use.
type SQLStore[Tx any] interface {
	TxStore[Tx]
	BatchStore
	Forgetter
	migrations.Migrator
}

// SQLLeaseStore is a lease store in a SQL table, as sqlidempotency.NewLeases returns it. Call
// Migrate once before use.
type SQLLeaseStore interface {
	LeaseStore
	migrations.Migrator
}
