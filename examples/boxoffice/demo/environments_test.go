package demo

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
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// TestTwoEnvironments: two box offices sell at the same time over one broker, with the
// same topics and groups. A prefix separates them: each receives its own events, all of
// them, and its own dead letters.
func TestTwoEnvironments(t *testing.T) {
	for name, broker := range map[string]func(t testing.TB) string{
		"RabbitMQ": servicetest.RabbitMQ,
		"Kafka":    func(t testing.TB) string { return "kafka://" + servicetest.Kafka(t) + "/" },
	} {
		t.Run(name, func(t *testing.T) { twoEnvironments(t, broker(t)) })
	}
}

func twoEnvironments(t *testing.T, url string) {
	program, err := launch.Build(t.Context(), t.TempDir(), launch.Boxoffice)
	require.NoError(t, err)
	east, west := url+"?prefix=east.", url+"?prefix=west."
	var both sync.WaitGroup
	for _, bus := range []string{east, west} {
		cfg, err := parse([]string{"--plain", "--fans", "15", "--think", "20ms", "--hold", "3s", "--threshold", "3", "--bus-url", bus}, &bytes.Buffer{})
		require.NoError(t, err)
		cfg.program, cfg.temp = program, t.TempDir()
		both.Go(func() {
			var out, errs bytes.Buffer
			if code := run(t.Context(), cfg, screen.New(&out, true), &errs); code != 0 || !strings.Contains(out.String(), "OK: all 37 checks hold") {
				t.Errorf("exit %d\n%s\n%s", code, out.String(), errs.String())
			}
		})
	}
	both.Wait()
	lettersStayApart(t, east, west)
}

// lettersStayApart makes an event of east fail. The letter, its lag and the redriven
// event are east's alone.
func lettersStayApart(t *testing.T, eastURL, westURL string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	topic := "apart-" + uuid.NewString()
	east, west := environment(ctx, t, eastURL, topic), environment(ctx, t, westURL, topic)
	east.publish(t, "fails")
	require.Equal(t, "fails", east.next(ctx, t))
	for {
		listing, err := east.letters.List(ctx, redrive.Filter{All: true}, 10)
		require.NoError(t, err)
		if len(listing.Letters) == 1 {
			break
		}
	}
	require.Equal(t, 1, east.lag(ctx, t))
	require.Zero(t, west.lag(ctx, t))
	for of, want := range map[*office]int{west: 0, east: 1} {
		done, err := of.letters.Redrive(ctx, redrive.Filter{All: true}, redrive.Options{})
		require.NoError(t, err)
		require.Equal(t, want, done.Done)
	}
	require.Equal(t, "fails", east.next(ctx, t))
	// The first that west handles is its own.
	west.publish(t, "of west")
	require.Equal(t, "of west", west.next(ctx, t))
}

// office is an environment's bus, with a consumer that fails at the first event "fails".
type office struct {
	bus     *bus.Bus
	topic   string
	letters *redrive.Letters
	handled chan string
}

func environment(ctx context.Context, t *testing.T, url, topic string) *office {
	t.Helper()
	b, err := bus.Open(ctx, url, allbus.Schemes(allbus.Config{})...)
	require.NoError(t, err)
	quiet := slog.New(slog.DiscardHandler)
	r, err := bus.NewRunner(b, bus.RunnerConfig{Logger: quiet})
	require.NoError(t, err)
	o := &office{bus: b, topic: topic, handled: make(chan string, 10)}
	failed := false
	require.NoError(t, r.Add(bus.Consumer{Topic: topic, Group: "group", Concurrency: 1, Handler: func(m *message.Message) error {
		payload := string(m.Payload)
		o.handled <- payload
		if payload == "fails" && !failed {
			failed = true
			return fault.MarkPermanent(errors.New("planted"))
		}
		return nil
	}}))
	o.letters, err = redrive.New(b, topic+".DLT", redrive.Config{})
	require.NoError(t, err)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(running) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, errors.Join(<-ended, b.Close()))
	})
	select {
	case <-r.Running():
	case <-ctx.Done():
		t.Fatal("the consumer does not start")
	}
	return o
}

func (o *office) publish(t *testing.T, payload string) {
	t.Helper()
	m := message.NewMessage(uuid.NewString(), []byte(payload))
	m.Metadata.Set(event.KeyHeader, "key")
	require.NoError(t, o.bus.Publisher().Publish(o.topic, m))
}

func (o *office) next(ctx context.Context, t *testing.T) string {
	t.Helper()
	select {
	case payload := <-o.handled:
		return payload
	case <-ctx.Done():
		t.Fatal("no event came")
		return ""
	}
}

// lag is how many letters wait.
func (o *office) lag(ctx context.Context, t *testing.T) int {
	t.Helper()
	all, err := o.bus.Lag(ctx)
	require.NoError(t, err)
	for _, l := range all {
		if l.Topic == o.topic+".DLT" && l.Group == driver.RedriveGroup {
			return l.Messages
		}
	}
	t.Fatalf("the lag of %s is missing: %v", o.topic+".DLT", all)
	return 0
}
