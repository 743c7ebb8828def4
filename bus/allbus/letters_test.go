package allbus_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// verbose is an error with a long text and a long stack.
type verbose struct{}

func (verbose) Error() string { return strings.Repeat("no such seat ", 1000) }

func (v verbose) Format(f fmt.State, _ rune) {
	fmt.Fprint(f, v.Error(), strings.Repeat("\nmain.load\n\tload.go:42", 1000))
}

// The largest message that a transport accepts becomes a dead letter, if necessary without its
// stack, and other messages go on. Kafka is missing: there the broker sets the limit of a topic.
func TestTheLargestMessageHasItsDeadLetter(t *testing.T) {
	noise := make([]byte, 2<<20)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	payload := func(n int) *message.Message { return message.NewMessage(uuid.NewString(), noise[:n]) }
	metadata := func(n int) *message.Message {
		m := message.NewMessage(uuid.NewString(), []byte("x"))
		m.Metadata.Set("long", strings.Repeat("x", n))
		return m
	}
	for name, large := range map[string]func(n int) *message.Message{
		"mem": payload, "sqlite": payload, "postgres": payload, "mysql": payload, "redis": payload, "sqs": payload, "sns": payload,
		"amqp": metadata,
	} {
		t.Run(name, func(t *testing.T) {
			topic := "t-" + uuid.NewString()
			b, err := bus.Open(t.Context(), urls()[name](t, topic), allbus.Schemes(allbus.Config{})...)
			require.NoError(t, err)
			defer func() {
				assert.NoError(t, b.Close())
			}()
			// A group reads the dead letters, since some transports cannot be browsed.
			const reader = "reader"
			err = b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}, bus.Topic{Name: topic + ".DLT", Groups: []string{reader}})
			require.NoError(t, err)
			took := 0
			for low, high := 0, len(noise); low <= high; {
				n := (low + high) / 2
				m := large(n)
				m.Metadata.Set(event.KeyHeader, "large")
				switch err := b.Publisher().Publish(topic, m); {
				case err == nil:
					took, low = took+1, n+1
				case fault.Of(err) == fault.Permanent:
					high = n - 1
				default:
					t.Fatalf("%d bytes: %v", n, err)
				}
			}
			for i := range 20 {
				m := message.NewMessage(uuid.NewString(), []byte("small"))
				m.Metadata.Set(event.KeyHeader, fmt.Sprint(i))
				require.NoError(t, b.Publisher().Publish(topic, m))
			}
			letters := make(chan *message.Message, took)
			small := make(chan string, 20)
			r, err := bus.NewRunner(b, bus.RunnerConfig{})
			require.NoError(t, err)
			failing := bus.Consumer{Topic: topic, Group: group, Handler: func(m *message.Message) error {
				if event.Key(m) == "large" {
					return fault.MarkPermanent(verbose{})
				}
				small <- m.UUID
				return nil
			}}
			reading := bus.Consumer{Topic: topic + ".DLT", Group: reader, Handler: func(m *message.Message) error {
				letters <- m
				return nil
			}}
			require.NoError(t, errors.Join(r.Add(failing), r.Add(reading)))
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- r.Run(ctx) }()
			defer func() {
				stop()
				if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}()
			limit := time.After(time.Minute)
			var sizes []int
			for range took {
				select {
				case m := <-letters:
					if m.Metadata[driver.DLQOriginalTopic] != topic || m.Metadata[driver.DLQError] == "" {
						t.Errorf("a dead letter's metadata are %v", m.Metadata)
					}
					sizes = append(sizes, max(len(m.Payload), len(m.Metadata["long"])))
				case <-limit:
					t.Fatalf("%d of %d dead letters within a minute; %+v", len(sizes), took, r.Status())
				}
			}
			for n := range 20 {
				select {
				case <-small:
				case <-limit:
					t.Fatalf("%d of 20 small messages were handled", n)
				}
			}
			t.Logf("the largest of %d had %d bytes", took, slices.Max(sizes))
		})
	}
}
