package allbus_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/event"
)

// A message that waits in the window has no goroutine: a consumer has Concurrency goroutines,
// and its transport one for each partition and a few more, for any window. sns:// is missing:
// its stand-in for SNS is in the process, and its consumers are those of sqs://.
func TestGoroutinesOfAConsumer(t *testing.T) {
	const (
		concurrency = 8
		waiting     = 1000
		few         = 24 // partitions, members, connections, clients
	)
	for _, name := range []string{"mem", "sqlite", "postgres", "mysql", "redis", "amqp", "kafka", "sqs"} {
		t.Run(name, func(t *testing.T) {
			topic := "t-" + uuid.NewString()
			b, err := bus.Open(t.Context(), urls()[name](t, topic), allbus.Schemes(allbus.Config{})...)
			require.NoError(t, err)
			defer func() {
				assert.NoError(t, b.Close())
			}()
			var all []*message.Message
			for n := range waiting {
				m := message.NewMessage(uuid.NewString(), []byte("x"))
				m.Metadata.Set(event.KeyHeader, fmt.Sprint("key-", n%100))
				all = append(all, m)
			}
			require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}))
			require.NoError(t, b.Publisher().Publish(topic, all...))
			r, err := bus.NewRunner(b, bus.RunnerConfig{})
			require.NoError(t, err)
			var handled atomic.Int32
			busy, open := make(chan struct{}, concurrency), make(chan struct{})
			err = r.Add(bus.Consumer{Topic: topic, Group: group, Concurrency: concurrency, Window: 1024, Handler: func(*message.Message) error {
				if handled.Add(1) <= concurrency {
					busy <- struct{}{}
					<-open
				}
				return nil
			}})
			require.NoError(t, err)
			before := runtime.NumGoroutine()
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- r.Run(ctx) }()
			for range concurrency {
				<-busy
			}
			// The window fills from now on; a goroutine for each message would show at the first
			// look or soon after.
			deadline := time.Now().Add(2 * time.Second)
			most := 0
			for time.Now().Before(deadline) {
				most = max(most, runtime.NumGoroutine()-before)
				<-time.After(20 * time.Millisecond)
			}
			t.Logf("%d goroutines", most)
			if most > concurrency+few {
				t.Errorf("a consumer of concurrency %d has %d goroutines more, want at most %d", concurrency, most, concurrency+few)
			}
			close(open)
			stop()
			assert.NoError(t, <-ended)
		})
	}
}
