package watermillbus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/watermillbus"
	"github.com/millrace-go/millrace/fault"
)

// Watermill's in-memory Pub/Sub with consumers of package bus and dead letters. It is one
// object, which the functions share.
func ExampleNew() {
	shared := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	d, err := watermillbus.New(watermillbus.Config{
		Publisher:  func(context.Context) (message.Publisher, error) { return unclosed{shared}, nil },
		Subscriber: func(context.Context, string) (message.Subscriber, error) { return kept{shared}, nil },
		// The Pub/Sub has no durability, no order and no groups, and hands over many messages at
		// a time: each subscription gets all messages from the first on.
		Capabilities: driver.Capabilities{ConsumerGroups: true, Replay: true, Broadcast: true, IndividualAcks: true},
		Close:        shared.Close,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	b := bus.New("gochannel", d)
	defer b.Close() //nolint:errcheck // at the end of the program

	ctx, stop := context.WithCancel(context.Background())
	r, _ := bus.NewRunner(b, bus.RunnerConfig{Logger: slog.New(slog.DiscardHandler)}) // the zero value is valid
	err = r.Add(bus.Consumer{Topic: "orders", Group: "billing", Handler: func(*message.Message) error {
		return fault.MarkPermanent(errors.New("no such customer"))
	}})
	people := r.Add(bus.Consumer{Topic: "orders.DLT", Group: "people", Handler: func(m *message.Message) error {
		fmt.Printf("%s: %s\n", m.Payload, m.Metadata[driver.DLQError])
		stop()
		return nil
	}})
	published := b.Publisher().Publish("orders", message.NewMessage(watermill.NewUUID(), []byte("order 7")))
	if err = errors.Join(err, people, published, r.Run(ctx)); err != nil {
		fmt.Println(err)
	}
	// Output: order 7: no such customer
}

// kept is a subscriber that others use too; its subscriptions end by their contexts.
type kept struct{ message.Subscriber }

func (kept) Close() error { return nil }
