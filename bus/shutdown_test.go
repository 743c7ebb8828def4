package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		assert.Equal(t, "a#2", receiveAll(t, b, "g", "t"), "left for the next instance")
	})
}

// receiveAll returns the messages that the group still gets.
func receiveAll(t *testing.T, b *bus.Bus, group, topic string) string {
	t.Helper()
	sub, err := b.Subscriber(group, bus.SubscriberConfig{Concurrency: 100})
	require.NoError(t, err)
	defer sub.Close()
	ch, err := sub.Subscribe(context.Background(), topic)
	require.NoError(t, err)
	return ids(drain(ch))
}

func TestDrainTimeoutCancelsContextsAndHandsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		var log bytes.Buffer
		c := journaled(j, bus.Consumer{Topic: "t", Group: "g", Handler: func(m *message.Message) error {
			<-m.Context().Done()
			// Committed by now, so a kill from here on causes no more redeliveries.
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
		assert.Equal(t, "a#1", receiveAll(t, b, "g", "t"), "left for the next instance")
	})
}

// A handler whose own context is the application's gets context.Canceled at shutdown: this says
// nothing about the message.
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
		assert.Equal(t, "a#1", receiveAll(t, b, "g", "t"), "left for the next instance")
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
				assert.EqualValues(t, 0, time.Since(begin), "shutting down took")
				assert.Equal(t, 2, lag(t, b, "t", "g"), "messages are unacknowledged")
			})
		})
	}
}

func TestRunLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memBus(t)
		var consumers []bus.AnyConsumer
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
		// Do not even wait for goroutines that are about to end.
		synctest.Wait()
		if n := ours(); n != 0 {
			buf := make([]byte, 1<<20)
			t.Errorf("%d goroutines are left:\n%s", n, buf[:runtime.Stack(buf, true)])
		}
	})
}

// A Runner whose bus is closed consumes nothing any more, so Run ends and says so.
func TestClosingTheBusEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memBus(t)
		r := start(t, b, bus.RunnerConfig{},
			bus.Consumer{Topic: "t", Group: "g", Handler: noop}, bus.Consumer{Topic: "other", Group: "g", Handler: noop})
		require.NoError(t, b.Close())
		synctest.Wait()
		select {
		case err := <-r.done:
			assert.ErrorIs(t, err, bus.ErrClosed, "Run ended with")
			if s := r.Status()[0]; s.Running {
				t.Errorf("afterwards: %+v", s)
			}
		default:
			t.Error("Run goes on without its bus")
		}
		r.cancel()
	})
}
