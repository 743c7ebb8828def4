package mysqlbus_test

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/mysqlbus"
)

func ExampleScheme() {
	scheme := mysqlbus.Scheme(mysqlbus.Config{})
	_, err := bus.Open(context.Background(), "mysql://app:secret@db.internal/app?mode=fast", scheme)
	fmt.Println(err)
	_, err = bus.Open(context.Background(), "mysql://app:secret@db.internal/app?mode=tx&partitions=5", scheme)
	fmt.Println(err != nil) // in mode=tx a topic has no partitions
	// Output:
	// bus: open mysql: parameter "mode" is "fast"; give log, or tx for Watermill SQL with its offset in the handler's transaction
	// true
}
