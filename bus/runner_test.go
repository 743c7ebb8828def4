package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
)

func TestShutdownLetsHandlersFinishAndCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		r := start(t, b, bus.RunnerConfig{}, bus.Consumer{Topic: "t", Group: "g", Handler: func(m *message.Message) error {
			j.add("begin %s", m.Payload)
			time.Sleep(10 * time.Second)
			j.add("end %s: %v", m.Payload, m.Context().Err())
			return nil
		}})
		publish(t, b, "t", keyed("a", 1), keyed("b", 1), keyed("a", 2))
		synctest.Wait()
		r.stop(t)
		j.add("Run returned")
		j.lines = append(slices.Sorted(slices.Values(j.lines[:2])), append(slices.Sorted(slices.Values(j.lines[2:4])), j.lines[4:]...)...)
		j.expect(t, "0s begin a#1", "0s begin b#1", "10s end a#1: <nil>", "10s end b#1: <nil>", "10s Run returned")
		if got := receiveAll(t, b, "g", "t"); got != "a#2" {
			t.Errorf("left for the next instance: %s", got)
		}
	})
}

// receiveAll returns what the group still gets.
func receiveAll(t *testing.T, b *bus.Bus, group, topic string) string {
	t.Helper()
	sub, err := b.Subscriber(group, bus.SubscriberConfig{Concurrency: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	ch, err := sub.Subscribe(context.Background(), topic)
	if err != nil {
		t.Fatal(err)
	}
	return ids(drain(ch))
}

func TestDrainTimeoutCancelsContextsAndHandsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		var log bytes.Buffer
		c := journaled(j, bus.Consumer{Topic: "t", Group: "g", Handler: func(m *message.Message) error {
			<-m.Context().Done()
			// Committed by now, so a kill from here on costs nothing more.
			j.add("cancelled: %v, lag %d", context.Cause(m.Context()), lag(t, b, "t", "g"))
			return fmt.Errorf("query: %w", m.Context().Err())
		}})
		r := start(t, b, bus.RunnerConfig{DrainTimeout: 5 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil))}, c)
		publish(t, b, "t", keyed("a", 1))
		synctest.Wait()
		r.stop(t)
		j.add("Run returned")
		j.expect(t, "0s try a#1", "5s cancelled: bus: the drain timeout is over, lag 1", "5s Run returned")
		if s := r.Status()[0]; s.Retried != 0 || s.DeadLettered != 0 || s.LastError != "" || s.InFlight != 0 {
			t.Errorf("a message that was handed back was counted: %+v", s)
		}
		if got := receiveAll(t, b, "g", "t"); got != "a#1" {
			t.Errorf("left for the next instance: %q", got)
		}
	})
}

// A handler whose own context is the application's sees the shutdown as
// context.Canceled: that says nothing about the message.
func TestACancelledHandlerHandsBackUncounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		app, stopApp := context.WithCancel(context.Background())
		c := journaled(j, bus.Consumer{Topic: "t", Group: "g", Retry: probing, Handler: func(*message.Message) error {
			<-app.Done()
			return fmt.Errorf("query: %w", app.Err())
		}})
		r := start(t, b, bus.RunnerConfig{}, c)
		publish(t, b, "t", keyed("a", 1))
		synctest.Wait()
		r.cancel()
		synctest.Wait()
		stopApp()
		r.stop(t)
		j.expect(t, "0s try a#1")
		if s := r.Status()[0]; s.DeadLettered != 0 || s.LastError != "" {
			t.Errorf("status %+v", s)
		}
		if got := receiveAll(t, b, "g", "t"); got != "a#1" {
			t.Errorf("left for the next instance: %q", got)
		}
	})
}

