package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// typed makes a message of an event with a key, a type and a sequence.
func typed(t *testing.T, key, typ string, sequence uint64) *message.Message {
	t.Helper()
	e, err := event.New(typ, "test", nil)
	require.NoError(t, err)
	e.AggregateID, e.Sequence = key, sequence
	m, err := event.Structured{}.Encode(e)
	require.NoError(t, err)
	return m
}

// An event that is acknowledged without its handler says nothing about a dependency: it does not
// end a pause, and makes no suspects of the messages that the pause holds. In an outage of an hour
// none of them becomes a dead letter, although other events get through all the time.
func TestSkippedEventsDoNotEndAPause(t *testing.T) {
	var down atomic.Bool
	handle := func(context.Context, event.Event) error {
		if down.Load() {
			return errDown
		}
		return nil
	}
	current := func(_ context.Context, key string) (uint64, error) {
		if key == "paid" {
			return 0, nil
		}
		return 5, nil
	}
	batch := func(ctx context.Context, events []event.Event) error { return handle(ctx, events[0]) }
	for name, test := range map[string]struct {
		skipped  string // the type of events that are skipped
		consumer bus.AnyConsumer
	}{
		"ignored, single":   {"Seen", bus.Consumer{Topic: "t", Group: "g", Handler: bus.ByType(map[string]bus.EventHandler{"Paid": handle})}},
		"ignored, batches":  {"Seen", bus.BatchConsumer{Topic: "t", Group: "g", Handler: bus.HandleBatch(batch, "Paid")}},
		"obsolete, single":  {"Paid", bus.Consumer{Topic: "t", Group: "g", Current: current, Handler: bus.Handle(handle)}},
		"obsolete, batches": {"Paid", bus.BatchConsumer{Topic: "t", Group: "g", Current: current, Handler: bus.HandleBatch(batch)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				down.Store(true)
				b := memBus(t)
				r := start(t, b, bus.RunnerConfig{}, test.consumer)
				const minutes = 60
				publish(t, b, "t", typed(t, "paid", "Paid", 1))
				for i := range 2 * minutes {
					time.Sleep(30 * time.Second)
					publish(t, b, "t", typed(t, fmt.Sprint("skipped-", i%20), test.skipped, 1))
				}
				synctest.Wait()
				s := r.Status()[0]
				if s.Pauses != 1 || !s.Paused || s.DeadLettered != 0 {
					t.Errorf("after an hour of outage: %+v; want one pause and no dead letter", s)
				}
				if skipped := s.Ignored + s.Obsolete; skipped < 2*minutes-1 {
					t.Errorf("%d of %d events without work were acknowledged in the pause", skipped, 2*minutes)
				}
				down.Store(false)
				time.Sleep(time.Minute)
				synctest.Wait()
				if s := r.Status()[0]; s.Paused || s.Handled != 1 || lag(t, b, "t", "g") != 0 {
					t.Errorf("afterwards: %+v", s)
				}
				r.stop(t)
			})
		})
	}
}

// A batch fails as a whole, also its events of types that have no handler. When one of them is the
// probe, it still says nothing about the dependency.
func TestIgnoredEventsOfAFailedBatchDoNotEndAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		b := memBus(t)
		var all []*message.Message
		for i := range 20 {
			all = append(all, typed(t, fmt.Sprint("seen-", i), "Seen", 1), typed(t, fmt.Sprint("paid-", i), "Paid", 1))
		}
		publish(t, b, "t", all...)
		r := start(t, b, bus.RunnerConfig{}, bus.BatchConsumer{Topic: "t", Group: "g", Size: 2, Handler: bus.HandleBatch(
			func(context.Context, []event.Event) error {
				if down.Load() {
					return errDown
				}
				return nil
			}, "Paid")})
		settle(10 * time.Minute)
		if s := r.Status()[0]; s.Pauses != 1 || !s.Paused {
			t.Errorf("after ten minutes of outage: %+v; want one pause", s)
		}
		down.Store(false)
		settle(time.Minute)
		if s := r.Status()[0]; s.Paused || s.Handled != 20 || s.Ignored != 20 || lag(t, b, "t", "g") != 0 {
			t.Errorf("afterwards: %+v", s)
		}
		r.stop(t)
	})
}

// A message that becomes a dead letter for its own fault makes no suspects either: it may have
// failed before its handler needed the dependency.
func TestDeadLettersMakeNoSuspects(t *testing.T) {
	eachKind(t, func(t *testing.T, consume func(bus.Consumer, func(*message.Message) error) bus.AnyConsumer) {
		b := memBus(t)
		r := start(t, b, bus.RunnerConfig{}, consume(bus.Consumer{Topic: "t", Group: "g"}, func(m *message.Message) error {
			if strings.HasPrefix(string(m.Payload), "paid") {
				return errDown
			}
			return fault.MarkPermanent(errors.New("not an event"))
		}))
		publish(t, b, "t", keyed("paid", 1))
		for i := range 120 {
			time.Sleep(30 * time.Second)
			healthy(t, b, i, 1)
		}
		synctest.Wait()
		if s := r.Status()[0]; s.DeadLettered < 100 {
			t.Errorf("after an hour of outage: %+v; want dead letters of the broken messages", s)
		}
		for _, m := range browse(t, b, "t.DLT") {
			if m.UUID == "paid#1" {
				t.Errorf("an outage made a dead letter of a message without a fault: %v", m.Metadata)
			}
		}
		r.stop(t)
	})
}
