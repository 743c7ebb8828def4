package watermillbus_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/bus/watermillbus"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inMemory is a Watermill Pub/Sub with groups: package membus without the engine.
func inMemory(store driver.Driver) watermillbus.Config {
	return watermillbus.Config{
		Publisher: func(context.Context) (message.Publisher, error) { return unclosed{store.Publisher()}, nil },
		Subscriber: func(_ context.Context, group string) (message.Subscriber, error) {
			return sourcetest.Subscriber(store, group, 1024), nil
		},
		Declare:      func(ctx context.Context, t bus.Topic) error { return store.Declare(ctx, t) },
		Capabilities: store.Capabilities(),
	}
}

// unclosed is the publisher of a store that others use too.
type unclosed struct{ message.Publisher }

func (unclosed) Close() error { return nil }

// looking is a transport that shows its messages, as its broker's own tools can.
type looking struct {
	watermillbus.Driver
	driver.Lagger
	driver.Inspector
	driver.TopicFinder
}

func TestConformance(t *testing.T) {
	stores := map[*bus.Bus]driver.Driver{}
	over := func(t *testing.T, store driver.Driver) *bus.Bus {
		d, err := watermillbus.New(inMemory(store))
		require.NoError(t, err)
		b := bus.New("in-memory", looking{d, store.(driver.Lagger), store.(driver.Inspector), store.(driver.TopicFinder)})
		stores[b] = store
		return b
	}
	scheme := watermillbus.Scheme("in-memory", func(_ context.Context, u *url.URL) (watermillbus.Config, error) {
		p := driver.NewParams(u)
		p.String("known", "")
		return watermillbus.Config{}, p.Err()
	})
	bustest.Run(t, func(t *testing.T) *bus.Bus { return over(t, memory(t)) },
		bustest.Again(func(t *testing.T, b *bus.Bus) *bus.Bus { return over(t, stores[b]) }),
		bustest.URL("in-memory://", scheme))
}

// memory is a store of its own, closed with the test.
func memory(t *testing.T) driver.Driver {
	t.Helper()
	store, err := membus.Scheme().Open(t.Context(), &url.URL{Scheme: "mem"})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, store.Close(), "close the store")
	})
	return store
}
