package redisbus_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/redisbus"
)

func ExampleScheme() {
	scheme := redisbus.Scheme(redisbus.Config{})
	fmt.Println(scheme.Names())

	_, err := bus.Open(context.Background(), "redis://user:secret@localhost:6379/0?partition=8", scheme)
	fmt.Println(err)
	// Output:
	// [redis rediss]
	// bus: open redis: unknown parameter "partition"; known are: cluster, master, maxlen, mode, partitions, prefix, retention, sentinel_password, sentinel_user, wait
}

func ExampleScheme_groups() {
	ctx := context.Background()
	b, err := bus.Open(ctx, "redis://localhost:6379/0", redisbus.Scheme(redisbus.Config{}))
	check(err)
	defer b.Close()
	check(b.Publisher().Publish("seats", message.NewMessage("1", []byte("A-1 held"))))

	// A group that comes later starts at the earliest message.
	sub, err := b.Subscriber("printer", bus.SubscriberConfig{})
	check(err)
	messages, err := sub.Subscribe(ctx, "seats")
	check(err)
	m := <-messages
	fmt.Println(string(m.Payload))
	m.Ack()
	check(sub.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
