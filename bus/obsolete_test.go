package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// versioned makes a message of an event with a sequence; its UUID is key/seq.
func versioned(t *testing.T, key string, sequence uint64) *message.Message {
	t.Helper()
	e, err := event.New("UpdateRequest", "test", nil)
	require.NoError(t, err)
	e.ID, e.AggregateID, e.Sequence = key+"/"+strconv.FormatUint(sequence, 10), key, sequence
	m, err := event.Structured{}.Encode(e)
	require.NoError(t, err)
	return m
}

// currents returns 5 for key a, fails once for key b, and knows no other key.
func currents() func(context.Context, string) (uint64, error) {
	var asked atomic.Bool
	return func(_ context.Context, key string) (uint64, error) {
		switch key {
		case "a":
			return 5, nil
		case "b":
			if !asked.Swap(true) {
				return 0, errDown
			}
			return 1, nil
		case "c":
			return 0, fault.MarkPermanent(errors.New("no such artist"))
		}
		return 0, nil
	}
}

func TestObsoleteEventsAreAcknowledgedWithoutWork(t *testing.T) {
	handled := map[string]int{}
	for name, consumer := range map[string]func(hooks bus.Hooks, current func(context.Context, string) (uint64, error)) bus.AnyConsumer{
		"one by one": func(hooks bus.Hooks, current func(context.Context, string) (uint64, error)) bus.AnyConsumer {
			return bus.Consumer{Topic: "t", Group: "g", Concurrency: 1, Current: current, Hooks: hooks, Retry: probing,
				Middleware: []message.HandlerMiddleware{func(next message.HandlerFunc) message.HandlerFunc {
					return func(m *message.Message) ([]*message.Message, error) {
						handled["middleware"]++
						return next(m)
					}
				}},
				Handler: func(m *message.Message) error { handled[m.UUID]++; return nil }}
		},
		"in batches": func(hooks bus.Hooks, current func(context.Context, string) (uint64, error)) bus.AnyConsumer {
			return bus.BatchConsumer{Topic: "t", Group: "g", Current: current, Hooks: hooks, Retry: probing,
				Handler: func(_ context.Context, messages []*message.Message) error {
					for _, m := range messages {
						handled[m.UUID]++
						handled["middleware"]++
					}
					return nil
				}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clear(handled)
				b := memBus(t)
				var obsolete []string
				publish(t, b, "t", versioned(t, "a", 4), versioned(t, "a", 5), versioned(t, "a", 6), versioned(t, "a", 0),
					versioned(t, "b", 1), versioned(t, "d", 1), keyed("a", 1))
				r := start(t, b, bus.RunnerConfig{}, consumer(bus.Hooks{OnObsolete: func(o bus.Report) {
					obsolete = append(obsolete, fmt.Sprintf("%s/%s %s %d<%d", o.Topic, o.Group, o.Message.UUID, o.Sequence, o.Newest))
				}}, currents()))
				settle(time.Minute)
				s := r.Status()[0]
				r.stop(t)
				if s.Obsolete != 1 || s.Handled != 6 || s.DeadLettered != 0 || fmt.Sprint(obsolete) != "[t/g a/4 4<5]" {
					t.Errorf("status %+v, obsolete %v", s, obsolete)
				}
				want := map[string]int{"a/5": 1, "a/6": 1, "a/0": 1, "b/1": 1, "d/1": 1, "a#1": 1, "middleware": 6}
				assert.Equalf(t, fmt.Sprint(want), fmt.Sprint(handled), "handled %v, want %v", handled, want)
				assert.Equal(t, 0, lag(t, b, "t", "g"), "messages are unacknowledged")
			})
		})
	}
}

// If Current returns an error, the message fails as if the handler had.
func TestAnErrorOfCurrentIsTheMessages(t *testing.T) {
	for name, c := range map[string]bus.AnyConsumer{
		"one by one": bus.Consumer{Topic: "t", Group: "g", Handler: noop, Current: currents()},
		"in batches": bus.BatchConsumer{Topic: "t", Group: "g", Handler: nothing, Current: currents()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memBus(t)
				publish(t, b, "t", versioned(t, "c", 1), versioned(t, "a", 5))
				r := start(t, b, bus.RunnerConfig{}, c)
				settle(time.Minute)
				s := r.Status()[0]
				r.stop(t)
				if s.Handled != 1 || s.DeadLettered != 1 {
					t.Errorf("status %+v, want 1 handled and 1 dead letter", s)
				}
				assert.Equal(t, "c/1", ids(browse(t, b, "t.DLT")), "dead letters")
			})
		})
	}
}
