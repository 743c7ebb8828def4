package sqsbus_test

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqsbus"
)

func ExampleScheme() {
	scheme := sqsbus.Scheme(sqsbus.Config{Prefix: "boxoffice-"})
	fmt.Println(scheme.Names())

	_, err := bus.Open(context.Background(), "sqs://eu-central-1?visibility=25h", scheme)
	fmt.Println(err)
	// Output:
	// [sqs sns]
	// bus: open sqs: the visibility is 25h0m0s; give whole seconds from 2s to 12h0m0s
}

// Standard queues take more messages a second, and keep no order of keys.
func ExampleConfig_standard() {
	scheme := sqsbus.Scheme(sqsbus.Config{Standard: true})
	b, err := bus.Open(context.Background(), "sqs://key:secret@eu-central-1", scheme) // as with ?fifo=false
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	fmt.Println("order of keys:", b.Capabilities().OrderedPerKey)
	// Output: order of keys: false
}

// Each consumer group of a topic has a queue, which SNS sends to.
func ExampleScheme_sns() {
	scheme := sqsbus.Scheme(sqsbus.Config{Prefix: "shop-"})
	b, err := bus.Open(context.Background(), "sns://key:secret@eu-central-1", scheme)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	fmt.Println("groups:", b.Capabilities().ConsumerGroups)
	// Output: groups: true
}
