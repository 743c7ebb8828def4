package googlepubsub_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// run runs a consumer of orders for the group billing until the test ends, and declares both
// topics.
func run(t *testing.T, b *bus.Bus, handler func(m *message.Message) error) {
	t.Helper()
	r, err := bus.NewRunner(b, bus.RunnerConfig{})
	require.NoError(t, err)
	require.NoError(t, r.Add(bus.Consumer{Topic: "orders", Group: "billing", Handler: handler}))
	require.NoError(t, b.Declare(t.Context(),
		bus.Topic{Name: "orders", Groups: []string{"billing"}}, bus.Topic{Name: "orders.DLT", Groups: []string{driver.RedriveGroup}}))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
}

func publish(t *testing.T, b *bus.Bus, id string) {
	t.Helper()
	m := message.NewMessage(id, []byte(id))
	m.Metadata.Set(event.KeyHeader, "customer 1")
	require.NoError(t, b.Publisher().Publish("orders", m))
}

// A redrive takes a letter from the middle of a key, and then the others.
func TestRedrive(t *testing.T) {
	t.Parallel()
	b := open(t, fake(t))
	repaired, refused := make(chan struct{}), make(chan string, 3)
	handled := make(chan *message.Message, 3)
	run(t, b, func(m *message.Message) error {
		select {
		case <-repaired:
			handled <- m.Copy()
			return nil
		default:
			refused <- m.UUID
			return fault.MarkPermanent(errors.New("no such customer"))
		}
	})
	for n := range 3 {
		publish(t, b, fmt.Sprint("order ", n))
		require.Equal(t, fmt.Sprint("order ", n), <-refused)
	}
	// A message of the key behind the letters says that all of them are published.
	close(repaired)
	publish(t, b, "order 3")
	require.Equal(t, "order 3", (<-handled).UUID)

	letters, err := redrive.New(b, "orders.DLT", redrive.Config{Wait: time.Second})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// Without a lag, a pass ends when no letter has come for a while, and may have to be repeated.
	again := func(f redrive.Filter, n int) {
		for done := 0; done < n; {
			result, err := letters.Redrive(ctx, f, redrive.Options{})
			require.NoError(t, err)
			done += result.Done
		}
	}
	again(redrive.Filter{IDs: []string{"order 1"}}, 1)
	m := <-handled
	require.Equal(t, "order 1", m.UUID)
	require.Equal(t, message.Metadata{event.KeyHeader: "customer 1", driver.DLQRedrive: "1"}, m.Metadata)
	again(redrive.Filter{All: true}, 2)
	require.ElementsMatch(t, []string{"order 0", "order 2"}, []string{(<-handled).UUID, (<-handled).UUID})
}

// Pub/Sub refuses the stack of a panic, which is longer than an attribute. The letter is
// published without the stack.
func TestALetterFits(t *testing.T) {
	t.Parallel()
	b := open(t, fake(t, limited))
	letters := make(chan *message.Message, 1)
	run(t, b, func(*message.Message) error { panic(fault.MarkPermanent(errors.New("index out of range"))) })
	r, err := bus.NewRunner(b, bus.RunnerConfig{})
	require.NoError(t, err)
	require.NoError(t, r.Add(bus.Consumer{Topic: "orders.DLT", Group: driver.RedriveGroup, Handler: func(m *message.Message) error {
		letters <- m.Copy()
		return nil
	}}))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	publish(t, b, "order 0")
	m := <-letters
	require.Contains(t, m.Metadata[driver.DLQError], "index out of range")
	require.Empty(t, m.Metadata[driver.DLQStack])
	stop()
	require.NoError(t, <-ended)
}
