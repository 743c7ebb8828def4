package mysqloutbox_test

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/outbox/mysqloutbox"
)

// New connects to no server, so the schema can be printed without one. With a server, use
// the store like the store of New.
func ExampleNew_status() {
	db, err := sql.Open("mysql", "app@tcp(localhost)/app")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	store, err := mysqloutbox.New(db, mysqloutbox.Config{Status: true, Shards: 4})
	if err != nil {
		panic(err)
	}
	var script bytes.Buffer
	if err := store.PrintMigrations(&script); err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(&script); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "CREATE TABLE IF NOT EXISTS outbox_"); ok {
			fmt.Println("outbox_" + strings.TrimSuffix(name, " ("))
		}
	}
	// Output:
	// outbox_events
	// outbox_event_leases
	// outbox_event_settings
}
