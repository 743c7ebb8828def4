package pgoutbox_test

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

// New connects to no server, so the schema can be printed without one. With a server,
// store.Migrate creates or updates the tables, and outbox.New and outbox.NewRelay use the
// store.
func ExampleNew() {
	db, err := sql.Open("pgx", "postgres://app@localhost/app")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	store, err := pgoutbox.New(db, pgoutbox.Config{Shards: 4})
	if err != nil {
		panic(err)
	}
	var script bytes.Buffer
	if err := store.PrintMigrations(&script); err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(&script); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "CREATE TABLE outbox_"); ok {
			fmt.Println("outbox_" + strings.TrimSuffix(name, " ("))
		}
	}
	// Output:
	// outbox_messages
	// outbox_cursors
	// outbox_cursors_progress
	// outbox_messages_pruned
	// outbox_settings
	// outbox_retries
	// outbox_failed
}
