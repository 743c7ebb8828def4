package pgbus_test

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/pgbus"
)

func ExampleScheme() {
	o := bus.NewOpener(pgbus.Scheme(pgbus.Config{}), pgbus.SchemePostgreSQL(pgbus.Config{}))
	fmt.Println(o.Schemes())

	_, err := o.Open(context.Background(), "postgres://app:secret@db.internal/app?mode=fast")
	fmt.Println(err)
	_, err = o.Open(context.Background(), "postgresql://app:secret@db.internal")
	fmt.Println(err)
	// Output:
	// [postgres postgresql]
	// bus: open postgres: parameter "mode" is "fast"; give log, or tx for Watermill SQL with its offset in the handler's transaction
	// bus: open postgresql: the URL names no host or no database; write postgres://user:password@host:5432/database
}

func ExampleSchemePostgreSQL() {
	fmt.Println(pgbus.SchemePostgreSQL(pgbus.Config{}).Name())
	// Output: postgresql
}
