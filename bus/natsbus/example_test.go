package natsbus_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/natsbus"
	"github.com/millrace-go/millrace/fault"
)

// A bus opens without its server; the first use fails.
func ExampleScheme() {
	ctx := context.Background()
	scheme := natsbus.Scheme(natsbus.Config{})
	b, err := bus.Open(ctx, "nats://user:password@127.0.0.1:1/?partitions=6&replicas=3", scheme)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close() //nolint:errcheck // it published nothing
	err = b.Publisher().Publish("payment.events", message.NewMessage("1", []byte("paid")))
	fmt.Println(fault.Of(err))
	// Output: infrastructure
}
