package sqlitelog_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/sqlitelog"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/sqltx"
)

// Append in a transaction, read behind a leased cursor, move the cursor.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "millrace")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sqlitedb.Open(filepath.Join(dir, "app.db"), sqlitedb.Config{})
	check(err)
	defer db.Close()

	l, err := sqlitelog.New(db, sqllog.Tables{Messages: "mail_messages", Cursors: "mail_cursors", Package: "mail"})
	check(err)
	schema, err := l.Migrations()
	check(err)
	check(schema.Up(ctx, db))

	check(sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		return l.Append(ctx, tx, []log.Entry{
			{Lane: 0, Topic: "mail", MessageID: "1", Payload: []byte("hello")},
			{Lane: 0, Topic: "mail", MessageID: "2", Payload: []byte("again")},
		})
	}))

	me, err := l.Lease(ctx, log.Cursor{Consumer: "postman", Lane: 0}, "me", 10*time.Second)
	check(err)
	entries, next, err := l.Read(ctx, 0, me.Position, 100)
	check(err)
	for _, e := range entries {
		fmt.Printf("%s: %s\n", e.MessageID, e.Payload)
	}
	check(l.Advance(ctx, me, next, 10*time.Second))
	left, _, err := l.Backlog(ctx, me.Cursor, 1, 100)
	check(err)
	fmt.Println("left:", left)
	// Output:
	// 1: hello
	// 2: again
	// left: 0
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
