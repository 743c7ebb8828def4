package bus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/bus/watermillbus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

var quiet = slog.New(slog.DiscardHandler)

func ExampleOpen() {
	scheme := membus.Scheme()
	b, err := bus.Open(context.Background(), "mem://", scheme)
	if err != nil {
		panic(err)
	}
	defer b.Close()
	fmt.Println(b.Name(), "durable:", b.Capabilities().Durable)

	_, err = bus.Open(context.Background(), "kafka://localhost", scheme)
	fmt.Println(err)
	_, err = bus.Open(context.Background(), "mem://?retenton=5", scheme)
	fmt.Println(err)
	// Output:
	// mem durable: false
	// bus: unknown scheme "kafka"; known are: mem
	// bus: open mem: unknown parameter "retenton"; known are: retention
}

// A transport of your own, or one opened by hand, becomes a Bus with New.
func ExampleNew() {
	driver, err := membus.Scheme().Open(context.Background(), &url.URL{Scheme: "mem"})
	if err != nil {
		panic(err)
	}
	b := bus.New("events", driver)
	defer b.Close()
	fmt.Println(b.Name(), b.Capabilities().OrderedPerKey)
	// Output: events true
}

func ExampleNewRunner() {
	b, err := bus.Open(context.Background(), "mem://", membus.Scheme())
	if err != nil {
		panic(err)
	}
	defer b.Close()

	ctx, stop := context.WithCancel(context.Background())
	runner, err := bus.NewRunner(b, bus.RunnerConfig{Logger: quiet})
	if err != nil {
		panic(err)
	}
	err = runner.Add(bus.Consumer{
		Topic: "payment.events", Group: "mailer", DeadLetter: "dlq.payment",
		Handler: bus.ByType(map[string]bus.EventHandler{
			"PaymentSuccess": func(_ context.Context, e event.Event) error {
				fmt.Println("thank", e.AggregateID)
				return nil
			},
			"PaymentRefunded": func(_ context.Context, e event.Event) error {
				return fault.MarkPermanent(errors.New("no such payment"))
			},
		}),
		Hooks: bus.Hooks{OnDeadLetter: func(d bus.Report) {
			fmt.Println("to", d.DeadLetterTopic, "after", d.Attempts, "attempt:", d.Err)
			stop()
		}},
	})
	if err != nil {
		panic(err)
	}
	// The group does not exist before Run or Declare, but it starts at the earliest message.
	for _, typ := range []string{"PaymentSuccess", "PaymentFailed", "PaymentRefunded"} {
		e, err := event.New(typ, "shop", nil)
		if err != nil {
			panic(err)
		}
		e.AggregateType, e.AggregateID = "user", "u-7"
		m, err := event.Structured{}.Encode(e)
		if err != nil {
			panic(err)
		}
		if err := b.Publisher().Publish("payment.events", m); err != nil {
			panic(err)
		}
	}
	fmt.Println(runner.Run(ctx))
	s := runner.Status()[0]
	fmt.Println("running:", s.Running, s.Handled, "handled,", s.Ignored, "ignored,", s.DeadLettered, "dead")
	// Output:
	// thank u-7
	// to dlq.payment after 1 attempt: no such payment
	// <nil>
	// running: false 1 handled, 1 ignored, 1 dead
}

// chat is a subscriber of Watermill: it hands all messages over at once, in order.
type chat []string

func (c chat) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	out := make(chan *message.Message, len(c))
	context.AfterFunc(ctx, func() { close(out) })
	for _, text := range c {
		m := message.NewMessage(text, []byte(text))
		m.Metadata.Set(event.KeyHeader, text[:1])
		out <- m
	}
	return out, nil
}

func (chat) Close() error { return nil }

