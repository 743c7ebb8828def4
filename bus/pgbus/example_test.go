package pgbus_test

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/pgbus"
)

func ExampleSchemes() {
	o := bus.NewOpener(pgbus.Schemes(pgbus.Config{})...)
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

func ExampleScheme() {
	fmt.Println(pgbus.Scheme(pgbus.Config{}).Name())
	// Output: postgres
}
