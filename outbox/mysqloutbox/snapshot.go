package mysqloutbox

import (
	"context"
	"database/sql"
	_ "embed" // for the statement
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
)

//go:embed sql/oldest_snapshot.sql
var oldestTransaction string

// hidden is the Holder when this user may not see transactions.
const hidden = "the transactions of the server are hidden: GRANT PROCESS ON *.* TO the user"

// transactions finds the oldest open transaction of the server.
type transactions struct{ db *sql.DB }

var (
	_ driver.Snapshotter = (*store)(nil)
	_ driver.Snapshotter = (*statusStore)(nil)
)

// OldestSnapshot implements driver.Snapshotter with the oldest open transaction. It needs the
// PROCESS privilege: without it Holder says so, and Age is 0.
func (t transactions) OldestSnapshot(ctx context.Context) (driver.Snapshot, error) {
	var thread, micros int64
	var user, host, command string
	err := t.db.QueryRowContext(ctx, oldestTransaction).Scan(&thread, &user, &host, &command, &micros)
	var server *mysql.MySQLError
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return driver.Snapshot{}, nil
	case errors.As(err, &server) && server.Number == 1227:
		return driver.Snapshot{Holder: hidden}, nil
	case err != nil:
		return driver.Snapshot{}, fmt.Errorf("mysqloutbox: oldest snapshot: %w", err)
	}
	holder := fmt.Sprintf("connection %d", thread)
	switch {
	case thread == 0:
		holder = "a transaction without a connection: prepared (XA RECOVER lists it), or rolled back after a crash"
	case user != "":
		holder = fmt.Sprintf("connection %d of %s from %s, %s", thread, user, host, command)
	}
	return driver.Snapshot{Age: sqlstore.Micros(micros), Holder: holder}, nil
}
