package redrive_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

func ExampleNew() {
	ctx := context.Background()
	b, err := bus.Open(ctx, "mem://", membus.Scheme())
	if err != nil {
		panic(err)
	}
	defer b.Close()

	// A consumer that fails a payment permanently.
	running, stop := context.WithCancel(ctx)
	r, err := bus.NewRunner(b, bus.RunnerConfig{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	err = r.Add(bus.Consumer{
		Topic: "payment.events", Group: "mailer", DeadLetter: "dlq.payment",
		Handler: bus.Handle(func(context.Context, event.Event) error {
			return fault.MarkPermanent(fmt.Errorf("no such address"))
		}),
		Hooks: bus.Hooks{OnDeadLetter: func(bus.Report) { stop() }},
	})
	if err != nil {
		panic(err)
	}
	e, err := event.New("PaymentSuccess", "shop", map[string]string{"to": "nobody"})
	if err != nil {
		panic(err)
	}
	e.ID = "payment-1"
	m, err := event.Structured{}.Encode(e)
	if err != nil {
		panic(err)
	}
	if err := b.Publisher().Publish("payment.events", m); err != nil {
		panic(err)
	}
	if err := r.Run(running); err != nil {
		panic(err)
	}

	letters, err := redrive.New(b, "dlq.payment", redrive.Config{})
	if err != nil {
		panic(err)
	}
	listing, err := letters.List(ctx, redrive.Filter{Group: "mailer"}, 10)
	if err != nil {
		panic(err)
	}
	for _, l := range listing.Letters {
		fmt.Println(l.ID, l.Type, "from", l.OriginalTopic, "failed:", l.Reason, l.Error)
	}
	result, err := letters.Redrive(ctx, redrive.Filter{IDs: []string{"payment-1"}}, redrive.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println("redriven:", result.Done)
	_, err = letters.Show(ctx, "payment-1")
	fmt.Println(err)
	// Output:
	// payment-1 PaymentSuccess from payment.events failed: PERMANENT no such address
	// redriven: 1
	// redrive: no such dead letter: payment-1 in dlq.payment
}
