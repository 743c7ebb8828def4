package amqpbus_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// A broker that is slow while a consumer stops receives all acknowledgements in one burst, more
// of them than a quorum queue takes from a channel at once. It loses none.
func TestAnOrderlyStopBehindASlowBroker(t *testing.T) {
	for _, kind := range []string{"quorum", "classic"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const messages = 400
			b := rabbit(t)
			p := startProxy(t, b)
			query := "partitions=1&prefetch=400&queue_type=" + kind
			topic, group := unique("topic"), unique("group")
			publisher, stopping := b.open(t, amqpbus.Config{}, query), b.openAt(t, amqpbus.Config{}, p.Addr(), query)
			declare(t, publisher, bus.Topic{Name: topic, Groups: []string{group}})
			var all []*message.Message
			for n := range messages {
				all = append(all, keyed(keyName(n), 1))
			}
			publish(t, publisher, topic, all...)

			sub := sourcetest.Subscriber(stopping.Driver(), group, messages)
			ch, err := sub.Subscribe(t.Context(), topic)
			if err != nil {
				t.Fatal(err)
			}
			var taken []*message.Message
			for range messages {
				taken = append(taken, next(t, ch))
			}
			p.Stall(true)
			handled := map[string]bool{}
			for i, m := range taken {
				if i%2 == 1 { // each behind a gap, so that it is acknowledged in a frame of its own
					m.Ack()
					handled[m.UUID] = true
				}
			}
			closed := make(chan error, 1)
			go func() { closed <- sub.Close() }()
			time.AfterFunc(500*time.Millisecond, func() { p.Stall(false) }) // the fault, whatever comes within it
			if err := <-closed; err != nil {
				t.Fatal(err)
			}

			rest := sourcetest.Subscriber(publisher.Driver(), group, messages)
			if ch, err = rest.Subscribe(t.Context(), topic); err != nil {
				t.Fatal(err)
			}
			again := 0
			for left := messages - len(handled); left > 0; {
				m := next(t, ch)
				if m.Ack(); handled[m.UUID] {
					again++
				} else {
					left--
				}
			}
			if again > 0 {
				t.Errorf("%d of %d messages came again after they were acknowledged", again, len(handled))
			}
			if err := rest.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
