package logsub_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	topic = "topic"
	group = "group"
	ttl   = 10 * time.Second // the default
)

// instance is one process's hub with its Run.
type instance struct {
	*logsub.Hub
	t    *testing.T
	link *link
	end  func() // ends Run
}

// start makes an instance on the memory. t.Cleanup closes it with the test's function, inside
// the bubble.
func start(t *testing.T, m *memory, cfg logsub.Config) *instance {
	t.Helper()
	cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	l := m.connect()
	hub, err := logsub.New(l.backend(), cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- hub.Run(ctx) }()
	i := &instance{Hub: hub, t: t, link: l}
	i.end = func() {
		cancel()
		assert.NoError(t, <-ran, "Run")
		ran <- nil
	}
	t.Cleanup(func() {
		hub.Close() // it may be cut off and fail
		i.end()
	})
	return i
}

// subscribe joins the group on the topic.
func (i *instance) subscribe(window int) *logsub.Source {
	i.t.Helper()
	s, err := i.Source(context.WithoutCancel(i.t.Context()), topic, group, window)
	if err != nil {
		i.t.Fatal(err)
	}
	return s
}

// publish publishes messages "key#n", one call each.
func (i *instance) publish(payloads ...string) {
	i.t.Helper()
	for _, p := range payloads {
		if err := i.Publisher().Publish(topic, msg(p)); err != nil {
			i.t.Fatal(err)
		}
	}
}

func msg(payload string) *message.Message {
	key, _, _ := strings.Cut(payload, "#")
	m := message.NewMessage(payload, []byte(payload))
	if key != "" {
		m.Metadata.Set(event.KeyHeader, key)
	}
	return m
}

// series returns key#from … key#to.
func series(key string, from, to int) (out []string) {
	for n := from; n <= to; n++ {
		out = append(out, fmt.Sprintf("%s#%d", key, n))
	}
	return out
}

// text returns the payload of a delivery.
func text(d driver.Delivery) string { return string(d.Message().Payload) }

// fetch receives one message, or nil when none arrives in time. The timeout is a timer's
// channel: the race detector of Go 1.26 sometimes fails in goroutines that a bubble's timers
// start, as those of contexts do.
func fetch(t *testing.T, s *logsub.Source, d time.Duration) driver.Delivery {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
	defer cancel(nil)
	go func() {
		select {
		case <-time.After(d):
			cancel(context.DeadlineExceeded)
		case <-ctx.Done():
		}
	}()
	deliveries, err := s.Fetch(ctx, 1)
	switch {
	case err == nil && len(deliveries) == 1:
		return deliveries[0]
	case errors.Is(err, context.DeadlineExceeded):
		return nil
	}
	t.Fatalf("%d deliveries, %v", len(deliveries), err)
	return nil
}

// next receives one message within an hour of the bubble.
func next(t *testing.T, s *logsub.Source) driver.Delivery {
	t.Helper()
	d := fetch(t, s, time.Hour)
	if d == nil {
		t.Fatal("no message within an hour")
	}
	return d
}

// expect receives the messages in this order and acknowledges them.
func expect(t *testing.T, s *logsub.Source, payloads ...string) {
	t.Helper()
	for _, want := range payloads {
		d := next(t, s)
		require.Equal(t, want, text(d))
		d.Done()
	}
}

// silent checks that no message arrives for a while.
func silent(t *testing.T, s *logsub.Source, d time.Duration) {
	t.Helper()
	if got := fetch(t, s, d); got != nil {
		t.Fatalf("got %s, want nothing", text(got))
	}
}

// within polls in small steps of the bubble's time until ok.
func within(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(d); !ok(); {
		require.Falsef(t, time.Now().After(deadline), "%s: not within %v", what, d)
		<-time.After(time.Millisecond)
	}
}

// inOrder checks that the payloads of every key count up from 1 to n, and returns the number of
// repeats.
func inOrder(t *testing.T, got []string, keys []string, n int) (repeats int) {
	t.Helper()
	for _, key := range keys {
		seen := 0
		for _, p := range got {
			k, num, _ := strings.Cut(p, "#")
			if k != key {
				continue
			}
			var i int
			fmt.Sscan(num, &i) // 0 is wrong too
			switch {
			case i == seen+1:
				seen = i
			case i <= seen && i > 0:
				repeats++
			default:
				t.Fatalf("key %s: got %d after %d", key, i, seen)
			}
		}
		require.Equalf(t, n, seen, "key %s: got %d of %d", key, seen, n)
	}
	return repeats
}

func counts(holders map[string]int) []int {
	var out []int
	for _, n := range holders {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}