func TestCancelledOutsideAShutdownIsAFailureLikeAnyOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		c := journaled(j, bus.Consumer{Topic: "t", Group: "g", Retry: bus.FixedRetry(time.Second, 1), Handler: func(*message.Message) error {
			return context.Canceled
		}})
		r := start(t, b, bus.RunnerConfig{}, c)
		publish(t, b, "t", keyed("a", 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop(t)
		j.expect(t, "0s try a#1", "0s retry a#1 attempt 1 in 1s transient: context canceled",
			"1s try a#1", "1s dead a#1 to t.DLT after 2 transient RETRIES_EXHAUSTED")
	})
}

func TestShutdownDuringBackoffAndPauseReturnsAtOnce(t *testing.T) {
	for name, failure := range map[string]error{"backoff": errors.New("no"), "pause": errDown} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memBus(t)
				hour := bus.Backoff{Initial: time.Hour, Max: time.Hour}
				r := start(t, b, bus.RunnerConfig{}, bus.Consumer{
					Topic: "t", Group: "g", Retry: bus.RetryPolicy{Backoff: hour, Probe: hour},
					Handler: func(*message.Message) error { return failure },
				})
				publish(t, b, "t", keyed("a", 1), keyed("a", 2))
				synctest.Wait()
				begin := time.Now()
				r.stop(t)
				if took := time.Since(begin); took != 0 {
					t.Errorf("shutting down took %s", took)
				}
				if n := lag(t, b, "t", "g"); n != 2 {
					t.Errorf("%d messages are unacknowledged, want 2", n)
				}
			})
		})
	}
}

func TestRunLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memBus(t)
		var consumers []bus.Consumer
		for i := range 5 {
			consumers = append(consumers, bus.Consumer{Topic: "t", Group: fmt.Sprint(i), Handler: func(m *message.Message) error {
				if strings.HasPrefix(m.UUID, "bad") {
					return errors.New("no")
				}
				return nil
			}})
		}
		r := start(t, b, bus.RunnerConfig{}, consumers...)
		for n := range 50 {
			publish(t, b, "t", keyed("good", n), keyed("bad", n))
		}
		time.Sleep(time.Second / 2)
		r.stop(t)
		// Not even waiting for goroutines that are about to end.
		synctest.Wait()
		if n := ours(); n != 0 {
			buf := make([]byte, 1<<20)
			t.Errorf("%d goroutines are left:\n%s", n, buf[:runtime.Stack(buf, true)])
		}
	})
}

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

// recording is a driver that records what is declared.
type recording struct {
	bus.Driver
	declared []bus.Topic
	err      error
}

func (d *recording) Declare(ctx context.Context, topics ...bus.Topic) error {
	d.declared = append(d.declared, topics...)
	if d.err != nil {
		return d.err
	}
	return d.Driver.Declare(ctx, topics...)
}

func noop(*message.Message) error { return nil }

func TestRunDeclaresTopicsGroupsAndDeadLetters(t *testing.T) {
	d := &recording{Driver: memBus(t).Driver()}
	r := start(t, bus.New("recording", d), bus.RunnerConfig{},
		bus.Consumer{Topic: "a", Group: "1", Handler: noop},
		bus.Consumer{Topic: "b", Group: "mail_queue", Handler: noop, DeadLetter: bus.QueueDLQ()},
		bus.Consumer{Topic: "a", Group: "2", Handler: noop, DeadLetter: bus.DLQ("x")},
		bus.Consumer{Topic: "dlq.x", Group: "alarm", Handler: noop})
	r.stop(t)
	want := []bus.Topic{
		{Name: "a", Groups: []string{"1", "2"}}, {Name: "b", Groups: []string{"mail_queue"}},
		{Name: "dlq.x", Groups: []string{"alarm"}},
		{Name: "a.DLT"}, {Name: "mail_dlq"}, {Name: "dlq.x.DLT"},
	}
	if !reflect.DeepEqual(d.declared, want) {
		t.Errorf("declared %+v\nwant %+v", d.declared, want)
	}
}

