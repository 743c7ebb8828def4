package mysqloutbox_test

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"strings"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"

	"github.com/millrace-go/millrace/outbox/mysqloutbox"
)

// New connects to no server, so the schema can be printed without one. With a server,
// store.Migrate creates or updates the tables, and outbox.New and outbox.NewRelay use the
// store.
func ExampleNew() {
	db, err := sql.Open("mysql", "app@tcp(localhost:3306)/app")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	store, err := mysqloutbox.New(db, mysqloutbox.Config{Shards: 4})
	if err != nil {
		panic(err)
	}
	var script bytes.Buffer
	if err := store.PrintMigrations(&script); err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(&script); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "CREATE TABLE IF NOT EXISTS "); ok {
			fmt.Println(strings.TrimSuffix(name, " ("))
		}
	}
	// Output:
	// outbox_messages
	// outbox_messages_lanes
	// outbox_cursors
	// outbox_settings
	// outbox_retries
	// outbox_failed
}
