package bus_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

func TestHandlersInParallelAreBoundedByConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memBus(t)
		var now, most atomic.Int32
		r := start(t, b, bus.RunnerConfig{}, bus.Consumer{Topic: "t", Group: "g", Concurrency: 3, Handler: func(*message.Message) error {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Second)
			return nil
		}})
		for k := range 30 {
			publish(t, b, "t", keyed(fmt.Sprint(k), 1))
		}
		begin := time.Now()
		for lag(t, b, "t", "g") > 0 {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if most.Load() != 3 || time.Since(begin) != 10*time.Second {
			t.Errorf("at most %d at once, %s in all; want 3 and 10s", most.Load(), time.Since(begin))
		}
		r.stop(t)
	})
}

// The handler gets another message than the dispatcher watches: its acks and nacks count when
// the handler returns, and the next message of the key waits until then.
func TestWhatHandlersDoToTheirMessage(t *testing.T) {
	for name, c := range map[string]struct {
		handle func(*message.Message) error
		dead   int
		reason string
	}{
		"acks early and succeeds": {func(m *message.Message) error { m.Ack(); return nil }, 0, ""},
		"acks early and fails":    {func(m *message.Message) error { m.Ack(); return errors.New("too late") }, 0, ""},
		"nacks without an error":  {func(m *message.Message) error { m.Nack(); return nil }, 1, "nacked the message without an error"},
		"ends its goroutine":      {func(*message.Message) error { runtime.Goexit(); return nil }, 1, "runtime.Goexit"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memBus(t)
				var atOnce, most atomic.Int32
				r := start(t, b, bus.RunnerConfig{}, bus.Consumer{
					Topic: "t", Group: "g", Retry: bus.FixedRetry(time.Second, 1),
					Handler: func(m *message.Message) error {
						most.Store(max(most.Load(), atOnce.Add(1)))
						defer atOnce.Add(-1)
						defer time.Sleep(time.Second)
						if m.UUID == "k#2" {
							return nil
						}
						return c.handle(m)
					},
				})
				publish(t, b, "t", keyed("k", 1), keyed("k", 2))
				time.Sleep(time.Minute)
				synctest.Wait()
				r.stop(t)
				assert.EqualValues(t, 1, most.Load(), "messages of one key were handled at once")
				assert.Equal(t, 0, lag(t, b, "t", "g"), "messages are unacknowledged")
				dead := browse(t, b, "t.DLT")
				if len(dead) != c.dead || c.dead > 0 && !strings.Contains(dead[0].Metadata[driver.DLQError], c.reason) {
					t.Errorf("dead letters: %d %v", len(dead), dead)
				}
			})
		})
	}
}

func TestMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		named := func(name string) message.HandlerMiddleware {
			return func(next message.HandlerFunc) message.HandlerFunc {
				return func(m *message.Message) ([]*message.Message, error) {
					j.add("%s before %s", name, m.UUID)
					out, err := next(m)
					j.add("%s after: %v", name, err)
					return out, err
				}
			}
		}
		produces := func(next message.HandlerFunc) message.HandlerFunc {
			return func(m *message.Message) ([]*message.Message, error) {
				_, err := next(m)
				return []*message.Message{m}, err
			}
		}
		timesOut := func(next message.HandlerFunc) message.HandlerFunc {
			return func(m *message.Message) ([]*message.Message, error) {
				ctx, cancel := context.WithTimeout(m.Context(), time.Second)
				defer cancel()
				m.SetContext(ctx)
				return next(m)
			}
		}
		r := start(t, b, bus.RunnerConfig{},
			bus.Consumer{Topic: "t", Group: "order", Handler: noop, Middleware: []message.HandlerMiddleware{named("outer"), named("inner")}},
			bus.Consumer{Topic: "t", Group: "produces", Handler: noop, DeadLetter: "dlq.produces", Middleware: []message.HandlerMiddleware{produces}},
			// A middleware's own timeout is a failure of the handler; the message's context goes
			// on.
			bus.Consumer{Topic: "t", Group: "timeout", DeadLetter: "dlq.timeout", Retry: bus.FixedRetry(time.Second, 1), Middleware: []message.HandlerMiddleware{timesOut},
				Handler: func(m *message.Message) error { <-m.Context().Done(); return m.Context().Err() }})
		publish(t, b, "t", keyed("k", 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop(t)
		j.expect(t, "0s outer before k#1", "0s inner before k#1", "0s inner after: <nil>", "0s outer after: <nil>")
		if dead := browse(t, b, "dlq.produces"); len(dead) != 1 || !strings.Contains(dead[0].Metadata[driver.DLQError], "returned messages to publish") {
			t.Errorf("a middleware that publishes: %v", dead)
		}
		if dead := browse(t, b, "dlq.timeout"); len(dead) != 1 || dead[0].Metadata[driver.DLQAttempts] != "2" || dead[0].Metadata[driver.DLQError] != "context deadline exceeded" {
			t.Errorf("a middleware that times out: %v", dead)
		}
	})
}

// refusal is an error type with a method that a nil pointer does not survive.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

// A handler that returns a nil pointer as its error, or an error for which a classifier panics, has
// failed as if it had panicked: the process goes on.
func TestAnErrorThatPanicsIsAPanic(t *testing.T) {
	none := func() error {
		var r *refusal
		return r
	}
	retry := bus.FixedRetry(time.Second, 1)
	other := errors.New("of another type")
	asserting := []fault.Classifier{func(err error) fault.Class {
		_ = err.(*refusal) //nolint:errcheck,errorlint // it panics
		return fault.Permanent
	}}
	for name, c := range map[string]bus.AnyConsumer{
		"classifier": bus.Consumer{Topic: "t", Group: "g", Retry: retry, Classifiers: asserting,
			Handler: func(*message.Message) error { return other }},
		"classifier of a batch": bus.BatchConsumer{Topic: "t", Group: "g", Retry: retry, Classifiers: asserting,
			Handler: func(context.Context, []*message.Message) error { return other }},
		"classifier of a batch error": bus.BatchConsumer{Topic: "t", Group: "g", Retry: retry, Classifiers: asserting,
			Handler: func(context.Context, []*message.Message) error { return bus.BatchError{0: other} }},
		"single": bus.Consumer{Topic: "t", Group: "g", Retry: retry, Handler: func(*message.Message) error { return none() }},
		"batch": bus.BatchConsumer{Topic: "t", Group: "g", Retry: retry,
			Handler: func(context.Context, []*message.Message) error { return none() }},
		"batch error": bus.BatchConsumer{Topic: "t", Group: "g", Retry: retry,
			Handler: func(context.Context, []*message.Message) error { return bus.BatchError{0: none()} }},
		"timeout": bus.Consumer{Topic: "t", Group: "g", Retry: retry, Timeout: time.Millisecond,
			Handler: func(m *message.Message) error { <-m.Context().Done(); return none() }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memBus(t)
				r := start(t, b, bus.RunnerConfig{}, c)
				publish(t, b, "t", keyed("k", 1))
				time.Sleep(time.Minute)
				synctest.Wait()
				r.stop(t)
				dead := browse(t, b, "t.DLT")
				if len(dead) != 1 || dead[0].Metadata[driver.DLQAttempts] != "2" || dead[0].Metadata[driver.DLQError] == "" {
					t.Errorf("dead letters: %v", dead)
				}
			})
		})
	}
}
