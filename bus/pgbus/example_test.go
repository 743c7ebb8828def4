package pgbus_test

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/pgbus"
)

func ExampleScheme() {
	scheme := pgbus.Scheme(pgbus.Config{})
	fmt.Println(scheme.Names())

	_, err := bus.Open(context.Background(), "postgres://app:secret@db.internal/app?mode=fast", scheme)
	fmt.Println(err)
	_, err = bus.Open(context.Background(), "postgresql://app:secret@db.internal", scheme)
	fmt.Println(err)
	// Output:
	// [postgres postgresql]
	// bus: open postgres: parameter "mode" is "fast"; give log, or tx for Watermill SQL with its offset in the handler's transaction
	// bus: open postgresql: the URL names no host or no database; write postgres://user:password@host:5432/database
}
