package sqsbus_test

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqsbus"
)

func ExampleScheme() {
	o := bus.NewOpener(sqsbus.Scheme(sqsbus.Config{Prefix: "boxoffice-"}))
	fmt.Println(o.Schemes())

	_, err := o.Open(context.Background(), "sqs://eu-central-1?visibility=25h")
	fmt.Println(err)
	// Output:
	// [sqs]
	// bus: open sqs: the visibility is 25h0m0s; give whole seconds from 2s to 12h0m0s
}

// Standard queues take more messages a second, and keep no order of keys.
func ExampleConfig_standard() {
	o := bus.NewOpener(sqsbus.Scheme(sqsbus.Config{Standard: true}))
	b, err := o.Open(context.Background(), "sqs://key:secret@eu-central-1") // as with ?fifo=false
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	fmt.Println("order of keys:", b.Capabilities().OrderedPerKey)
	// Output: order of keys: false
}

// Each consumer group of a topic has a queue, which SNS sends to.
func ExampleSNSScheme() {
	o := bus.NewOpener(sqsbus.SNSScheme(sqsbus.Config{Prefix: "shop-"}))
	b, err := o.Open(context.Background(), "sns://key:secret@eu-central-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	fmt.Println("groups:", b.Capabilities().ConsumerGroups)
	// Output: groups: true
}
