package rediswatermill_test

import (
	"context"
	"log/slog"
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/bus/redisbus/rediswatermill"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestMain(m *testing.M) {
	// The reader of Watermill's own subscriber sleeps after its client was closed.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream.(*Subscriber).read"))
}

var quiet = slog.New(slog.DiscardHandler)

func schemes(cfg rediswatermill.Config) []bus.Scheme {
	return []bus.Scheme{rediswatermill.Scheme(redisbus.Config{Logger: quiet}, cfg)}
}

func openBus(t *testing.T, raw string) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), raw, schemes(rediswatermill.Config{})...)
	require.NoError(t, err)
	return b
}

// inMode adds the mode to a URL.
func inMode(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	q := u.Query()
	q.Set("mode", "watermill")
	u.RawQuery = q.Encode()
	return u.String()
}

// server connects to the shared server. The test's keys there have names of its own, and
// are deleted at its end.
func server(t *testing.T) (raw string, client *redis.Client) {
	t.Helper()
	raw = servicetest.Redis(t)
	options, err := redis.ParseURL(raw)
	require.NoError(t, err)
	client = redis.NewClient(options)
	t.Cleanup(func() {
		assert.NoError(t, client.Close())
	})
	return raw, client
}

// topic returns a name that is deleted with the test.
func topic(t *testing.T, client *redis.Client) string {
	t.Helper()
	name := "topic-" + uuid.NewString()
	t.Cleanup(func() {
		assert.NoError(t, client.Unlink(context.Background(), name).Err())
	})
	return name
}

func TestConformance(t *testing.T) {
	raw := servicetest.Redis(t)
	open := func(t *testing.T) *bus.Bus { return openBus(t, inMode(t, raw)) }
	bustest.Run(t, open, bustest.Quick(),
		bustest.Again(func(t *testing.T, _ *bus.Bus) *bus.Bus { return open(t) }),
		bustest.URL("redis://127.0.0.1:1/?mode=watermill&", schemes(rediswatermill.Config{})...), // parameters are checked before anything is opened
		bustest.Absent(func(t *testing.T, address string) (*bus.Bus, string) {
			moved, server := servicetest.Elsewhere(t, raw, address)
			return openBus(t, inMode(t, moved)), server
		}))
}
