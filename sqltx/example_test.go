package sqltx_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/millrace-go/millrace/sqltx"
)

func ExampleDo() {
	dir, err := os.MkdirTemp("", "sqltx")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		panic(err)
	}
	defer db.Close()

	// notify works both alone and inside a larger transaction.
	notify := func(ctx context.Context, who string) error {
		return sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
			sqltx.AfterCommit(ctx, func() { fmt.Println("tell", who) })
			_, err := tx.ExecContext(ctx, `INSERT INTO notices VALUES (?)`, who)
			return err
		})
	}
	err = sqltx.Do(context.Background(), db, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `CREATE TABLE notices (who TEXT)`); err != nil {
			return err
		}
		if err := notify(ctx, "Ada"); err != nil {
			return err
		}
		fmt.Println("not told yet")
		return nil
	})
	fmt.Println("done:", err)
	// Output:
	// not told yet
	// tell Ada
	// done: <nil>
}
