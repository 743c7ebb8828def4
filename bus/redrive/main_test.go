package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const dlt = "orders.DLT"

// memBus opens an in-memory bus that is closed with the test.
func memBus(t *testing.T) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), "mem://", membus.Scheme())
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close(), "close the bus")
	})
	return b
}

// plain is membus without its unique ability to show pending messages.
type plain struct{ driver.Driver }

func (p plain) Lag(ctx context.Context) ([]bus.Lag, error) { return p.Driver.(driver.Lagger).Lag(ctx) }

// blind is membus that cannot tell its lag either.
type blind struct{ driver.Driver }

// each runs the test on a transport that can show pending messages, on one that can only read
// them, and on one that does not know their number.
func each(t *testing.T, test func(t *testing.T, b *bus.Bus)) {
	for name, wrap := range map[string]func(driver.Driver) driver.Driver{
		"pender": func(d driver.Driver) driver.Driver { return d },
		"plain":  func(d driver.Driver) driver.Driver { return plain{d} },
		"blind":  func(d driver.Driver) driver.Driver { return blind{d} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, bus.New(name, wrap(memBus(t).Driver()))) })
		})
	}
}

func letters(t *testing.T, b *bus.Bus) *redrive.Letters {
	t.Helper()
	l, err := redrive.New(b, dlt, redrive.Config{})
	require.NoError(t, err)
	return l
}

// dead makes a dead letter of an event of the type; its id is id.
func dead(t *testing.T, id, typ string) *message.Message {
	t.Helper()
	e, err := event.New(typ, "test", map[string]string{"of": id})
	require.NoError(t, err)
	e.ID, e.AggregateID = id, "key"
	m, err := event.Structured{}.Encode(e)
	require.NoError(t, err)
	m.Metadata.Set("custom", "header of "+id)
	return buried(m)
}

// buried adds the metadata that a consumer writes into a dead letter.
func buried(m *message.Message) *message.Message {
	for k, v := range map[string]string{
		driver.DLQOriginalTopic: "orders", driver.DLQGroup: "billing", driver.DLQReason: bus.ReasonExhausted,
		driver.DLQClass: "transient", driver.DLQError: "timeout", driver.DLQStack: "main.go:1", driver.DLQAttempts: "4",
		driver.DLQFirstFailure: "2026-03-01T10:00:00Z", driver.DLQLastFailure: "2026-03-01T10:00:07.5Z", driver.DLQWorker: "w-1",
	} {
		m.Metadata.Set(k, v)
	}
	return m
}

// bury publishes dead letters with these ids.
func bury(t *testing.T, b *bus.Bus, ids ...string) {
	t.Helper()
	for _, id := range ids {
		publish(t, b, dlt, dead(t, id, "OrderPlaced"))
	}
}

var publish = sourcetest.Publish

func numbers(from, to int) (ids []string) {
	for n := from; n <= to; n++ {
		ids = append(ids, strconv.Itoa(n))
	}
	return ids
}

// pending lists the ids of the pending letters.
func pending(t *testing.T, b *bus.Bus) string {
	t.Helper()
	got, err := letters(t, b).List(t.Context(), redrive.Filter{}, 0)
	require.NoError(t, err)
	var ids []string
	for _, l := range got.Letters {
		ids = append(ids, l.ID)
	}
	return strings.Join(ids, " ")
}

// delivered lists the ids that were published to the original topic.
func delivered(t *testing.T, b *bus.Bus) string {
	t.Helper()
	var ids []string
	for _, m := range received(t, b, "orders") {
		ids = append(ids, m.UUID)
	}
	return strings.Join(ids, " ")
}

// received returns all messages of a topic, read by a group of its own.
func received(t *testing.T, b *bus.Bus, topic string) (all []*message.Message) {
	t.Helper()
	sub := sourcetest.Subscriber(b.Driver(), fmt.Sprint("reader", time.Now().UnixNano()), 10_000)
	defer sub.Close()
	ch, err := sub.Subscribe(context.Background(), topic)
	require.NoError(t, err)
	for {
		synctest.Wait()
		select {
		case m := <-ch:
			all = append(all, m)
		default:
			return all
		}
	}
}

func is(t *testing.T, what, got, want string) {
	t.Helper()
	assert.Equalf(t, want, got, "%s", what)
}

// run starts a consumer and returns a function that stops it.
func run(t *testing.T, b *bus.Bus, c bus.Consumer) (stop func()) {
	t.Helper()
	r, err := bus.NewRunner(b, bus.RunnerConfig{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, r.Add(c))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	<-r.Running()
	return func() {
		cancel()
		assert.NoError(t, <-done)
	}
}

var errRefused = errors.New("refused")
