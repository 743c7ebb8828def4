package sqlcounter_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
	"github.com/millrace-go/millrace/counter/sqlcounter"
	"github.com/millrace-go/millrace/sqltx"
)

func ExampleNew() {
	dir, err := os.MkdirTemp("", "sqlcounter")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	check(err)
	defer db.Close()

	applier, err := sqlcounter.New(db, sqlcounter.Config{Dialect: sqltx.SQLite})
	check(err)
	ctx := context.Background()
	check(applier.Migrate(ctx))
	views, err := counter.New("view", memcounter.New(), counter.Config{Applier: applier})
	check(err)
	check(views.Add(ctx, "show-1", 3))
	_, err = views.Flush(ctx)
	check(err)
	totals, err := applier.Totals(ctx, "view", []string{"show-1"})
	fmt.Println(totals, err)
	// Output: map[show-1:3] <nil>
}

func ExampleNewLog() {
	dir, err := os.MkdirTemp("", "sqlcounter")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	check(err)
	defer db.Close()

	log, err := sqlcounter.NewLog(db, sqltx.SQLite, "comment")
	check(err)
	ctx := context.Background()
	check(log.Migrate(ctx))
	check(sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		// … and the comment itself, in the same transaction.
		return log.Append(ctx, tx, driver.Change{Key: "post-1", N: 1})
	}))
	changes, _, err := log.Read(ctx, "", 10)
	fmt.Println(changes, err)
	// Output: [{post-1 1}] <nil>
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