func TestRunFailsWhenItCannotDeclare(t *testing.T) {
	away := errors.New("broker away")
	r, err := bus.NewRunner(bus.New("x", &recording{Driver: memBus(t).Driver(), err: away}), bus.RunnerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Add(bus.Consumer{Topic: "t", Group: "g", Handler: noop}); err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context()); !errors.Is(err, away) {
		t.Errorf("Run: %v", err)
	}
}

// halting is a driver one of whose topics cannot be subscribed to, or ends its
// subscriptions when told to.
type halting struct {
	bus.Driver
	refuse error
	halt   chan struct{}
}

func (h halting) Subscriber(group string, window int) (message.Subscriber, error) {
	sub, err := h.Driver.Subscriber(group, window)
	return haltingSubscriber{sub, h}, err
}

type haltingSubscriber struct {
	message.Subscriber
	halting
}

func (s haltingSubscriber) Close() error { return s.Subscriber.Close() }

func (s haltingSubscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if topic != "odd" {
		return s.Subscriber.Subscribe(ctx, topic)
	}
	if s.refuse != nil {
		return nil, s.refuse
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.halt:
		case <-ctx.Done():
		}
		cancel()
	}()
	return s.Subscriber.Subscribe(ctx, topic)
}

func TestRunFailsWhenASubscriptionFails(t *testing.T) {
	refused := errors.New("not allowed")
	r, err := bus.NewRunner(bus.New("x", halting{Driver: memBus(t).Driver(), refuse: refused}), bus.RunnerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"t", "odd"} {
		if err := r.Add(bus.Consumer{Topic: topic, Group: "g", Handler: noop}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Run(t.Context()); !errors.Is(err, refused) || !strings.Contains(err.Error(), "consumer g of odd") {
		t.Errorf("Run: %v", err)
	}
}

func TestASubscriptionThatEndsByItselfEndsRunLoudly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := halting{Driver: memBus(t).Driver(), halt: make(chan struct{})}
		b := bus.New("x", h)
		finished := false
		r := start(t, b, bus.RunnerConfig{},
			bus.Consumer{Topic: "odd", Group: "g", Handler: noop},
			bus.Consumer{Topic: "t", Group: "g", Handler: func(*message.Message) error {
				time.Sleep(time.Second)
				finished = true
				return nil
			}})
		publish(t, b, "t", keyed("a", 1))
		synctest.Wait()
		close(h.halt)
		err := <-r.done
		if !errors.Is(err, bus.ErrSubscriptionLost) || !strings.Contains(err.Error(), "g of odd") {
			t.Errorf("Run: %v", err)
		}
		if !finished {
			t.Error("the other consumer's handler was not waited for")
		}
		r.cancel()
	})
}

func TestRunnerIsUsedOnce(t *testing.T) {
	b := memBus(t)
	r := start(t, b, bus.RunnerConfig{}, bus.Consumer{Topic: "t", Group: "g", Handler: noop})
	if err := r.Add(bus.Consumer{Topic: "u", Group: "g", Handler: noop}); !errors.Is(err, bus.ErrRunning) {
		t.Errorf("Add while running: %v", err)
	}
	if err := r.Run(t.Context()); !errors.Is(err, bus.ErrRunning) {
		t.Errorf("a second Run: %v", err)
	}
	if s := r.Status()[0]; s.State != bus.Running || s.DeadLetterTopic != "t.DLT" {
		t.Errorf("status %+v", s)
	}
	r.stop(t)
	if s := r.Status()[0]; s.State != bus.Stopped {
		t.Errorf("status %+v", s)
	}
	start(t, b, bus.RunnerConfig{}).stop(t) // without consumers it only waits
}

