package redissse_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/redissse"
)

// heard records the calls of a listener. No more comes than a test expects, so that
// no channel of it is ever full.
type heard struct {
	t        *testing.T
	messages chan driver.Message
	ups      chan struct{}
	downs    chan struct{}
	stop     context.CancelFunc
	ended    chan error
}

// listen begins to hear, and returns when it does. It ends with the test.
func listen(t *testing.T, b driver.Broker) *heard {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	h := &heard{
		t: t, stop: stop, ended: make(chan error, 1),
		messages: make(chan driver.Message, 10_000), ups: make(chan struct{}, 100), downs: make(chan struct{}, 100),
	}
	var over sync.WaitGroup
	over.Go(func() {
		h.ended <- b.Listen(ctx, driver.Listener{
			Hear: func(m driver.Message) { h.messages <- m },
			Up:   func() { h.ups <- struct{}{} },
			Down: func() { h.downs <- struct{}{} },
		})
	})
	t.Cleanup(func() {
		stop()
		over.Wait()
	})
	wait(t, "up", h.ups)
	return h
}

// wait takes the next value, which must come. The limit is far longer than it takes.
func wait[T any](t *testing.T, what string, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(30 * time.Second):
		t.Fatalf("no %s", what)
	}
	return got
}

// TestListenEnds returns nil when its context ends, and an error when the client does.
func TestListenEnds(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			h := listen(t, newBroker(t, client, brokerPrefix(t, client)))
			h.stop()
			assert.NoError(t, wait(t, "end", h.ended), "ended with")
			assert.Equal(t, 0, len(h.downs), "its end was said to be a loss")
		})
	}
	t.Run("closed client", func(t *testing.T) {
		t.Parallel()
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1})
		require.NoError(t, client.Close())
		err := newBroker(t, client, redissse.Config{}).Listen(t.Context(), driver.Listener{
			Hear: func(driver.Message) {}, Up: func() {}, Down: func() {},
		})
		assert.ErrorIs(t, err, redis.ErrClosed, "ended with")
	})
}
