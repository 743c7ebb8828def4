package bus_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

func TestInfrastructurePausesABatchConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		fill(t, b, "a", 1, 2)
		fill(t, b, "b", 1, 2)
		calls := 0
		r := start(t, b, bus.RunnerConfig{}, batched(j, bus.BatchConsumer{
			Retry: probing, Wait: 10 * time.Millisecond,
			Handler: func(context.Context, []*message.Message) error {
				if calls++; calls <= 3 {
					return errDown
				}
				return nil
			},
		}))
		settle(5 * time.Second)
		assert.Equal(t, 4, lag(t, b, "t", "g"), "of 4 messages are unacknowledged during the pause")
		if s := r.Status()[0]; !s.Paused {
			t.Errorf("status %+v, want paused", s)
		}
		settle(time.Minute)
		r.stop(t)
		// retried counts probes and names the infrastructure class.
		j.expect(t,
			"10ms batch a#1-2 b#1-2", "10ms pause, probe in 1s: connection refused",
			"1.01s batch a#1", "1.01s retry a#1 attempt 0 in 2s infrastructure: connection refused",
			"3.01s batch b#1", "3.01s retry b#1 attempt 0 in 4s infrastructure: connection refused",
			"7.01s batch a#1", "7.01s recovered a#1 after 3", "7.01s resume after 7s",
			"7.01s batch b#1-2 a#2", "7.01s recovered b#1 after 3", "7.01s recovered b#2 after 2", "7.01s recovered a#2 after 2")
		assert.Equal(t, 0, lag(t, b, "t", "g"), "messages are unacknowledged")
	})
}

// If another batch fails while the consumer is paused, the outage may be the cause.
func TestABatchThatFailsDuringAPauseIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		publish(t, b, "t", keyed("a", 1), keyed("b", 1))
		var first sync.Map
		r := start(t, b, bus.RunnerConfig{}, batched(j, bus.BatchConsumer{
			Size: 1, Concurrency: 2, Retry: probing,
			Handler: func(_ context.Context, messages []*message.Message) error {
				id := messages[0].UUID
				if _, again := first.LoadOrStore(id, true); again {
					return nil
				}
				if id == "b#1" {
					time.Sleep(100 * time.Millisecond)
					return fault.MarkPermanent(errors.New("no such row, on a replica that lags"))
				}
				time.Sleep(50 * time.Millisecond)
				return errDown
			},
		}))
		settle(time.Minute)
		r.stop(t)
		if dead := browse(t, b, "t.DLT"); len(dead) != 0 {
			t.Errorf("dead letters: %s", ids(dead))
		}
		if s := r.Status()[0]; s.Handled != 2 {
			t.Errorf("status %+v, want 2 handled", s)
		}
	})
}

func TestDeadLettersOfABatchThatCannotBePublishedPauseIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, j := memBus(t), newJournal()
		fill(t, mem, "a", 1, 3)
		left := 2
		b := bus.New("refusing", publishing{mem.Driver(), func(topic string, messages []*message.Message) error {
			if topic == "t.DLT" && left > 0 {
				left--
				return errors.New("broker away")
			}
			return mem.Publisher().Publish(topic, messages...)
		}})
		r := start(t, b, bus.RunnerConfig{}, batched(j, bus.BatchConsumer{
			Retry: probing, Wait: 10 * time.Millisecond,
			Handler: func(_ context.Context, messages []*message.Message) error {
				failed := bus.BatchError{}
				for i, m := range messages {
					if m.UUID != "a#2" {
						failed[i] = fault.MarkPermanent(errors.New("invalid"))
					}
				}
				return failed.OrNil()
			},
		}))
		settle(time.Minute)
		r.stop(t)
		assert.Equal(t, "a#1 a#3", ids(browse(t, mem, "t.DLT")), "dead letters")
		if n := strings.Count(strings.Join(j.lines, "\n"), " batch "); n != 1 {
			t.Errorf("the handler ran %d times while its dead letters could not be published, want once", n)
		}
		assert.Equal(t, 0, lag(t, mem, "t", "g"), "messages are unacknowledged")
	})
}

// A transport that publishes a part of the dead letters of a batch says which: only the others are
// published again.
func TestADeadLetterThatIsPublishedIsNotPublishedAgain(t *testing.T) {
	for name, failure := range map[string]error{
		"the other is refused": fault.MarkPermanent(errors.New("too large")),
		"the broker went away": errDown,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem, j := memBus(t), newJournal()
				publish(t, mem, "t", keyed("a", 1), keyed("b", 1))
				first := true
				b := bus.New("breaking", publishing{mem.Driver(), func(topic string, messages []*message.Message) error {
					if topic != "t.DLT" || !first {
						return mem.Publisher().Publish(topic, messages...)
					}
					first = false
					require.NoError(t, mem.Publisher().Publish(topic, messages[0]))
					return &bus.PublishError{
						Topic: topic, Outcomes: []driver.Outcome{driver.Published, driver.Refused}, First: 1, ID: messages[1].UUID, Err: failure,
					}
				}})
				r := start(t, b, bus.RunnerConfig{}, batched(j, bus.BatchConsumer{
					Retry: probing, Wait: 10 * time.Millisecond,
					Handler: func(_ context.Context, messages []*message.Message) error {
						failed := bus.BatchError{}
						for i := range messages {
							failed[i] = fault.MarkPermanent(errors.New("invalid"))
						}
						return failed.OrNil()
					},
				}))
				settle(time.Minute)
				r.stop(t)
				assert.Equal(t, "a#1 b#1", ids(browse(t, mem, "t.DLT")), "dead letters")
				assert.EqualValues(t, 2, r.Status()[0].DeadLettered, "dead letters counted")
				assert.Equal(t, 0, lag(t, mem, "t", "g"), "messages are unacknowledged")
			})
		})
	}
}

// publishing is a driver with a publisher of the test's own.
type publishing struct {
	driver.Driver
	publish func(topic string, messages []*message.Message) error
}

func (p publishing) Publisher() message.Publisher { return publisherFunc(p.publish) }

type publisherFunc func(string, []*message.Message) error

func (f publisherFunc) Publish(topic string, messages ...*message.Message) error {
	return f(topic, messages)
}
func (f publisherFunc) Close() error { return nil }
