package mysqlbus

import (
	"context"
	"crypto/rand"
	"database/sql"

	"github.com/millrace-go/millrace/internal/onedb"
)

// same reports whether app is on the database of db. It compares by a lock of the server with a
// random name, which no other session has.
func same(ctx context.Context, db *sql.DB, app onedb.Querier) (bool, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	name := "millrace-" + rand.Text()
	var here, there string
	var got, free int
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 1), DATABASE()`, name).Scan(&got, &here); err != nil {
		return false, err
	}
	err = app.QueryRowContext(ctx, `SELECT IS_FREE_LOCK(?), COALESCE(DATABASE(), '')`, name).Scan(&free, &there)
	if _, released := conn.ExecContext(context.WithoutCancel(ctx), `DO RELEASE_LOCK(?)`, name); released != nil {
		return false, released
	}
	return free == 0 && here == there, err
}
