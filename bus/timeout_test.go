package bus_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// A handler's context ends after Timeout. The failure is then transient, also when the error
// says that a dependency is down.
func TestTimeoutEndsAHandler(t *testing.T) {
	kinds := map[string]func(b bus.Consumer, wait func(ctx context.Context, m *message.Message) error) bus.AnyConsumer{
		"single": func(c bus.Consumer, wait func(context.Context, *message.Message) error) bus.AnyConsumer {
			c.Handler = func(m *message.Message) error { return wait(m.Context(), m) }
			return c
		},
		"batches": func(c bus.Consumer, wait func(context.Context, *message.Message) error) bus.AnyConsumer {
			return bus.BatchConsumer{Topic: c.Topic, Group: c.Group, Timeout: c.Timeout, Retry: c.Retry, Hooks: c.Hooks, Wait: -1,
				Handler: func(ctx context.Context, messages []*message.Message) error { return wait(ctx, messages[0]) }}
		},
	}
	for name, consume := range kinds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memBus(t)
				var retries []string
				r := start(t, b, bus.RunnerConfig{}, consume(bus.Consumer{
					Topic: "t", Group: "g", Timeout: 3 * time.Second, Retry: bus.FixedRetry(time.Second, 1),
					Hooks: bus.Hooks{OnRetry: func(r bus.Report) { retries = append(retries, fmt.Sprint(r.Class, " ", r.Attempts)) }},
				}, func(ctx context.Context, m *message.Message) error {
					<-ctx.Done()
					assert.ErrorIs(t, context.Cause(ctx), bus.ErrHandlerTimeout, "the context ended with")
					return fault.MarkInfrastructure(ctx.Err())
				}))
				publish(t, b, "t", keyed("k", 1))
				time.Sleep(8 * time.Second)
				synctest.Wait()
				if s := r.Status()[0]; s.DeadLettered != 1 || s.Pauses != 0 || fmt.Sprint(retries) != "[transient 1]" {
					t.Errorf("after 3 s, a retry and 3 s: %+v, retries %v", s, retries)
				}
				assert.Contains(t, browse(t, b, "t.DLT")[0].Metadata[driver.DLQError], "took too long (3s)", "the dead letter")
				r.stop(t)
			})
		})
	}
}

// It is the same in a batch with a message that is no event, which fails on its own.
func TestTimeoutEndsAHandlerBesideNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memBus(t)
		r := start(t, b, bus.RunnerConfig{}, bus.BatchConsumer{
			Topic: "t", Group: "g", Timeout: 3 * time.Second, Retry: bus.FixedRetry(time.Second, 1), Size: 2, Wait: time.Second,
			Handler: bus.HandleBatch(func(ctx context.Context, _ []event.Event) error {
				<-ctx.Done()
				return fault.MarkInfrastructure(ctx.Err())
			}),
		})
		publish(t, b, "t", keyed("k", 1), versioned(t, "c", 1))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s := r.Status()[0]; s.DeadLettered != 2 || s.Pauses != 0 {
			t.Errorf("after two attempts: %+v", s)
		}
		r.stop(t)
	})
}

// A handler that ignores the end of its context is reported while it runs. Other keys go on, and
// its result counts.
func TestAnOverdueHandlerIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memBus(t)
		var log lines
		r := start(t, b, bus.RunnerConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))}, bus.Consumer{
			Topic: "t", Group: "g", Timeout: 10 * time.Second,
			Handler: func(m *message.Message) error {
				if string(m.Payload) == "slow#1" {
					time.Sleep(3 * time.Minute)
				}
				return nil
			},
		})
		publish(t, b, "t", keyed("slow", 1), keyed("quick", 1))
		began := time.Now()
		for _, step := range []struct {
			after   time.Duration
			overdue int
			lines   int
		}{{14 * time.Second, 0, 0}, {16 * time.Second, 1, 1}, {76 * time.Second, 1, 2}, {181 * time.Second, 0, 4}} {
			time.Sleep(time.Until(began.Add(step.after)))
			synctest.Wait()
			s := r.Status()[0]
			if s.Overdue != step.overdue || (s.OldestOverdue > 0) != (step.overdue > 0) {
				t.Errorf("after %s %d handlers are overdue, the oldest for %s; want %d", step.after, s.Overdue, s.OldestOverdue, step.overdue)
			}
			if n := strings.Count(log.String(), "ignore"); n != step.lines {
				t.Errorf("after %s there are %d lines, want %d:\n%s", step.after, n, step.lines, log.String())
			}
		}
		if s := r.Status()[0]; s.Handled != 2 {
			t.Errorf("%+v, want both handled", s)
		}
		if !strings.Contains(log.String(), "key=slow") && !strings.Contains(log.String(), "slow#1") {
			t.Errorf("the log does not name the message:\n%s", log.String())
		}
		r.stop(t)
	})
}

func TestTimeoutIsChecked(t *testing.T) {
	r, err := bus.NewRunner(memBus(t), bus.RunnerConfig{})
	require.NoError(t, err)
	err = r.Add(bus.Consumer{Topic: "t", Group: "g", Timeout: -1, Handler: func(*message.Message) error { return nil }})
	if err == nil || !strings.Contains(err.Error(), "Timeout") {
		t.Errorf("a negative Timeout: %v", err)
	}
}
