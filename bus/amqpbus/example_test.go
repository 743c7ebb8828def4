package amqpbus_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
)

func ExampleScheme() {
	ctx := context.Background()
	scheme := amqpbus.Scheme(amqpbus.Config{})
	b, err := bus.Open(ctx, "amqp://guest:guest@localhost:5672/?partitions=8", scheme)
	check(err)
	defer b.Close()
	check(b.Declare(ctx, bus.Topic{Name: "seats", Groups: []string{"printer"}}))
	check(b.Publisher().Publish("seats", message.NewMessage("1", []byte("A-1 held"))))

	sub, err := b.Subscriber("printer", bus.SubscriberConfig{})
	check(err)
	messages, err := sub.Subscribe(ctx, "seats")
	check(err)
	m := <-messages
	fmt.Println(string(m.Payload))
	m.Ack()
	check(sub.Close())
}

func ExampleScheme_misspelt() {
	_, err := bus.Open(context.Background(), "amqp://localhost/?partition=8", amqpbus.Scheme(amqpbus.Config{}))
	fmt.Println(err)
	// Output:
	// bus: open amqp: unknown parameter "partition"; known are: confirm_timeout, connect_timeout, exchange, heartbeat, mode, partitions, prefetch, prefix, queue_type
}

func ExampleScheme_tls() {
	scheme := amqpbus.Scheme(amqpbus.Config{})
	_, err := bus.Open(context.Background(), "amqps://host/vhost?certfile=client.pem", scheme)
	fmt.Println(err)
	// Output:
	// bus: open amqps: amqpbus: give certfile and keyfile together
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
