package bus_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/internal/spantest"
)

func ExampleNewTracedPublisher() {
	provider := new(spantest.Recorder) // in a program, the SDK's provider and its exporter

	b, err := bus.Open(context.Background(), "mem://", membus.Scheme())
	if err != nil {
		panic(err)
	}
	defer b.Close()
	pub, err := bus.NewTracedPublisher(b.Publisher(), provider, b.System())
	if err != nil {
		panic(err)
	}

	ctx, request := provider.Tracer("shop").Start(context.Background(), "GET /artists/{id}")
	m := message.NewMessage("1", []byte("refresh it"))
	m.SetContext(ctx) // the trace of the message
	if err := pub.Publish("update-priority-high", m); err != nil {
		panic(err)
	}
	sent := provider.Ended()[0]
	fmt.Println(sent.Name(), sent.Parent().SpanID() == request.SpanContext().SpanID(), len(m.Metadata["traceparent"]))
	// Output: send update-priority-high true 55
}