func TestConsumerErrorsSayWhatIsMissing(t *testing.T) {
	b := memBus(t)
	r, err := bus.NewRunner(b, bus.RunnerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Add(bus.Consumer{Topic: "t", Group: "g", Handler: noop}); err != nil {
		t.Fatal(err)
	}
	to := func(topic string) bus.DeadLetterPolicy { return func(string, string) string { return topic } }
	for want, c := range map[string]bus.Consumer{
		"Topic is empty":                    {},
		"Group is empty":                    {Topic: "t"},
		"Handler is nil":                    {Topic: "t", Group: "g"},
		"already":                           {Topic: "t", Group: "g", Handler: noop},
		"names no topic":                    {Topic: "t", Group: "h", Handler: noop, DeadLetter: to("")},
		"the consumer's own":                {Topic: "t", Group: "h", Handler: noop, DeadLetter: to("t")},
		"bus: consumer h of t: Window is 1": {Topic: "t", Group: "h", Handler: noop, Window: 1, Concurrency: 2},
	} {
		if err := r.Add(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", c, err, want)
		}
	}
	if _, err := bus.NewRunner(nil, bus.RunnerConfig{}); err == nil {
		t.Error("NewRunner without a bus: no error")
	}
	if _, err := bus.NewRunner(b, bus.RunnerConfig{DrainTimeout: -1}); err == nil || !strings.Contains(err.Error(), "DrainTimeout") {
		t.Errorf("a negative DrainTimeout: %v", err)
	}
	queue := bus.New("queue", groupless{b.Driver()})
	if r, err = bus.NewRunner(queue, bus.RunnerConfig{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Add(bus.Consumer{Topic: "t", Group: "1", Handler: noop}); err != nil {
		t.Fatal(err)
	}
	if err := r.Add(bus.Consumer{Topic: "t", Group: "2", Handler: noop}); err == nil || !strings.Contains(err.Error(), "queue has no consumer groups") {
		t.Errorf("two groups on a queue: %v", err)
	}
}

type groupless struct{ bus.Driver }

func (groupless) Capabilities() bus.Capabilities { return bus.Capabilities{} }

// The handler's message is not the one the dispatcher watches: what a handler
// does to it counts when it returns, and the next message of the key waits.
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
				if most.Load() != 1 {
					t.Errorf("%d messages of one key were handled at once", most.Load())
				}
				if n := lag(t, b, "t", "g"); n != 0 {
					t.Errorf("%d messages are unacknowledged", n)
				}
				dead := browse(t, b, "t.DLT")
				if len(dead) != c.dead || c.dead > 0 && !strings.Contains(dead[0].Metadata[bus.DLQError], c.reason) {
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
					j.add("%s before %s in %s", name, m.UUID, message.HandlerNameFromCtx(m.Context()))
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
			bus.Consumer{Topic: "t", Group: "produces", Handler: noop, DeadLetter: bus.DLQ("produces"), Middleware: []message.HandlerMiddleware{produces}},
			// A middleware's own timeout is a failure of the handler, not the end of the message.
			bus.Consumer{Topic: "t", Group: "timeout", DeadLetter: bus.DLQ("timeout"), Retry: bus.FixedRetry(time.Second, 1), Middleware: []message.HandlerMiddleware{timesOut},
				Handler: func(m *message.Message) error { <-m.Context().Done(); return m.Context().Err() }})
		publish(t, b, "t", keyed("k", 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop(t)
		j.expect(t, "0s outer before k#1 in t/order", "0s inner before k#1 in t/order", "0s inner after: <nil>", "0s outer after: <nil>")
		if dead := browse(t, b, "dlq.produces"); len(dead) != 1 || !strings.Contains(dead[0].Metadata[bus.DLQError], "returned messages to publish") {
			t.Errorf("a middleware that publishes: %v", dead)
		}
		if dead := browse(t, b, "dlq.timeout"); len(dead) != 1 || dead[0].Metadata[bus.DLQAttempts] != "2" || dead[0].Metadata[bus.DLQError] != "context deadline exceeded" {
			t.Errorf("a middleware that times out: %v", dead)
		}
	})
}
