package secrettest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/memsse"
)

// secret is in every payload, password and header of this file.
const secret = "hunter2"

// output is the log, on all levels.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (o *output) logger() *slog.Logger {
	return slog.New(eventlog.NewHandler(slog.NewTextHandler(o, &slog.HandlerOptions{Level: slog.Level(-1000)})))
}

// tells expects all of these lines in the log, and the secret nowhere.
func (o *output) tells(t *testing.T, lines ...string) {
	t.Helper()
	said := o.String()
	assert.NotContainsf(t, strings.ToLower(said), secret, "a secret was logged:\n%s", said)
	for _, line := range lines {
		assert.Contains(t, said, line, "was not logged")
	}
}

func secretEvent(t *testing.T, data any) event.Event {
	t.Helper()
	e, err := event.New("T", "/test", data)
	require.NoError(t, err)
	e.AggregateID, e.CorrelationID = "a-1", "request-1"
	e.Extensions = map[string]string{"token": secret}
	return e
}

// A consumer handles, retries, pauses and dead-letters, and logs no payload.
func TestConsumersTellNoSecrets(t *testing.T) {
	var out output
	b, err := bus.Open(t.Context(), "mem://", membus.Scheme())
	require.NoError(t, err)
	r, err := bus.NewRunner(b, bus.RunnerConfig{Logger: out.logger()})
	require.NoError(t, err)
	exact := bus.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Multiplier: 1}
	runs, letters := 0, make(chan struct{}, 4)
	hooks := bus.Hooks{OnDeadLetter: func(bus.Report) { letters <- struct{}{} }}
	for _, c := range []bus.AnyConsumer{
		bus.Consumer{Topic: "t", Group: "g", Retry: bus.RetryPolicy{MaxRetries: 1, Backoff: exact, Probe: exact}, Hooks: hooks,
			Handler: bus.Handle(func(_ context.Context, e event.Event) error {
				switch runs++; runs {
				case 1:
					return errors.New("timed out")
				case 2, 3:
					return fault.MarkInfrastructure(errors.New("away"))
				}
				var number struct{ Text int }
				return e.UnmarshalData(&number) // the data is a text
			})},
		bus.BatchConsumer{Topic: "t", Group: "batches", Wait: -1, Hooks: hooks, Handler: bus.HandleBatch(func(_ context.Context, all []event.Event) error {
			failed := bus.BatchError{}
			for i, e := range all {
				var number struct{ Text int }
				if err := e.UnmarshalData(&number); err != nil {
					failed[i] = err
				}
			}
			return failed.OrNil()
		})},
	} {
		require.NoError(t, r.Add(c))
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	<-r.Running()
	e := secretEvent(t, map[string]string{"text": secret})
	m, err := event.Structured{}.Encode(e)
	require.NoError(t, err)
	m.Metadata["authorization"] = "Bearer " + secret
	broken := message.NewMessage("broken", []byte(`{"specversion":"1.0","`+secret))
	broken.Metadata["content-type"] = "application/cloudevents+json"
	require.NoError(t, b.Publisher().Publish("t", m, broken))
	for range 4 {
		<-letters
	}
	cancel()
	require.NoError(t, errors.Join(<-done, b.Close()))
	out.tells(t, "will be retried", "consumer paused", "consumer stays paused", "became a dead letter", "event_id="+e.ID, "correlation_id=request-1", "event_id=broken")
}

// A relay that cannot publish, and parks, logs no payload.
func TestRelaysTellNoSecrets(t *testing.T) {
	var out output
	store := outboxtest.NewMemory(1)
	box, err := outbox.New(store, outbox.Config{Topic: "t", Logger: out.logger()})
	require.NoError(t, err)
	e := secretEvent(t, secret)
	require.NoError(t, store.Do(t.Context(), func(ctx context.Context, tx sqltx.Execer) error { return box.Append(ctx, tx, e) }))
	away := 1
	relay, err := outbox.NewRelay(store, publishFunc(func(topic string) error {
		if away--; away >= 0 {
			return fault.MarkInfrastructure(errors.New("the broker is away"))
		}
		return fault.MarkPermanent(errors.New("refused"))
	}), outbox.RelayConfig{
		MaxRetries: 1, Retry: outbox.Backoff{Initial: 1, Max: 1, Jitter: -1}, Pause: outbox.Backoff{Initial: 1, Max: 1, Jitter: -1},
		DeadLetter: func(topic string) string { return topic + ".DLT" }, Logger: out.logger(),
	})
	require.NoError(t, err)
	require.NoError(t, relay.Drain(t.Context()))
	out.tells(t, "unreachable", "the dead letter is refused", "parked an event", "event_id="+e.ID, "correlation_id=request-1")
}

type publishFunc func(topic string) error

func (f publishFunc) Publish(topic string, _ ...*message.Message) error { return f(topic) }
func (publishFunc) Close() error                                        { return nil }

// silent is a broker that is unreachable.
type silent struct{ driver.Broker }

func (silent) Publish(context.Context, driver.Message) error { return errors.New("the broker is away") }

func TestStreamsTellNoSecrets(t *testing.T) {
	var out output
	members, broker := memsse.New()
	hub, err := sse.New(members, silent{broker}, sse.Config{Logger: out.logger()})
	require.NoError(t, err)
	for _, err := range []error{
		hub.ToMember(t.Context(), "ann", sse.Event{Name: "notification", ID: "1", Data: []byte(secret)}),
		hub.ToMember(t.Context(), "ann", sse.Event{Name: "other", ID: "1", Data: []byte(secret)}),
	} {
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%v", err)
		}
	}
	out.tells(t)
}

// Unreachable transports hide the passwords of their URLs, in errors and logs.
func TestTransportsTellNoPasswords(t *testing.T) {
	for scheme, url := range map[string]string{
		"postgres": "postgres://user:" + secret + "@127.0.0.1:1/db",
		"mysql":    "mysql://user:" + secret + "@127.0.0.1:1/db",
		"redis":    "redis://user:" + secret + "@127.0.0.1:1/0",
		"nats":     "nats://user:" + secret + "@127.0.0.1:1",
		"amqp":     "amqp://user:" + secret + "@127.0.0.1:1/",
		"kafka":    "kafka://user:" + secret + "@127.0.0.1:1/",
	} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			var out output
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			log := out.logger()
			b, err := bus.Open(ctx, url, allbus.Schemes(allbus.Config{Logger: log})...)
			if err == nil {
				err = errors.Join(b.Declare(ctx, bus.Topic{Name: "t", Groups: []string{"g"}}), b.Publisher().Publish("t", within(ctx)), b.Close())
			}
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("the error is %v", err)
			}
			out.tells(t)
		})
	}
}

func within(ctx context.Context) *message.Message {
	m := message.NewMessage("1", []byte(secret))
	m.SetContext(ctx)
	return m
}
