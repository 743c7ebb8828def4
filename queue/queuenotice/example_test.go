package queuenotice_test

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/queuenotice"
)

func ExampleNew() {
	ctx, cancel := context.WithCancel(context.Background())
	b, err := bus.Open(ctx, "mem://", membus.Scheme())
	if err != nil {
		panic(err)
	}
	defer b.Close()
	notices, err := queuenotice.New(b.Publisher(), queuenotice.Config{})
	if err != nil {
		panic(err)
	}
	// A room with Config{Notify: notices.Notify} does this.
	notices.Notify(queue.Notice{Event: "show-1", User: "ada", Entry: queue.Entry{ID: "1.1"}})
	cancel()
	if err := notices.Run(ctx); err != nil { // publishes the buffered notices, and ends
		panic(err)
	}
	fmt.Println(notices.Counts())
	// Output: 1 0
}
