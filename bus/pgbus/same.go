package pgbus

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"

	"github.com/millrace-go/millrace/internal/onedb"
)

const (
	// tablesOfLog resolves the name of the log's table on a connection.
	tablesOfLog = `coalesce(to_regclass('bus_messages')::oid::text, '')`
	// schemaOfTables is the schema in which names of tables are resolved first.
	schemaOfTables = `coalesce(current_schema(), '')`
)

// same returns a function that reports whether app is on the database of db, and the expression
// place has the same value on both. It compares by an advisory lock, which belongs to one database
// of one server, on a random number that no other session has locked. On another database, app's
// transaction keeps the lock until its end, and delays no other.
func same(place string) func(ctx context.Context, db *sql.DB, app onedb.Querier) (bool, error) {
	return func(ctx context.Context, db *sql.DB, app onedb.Querier) (bool, error) {
		var number [8]byte
		rand.Read(number[:]) //nolint:errcheck // never fails
		key := int64(binary.BigEndian.Uint64(number[:]))
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return false, err
		}
		defer tx.Rollback() //nolint:errcheck // it only held the lock
		var here, there, free = "", "", false
		if err := tx.QueryRowContext(ctx, `SELECT `+place+` FROM pg_advisory_xact_lock($1)`, key).Scan(&here); err != nil {
			return false, err
		}
		if err := app.QueryRowContext(ctx, `SELECT `+place+`, pg_try_advisory_xact_lock($1)`, key).Scan(&there, &free); err != nil {
			return false, err
		}
		return !free && here == there, nil
	}
}
