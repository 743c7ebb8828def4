package driver

import "github.com/millrace-go/millrace/migrations"

// SQLStore is a store in the tables of a database, as the constructors of packages pgoutbox,
// mysqloutbox and sqliteoutbox return it. Call Migrate once before use. A type assertion tells
// whether it is a [Notifier], [Listener], [Snapshotter], [Rebaser], [Adopter] or [Preferrer], too;
// the package comments list that.
type SQLStore interface {
	Store
	Signal
	Pruner
	Parking
	Failing
	Inspector
	migrations.Migrator
}
