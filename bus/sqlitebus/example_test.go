package sqlitebus_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
)

func ExampleScheme() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "millrace")
	check(err)
	defer os.RemoveAll(dir)
	url := "sqlite://" + filepath.Join(dir, "bus.db")

	b, err := bus.Open(ctx, url, sqlitebus.Scheme(sqlitebus.Config{}))
	check(err)
	defer b.Close()
	check(b.Publisher().Publish("seats", message.NewMessage("1", []byte("A-1 held"))))

	// A later group starts at the earliest message.
	sub, err := b.Subscriber("printer", bus.SubscriberConfig{})
	check(err)
	messages, err := sub.Subscribe(ctx, "seats")
	check(err)
	m := <-messages
	fmt.Println(string(m.Payload))
	m.Ack()
	check(sub.Close())

	_, err = bus.Open(ctx, url+"?partition=8", sqlitebus.Scheme(sqlitebus.Config{}))
	fmt.Println(err)
	// Output:
	// A-1 held
	// bus: open sqlite: unknown parameter "partition"; known are: partitions, retention, synchronous
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