func ExampleBus_Subscriber() {
	// Any subscriber of Watermill works.
	driver, err := watermillbus.New(watermillbus.Config{
		Publisher: func(context.Context) (message.Publisher, error) { return nil, errors.New("chat only reads") },
		Subscriber: func(context.Context, string) (message.Subscriber, error) {
			return chat{"a: hello", "a: anyone?", "b: hi"}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	b := bus.New("chat", driver)
	defer b.Close()
	d, err := b.Subscriber("screen", bus.SubscriberConfig{Concurrency: 4})
	if err != nil {
		panic(err)
	}
	messages, err := d.Subscribe(context.Background(), "chat")
	if err != nil {
		panic(err)
	}
	first, second := <-messages, <-messages
	fmt.Printf("%s | %s\n", first.Payload, second.Payload) // not the second of room a
	first.Ack()
	fmt.Printf("%s\n", (<-messages).Payload)
	// Output:
	// a: hello | b: hi
	// a: anyone?
}

func ExampleFixedRetry() {
	p := bus.FixedRetry(time.Second, 1)
	fmt.Println(p.MaxRetries, p.Backoff.Delay(1))
	// Output: 1 1s
}

func ExampleBatchConsumer() {
	b, err := bus.Open(context.Background(), "mem://", membus.Scheme())
	if err != nil {
		panic(err)
	}
	defer b.Close()
	for n := range 3 {
		e, err := event.New("Viewed", "shop", nil)
		if err != nil {
			panic(err)
		}
		e.AggregateID = fmt.Sprint("show-", n)
		m, err := event.Structured{}.Encode(e)
		if err != nil {
			panic(err)
		}
		if err := b.Publisher().Publish("product-events", m); err != nil {
			panic(err)
		}
	}

	ctx, stop := context.WithCancel(context.Background())
	runner, err := bus.NewRunner(b, bus.RunnerConfig{Logger: quiet})
	if err != nil {
		panic(err)
	}
	tries := 0
	err = runner.Add(bus.BatchConsumer{
		Topic: "product-events", Group: "views", Size: 3, Wait: time.Second, Retry: bus.FixedRetry(time.Millisecond, 1),
		Handler: bus.HandleBatch(func(_ context.Context, events []event.Event) error {
			tries++
			fmt.Println("batch of", len(events))
			if tries == 2 {
				stop()
				return nil
			}
			failed := bus.BatchError{} // the others are done
			failed[1] = errors.New("lock timeout")
			return failed.OrNil()
		}, "Viewed"),
	})
	if err != nil {
		panic(err)
	}
	if err := runner.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// batch of 3
	// batch of 1
}

// Low is held while high is more than a thousand messages behind.
func ExampleDefaultRetry() {
	p := bus.DefaultRetry()
	p.Backoff.Jitter = 0
	fmt.Println(p.MaxRetries, p.Backoff.Delay(1), p.Backoff.Delay(2), p.Backoff.Delay(3), p.Backoff.Delay(9))
	// Output: 3 1s 2s 4s 10s
}

func ExamplePair() {
	b, err := bus.Open(context.Background(), "mem://", membus.Scheme())
	if err != nil {
		panic(err)
	}
	defer b.Close()
	runner, err := bus.NewRunner(b, bus.RunnerConfig{Logger: quiet})
	if err != nil {
		panic(err)
	}
	refresh := bus.Handle(func(context.Context, event.Event) error { return nil })
	err = runner.Add(bus.Pair{
		High:      bus.Consumer{Topic: "update-priority-high", Group: "high-worker", Handler: refresh},
		Low:       bus.Consumer{Topic: "update-priority-low", Group: "low-worker", Handler: refresh},
		HoldAbove: 1000,
	})
	if err != nil {
		panic(err)
	}
	for _, s := range runner.Status() {
		fmt.Println(s.Group, "running:", s.Running, "held:", s.Held)
	}
	// Output:
	// high-worker running: false held: false
	// low-worker running: false held: false
}

func ExampleNewLagMonitor() {
	ctx := context.Background()
	b, err := bus.Open(ctx, "mem://", membus.Scheme())
	if err != nil {
		panic(err)
	}
	defer b.Close()
	monitor, err := bus.NewLagMonitor(b, bus.LagMonitorConfig{Every: 5 * time.Second})
	if err != nil {
		panic(err)
	}
	show := func() {
		lag, known := monitor.Of("orders", "billing")
		fmt.Println("known:", known, "behind:", lag.Messages)
	}
	show()
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- monitor.Run(running) }() // in an application, until it ends
	stop()
	if err := <-done; err != nil {
		panic(err)
	}
	// Output: known: false behind: 0
}

// The error lists the messages that were not published, for a caller that continues with them.
func ExamplePublishError() {
	err := error(&bus.PublishError{
		Topic: "seats", First: 1, ID: "b", Err: errors.New("message too large"),
		Outcomes: []driver.Outcome{driver.Published, driver.Refused, driver.Published, driver.NotSent},
	})
	var failed *bus.PublishError
	if errors.As(err, &failed) {
		fmt.Println(failed)
		fmt.Println("again:", failed.Unpublished())
	}
	// Output:
	// publish to seats: 2 of 4 messages failed (1 refused, 1 not sent), the first is b: message too large
	// again: [1 3]
}
