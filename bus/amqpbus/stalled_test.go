package amqpbus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
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
			require.NoError(t, err)
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
			require.NoError(t, <-closed)

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
			require.NoError(t, rest.Close())
		})
	}
}

// A broker that reads nothing holds Publish up until its context ends, not longer: not in a
// write that it does not accept, and not while it is asked for a channel.
func TestDeadlineEndsPublish(t *testing.T) {
	for name, size := range map[string]int{"write": 100 << 20, "channel": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rabbit(t)
			p := startProxy(t, b)
			stalled := b.openAt(t, amqpbus.Config{}, p.Addr(), "partitions=1")
			topic := unique("topic")
			declare(t, stalled, bus.Topic{Name: topic, Groups: []string{unique("group")}})
			publish(t, stalled, topic, keyed("a", 1)) // so that there is a connection with a channel
			p.Stall(true)
			defer p.Stall(false)
			if name == "channel" { // the present one takes no call after one that failed
				if err := stalled.Publisher().Publish(topic, within(t, 100*time.Millisecond, keyed("a", 2))); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("with a deadline of 100 ms: %v", err)
				}
			}
			late := keyed("b", 1)
			late.Payload = make([]byte, size)
			start := time.Now()
			err := stalled.Publisher().Publish(topic, within(t, 300*time.Millisecond, late))
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > 2*time.Second {
				t.Errorf("with a deadline of 300 ms: after %s: %v", took, err)
			}
		})
	}
}

// within gives a message a deadline.
func within(t *testing.T, d time.Duration, m *message.Message) *message.Message {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	m.SetContext(ctx)
	return m
}

// Requests to a broker that hangs end with their context.
func TestDeadlineEndsRequests(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	p := startProxy(t, b)
	stalled := b.openAt(t, amqpbus.Config{}, p.Addr(), "partitions=1")
	topic, group := unique("topic"), unique("group")
	declare(t, stalled, bus.Topic{Name: topic, Groups: []string{group}})
	p.Stall(true)
	t.Cleanup(func() { p.Stall(false) })
	for name, do := range map[string]func(ctx context.Context) error{
		"ping": stalled.Ping,
		"declare": func(ctx context.Context) error {
			return stalled.Declare(ctx, bus.Topic{Name: topic, Groups: []string{"other"}})
		},
		"source": func(ctx context.Context) error {
			_, err := stalled.Driver().Source(ctx, topic, "another", 1)
			return err
		},
		"lag": func(ctx context.Context) error {
			_, err := stalled.Lag(ctx)
			return err
		},
		"topics": func(ctx context.Context) error {
			_, err := stalled.Topics(ctx, "other")
			return err
		},
		"browse": func(ctx context.Context) error {
			_, err := stalled.Browse(ctx, topic, 1)
			return err
		},
		"pending": func(ctx context.Context) error {
			_, err := stalled.Pending(ctx, topic, driver.RedriveGroup, 1)
			return err
		},
		"groups": func(ctx context.Context) error {
			_, err := stalled.Groups(ctx)
			return err
		},
		"delete": func(ctx context.Context) error { return stalled.DeleteGroup(ctx, topic, group) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // or the connection's heartbeat fails
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			start := time.Now()
			err := do(ctx)
			if took := time.Since(start); fault.Of(err) != fault.Infrastructure || took > 2*time.Second {
				t.Errorf("with a deadline of 300 ms: after %s: %v", took, err)
			}
		})
	}
}
