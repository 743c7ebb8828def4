package migrating_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/examples/migrating"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
)

// line is a transport with a relay before it and a consumer behind it.
type line struct {
	w           *town
	bus         *bus.Bus
	topic       string
	stopRelay   func(drain bool) error
	stopRunner  context.CancelFunc
	runnerEnded chan error
}

const group = "mail"

// open starts the relay and the consumer of a transport.
func (w *town) open(t *testing.T, ctx context.Context, topic, url string, schemes ...bus.Scheme) *line {
	t.Helper()
	b, err := bus.Open(ctx, url, schemes...)
	must(t, err)
	l := &line{w: w, bus: b, topic: topic, runnerEnded: make(chan error, 1)}
	t.Cleanup(func() { must(t, b.Close()) })
	runner, err := bus.NewRunner(b, bus.RunnerConfig{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	must(t, runner.Add(bus.Consumer{
		Topic: topic, Group: group,
		Handler: func(m *message.Message) error { return w.to.Publish(orders, m) },
	}))
	running, stop := context.WithCancel(ctx)
	l.stopRunner = stop
	go func() { l.runnerEnded <- runner.Run(running) }()
	select {
	case <-runner.Running():
	case err := <-l.runnerEnded:
		t.Fatalf("the consumer ended: %v", err)
	}
	l.stopRelay, err = w.relayTo(ctx, b.Publisher())
	must(t, err)
	return l
}

// handled waits until the group has no lag, like an operator that watches
// millrace_consumer_lag.
func (l *line) handled(t *testing.T, ctx context.Context) {
	t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		lags, err := l.bus.Lag(ctx)
		must(t, err)
		left, seen := 0, false
		for _, lag := range lags {
			if lag.Topic == l.topic && lag.Group == group {
				left, seen = left+lag.Messages, true
			}
		}
		if seen && left == 0 {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("the group has %d messages left (seen: %v): %v", left, seen, ctx.Err())
		}
	}
}

func (l *line) stopConsumer(t *testing.T) {
	t.Helper()
	l.stopRunner()
	must(t, <-l.runnerEnded)
}

// TestRedisStreamsToKafka follows docs/operating.md from one transport to the other,
// and back, while eight writers write.
func TestRedisStreamsToKafka(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	redis := servicetest.Redis(t)
	kafka := "kafka://" + servicetest.Kafka(t) + "/"
	topic := "docs-" + rand.Text()
	w, _ := handWritten(t, false)
	box, err := outbox.New(w.store, outbox.Config{Topic: topic, Codec: migrating.Wire{}})
	must(t, err)
	w.box = box
	must(t, w.turns.Turn(ctx, w.db, migrating.New)) // the outbox is the new one throughout
	prefixed := redis + "?prefix=" + topic + ":"
	openRedis := func() *line { return w.open(t, ctx, topic, prefixed, redisbus.Scheme(redisbus.Config{})) }
	openKafka := func() *line { return w.open(t, ctx, topic, kafka, kafkabus.Scheme(kafkabus.Config{})) }

	stopWriters := w.writers(ctx)
	for i, open := range []func() *line{openRedis, openKafka, openRedis} {
		l := open()
		must(t, w.to.until(ctx, w.to.count()+some))
		if i == 2 {
			must(t, stopWriters())
		}
		must(t, l.stopRelay(i == 2))
		l.handled(t, ctx)
		l.stopConsumer(t)
	}
	w.judge(t)
}
