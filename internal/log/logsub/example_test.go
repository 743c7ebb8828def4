package logsub_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

// A hub over a backend, here one in memory: publish, join a group, acknowledge.
func ExampleNew() {
	hub, err := logsub.New(newMemory().connect().backend(), logsub.Config{})
	check(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- hub.Run(ctx) }()

	source, err := hub.Source(ctx, "seats", "printer", 16)
	check(err)
	for _, text := range []string{"A-1 held", "A-1 sold"} {
		m := message.NewMessage("", []byte(text))
		m.Metadata.Set(event.KeyHeader, "A-1")
		check(hub.Publisher().Publish("seats", m))
	}
	for handled := 0; handled < 2; {
		deliveries, err := source.Fetch(ctx, 10)
		check(err)
		for _, d := range deliveries {
			fmt.Println(string(d.Message().Payload))
			d.Done()
			handled++
		}
	}
	check(source.Close())
	check(hub.Close())
	cancel()
	check(<-ended)
	// Output:
	// A-1 held
	// A-1 sold
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
