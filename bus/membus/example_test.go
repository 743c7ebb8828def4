package membus_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
)

func ExampleScheme() {
	ctx := context.Background()
	b, err := bus.Open(ctx, "mem://?retention=1000", membus.Scheme())
	if err != nil {
		panic(err)
	}
	defer b.Close()
	// Published before the first subscriber, and not lost.
	if err := b.Publisher().Publish("greetings", message.NewMessage("1", []byte("hello"))); err != nil {
		panic(err)
	}
	sub, err := b.Subscriber("readers", bus.SubscriberConfig{})
	if err != nil {
		panic(err)
	}
	messages, err := sub.Subscribe(ctx, "greetings")
	if err != nil {
		panic(err)
	}
	m := <-messages
	fmt.Printf("%s\n", m.Payload)
	m.Ack()
	// Output: hello
}
