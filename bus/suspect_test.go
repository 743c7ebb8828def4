package bus_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/bus"
)

// eachKind runs a test with a consumer of single messages and with one of batches. handle
// returns the result for a message.
func eachKind(t *testing.T, test func(t *testing.T, consume func(c bus.Consumer, handle func(*message.Message) error) bus.AnyConsumer)) {
	kinds := map[string]func(bus.Consumer, func(*message.Message) error) bus.AnyConsumer{
		"single": func(c bus.Consumer, handle func(*message.Message) error) bus.AnyConsumer {
			c.Handler = handle
			return c
		},
		"batches": func(c bus.Consumer, handle func(*message.Message) error) bus.AnyConsumer {
			return bus.BatchConsumer{
				Topic: c.Topic, Group: c.Group, Size: 10, Wait: 10 * time.Millisecond, Window: c.Window, Hooks: c.Hooks,
				Handler: func(_ context.Context, messages []*message.Message) error {
					for _, m := range messages { // one transaction: it fails as a whole
						if err := handle(m); err != nil {
							return err
						}
					}
					return nil
				}}
		},
	}
	for name, consume := range kinds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, consume) })
		})
	}
}

// healthy publishes n messages of keys without faults.
func healthy(t *testing.T, b *bus.Bus, from, n int) {
	t.Helper()
	for i := range n {
		publish(t, b, "t", keyed(fmt.Sprint("good-", (from+i)%20), from+i))
	}
}

// A message that fails as if a dependency were down stops its own key. When 20 windows of others
// have passed it, its failures count, and it becomes a dead letter.
func TestASuspectStopsOnlyItsKey(t *testing.T) {
	eachKind(t, func(t *testing.T, consume func(bus.Consumer, func(*message.Message) error) bus.AnyConsumer) {
		b := memBus(t)
		var dead atomic.Pointer[bus.Report]
		var pauses atomic.Int32
		var after []string // the poison's key, after it
		const window = 40
		r := start(t, b, bus.RunnerConfig{}, consume(bus.Consumer{
			Topic: "t", Group: "g", Window: window, Concurrency: 4,
			Hooks: bus.Hooks{
				OnDeadLetter: func(d bus.Report) { dead.Store(&d) },
				OnPause:      func(bus.Report) { pauses.Add(1) },
			},
		}, func(m *message.Message) error {
			switch key, _, _ := strings.Cut(string(m.Payload), "#"); {
			case string(m.Payload) == "bad#1":
				return errDown
			case key == "bad":
				after = append(after, string(m.Payload))
			}
			return nil
		}))
		publish(t, b, "t", keyed("bad", 1), keyed("bad", 2))
		healthy(t, b, 0, 200)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s := r.Status()[0]; s.Handled != 200 || !s.Running || s.Paused || s.Held || s.DeadLettered != 0 {
			t.Fatalf("after 10 s: %+v; want 200 handled, and the poison waiting", s)
		}
		// A trickle, so that the window is passed 20 times within less than 15 minutes.
		for i := range suspectWindows * window {
			healthy(t, b, 200+i, 1)
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		d := dead.Load()
		if d == nil || d.Reason != bus.ReasonExhausted || d.Attempts != 4 || d.Message.UUID != "bad#1" {
			t.Errorf("the dead letter is %+v", d)
		}
		if s := r.Status()[0]; s.Handled != 200+suspectWindows*window+1 || !slices.Equal(after, []string{"bad#2"}) {
			t.Errorf("afterwards %+v, and of the poison's key %v", s, after)
		}
		assert.EqualValues(t, 1, pauses.Load(), "pauses, want the one that found the suspect")
		r.stop(t)
	})
}

const suspectWindows = 20

// A message of another key that arrives during a long pause is tried at once.
func TestAPauseTriesWhatComes(t *testing.T) {
	eachKind(t, func(t *testing.T, consume func(bus.Consumer, func(*message.Message) error) bus.AnyConsumer) {
		b := memBus(t)
		r := start(t, b, bus.RunnerConfig{}, consume(bus.Consumer{Topic: "t", Group: "g"}, func(m *message.Message) error {
			if strings.HasPrefix(string(m.Payload), "bad") {
				return errDown
			}
			return nil
		}))
		publish(t, b, "t", keyed("bad", 1))
		time.Sleep(10 * time.Minute)
		healthy(t, b, 0, 20)
		time.Sleep(time.Second)
		if s := r.Status()[0]; s.Handled != 20 || !s.Running || s.Paused || s.Held {
			t.Errorf("a second after 20 messages came: %+v", s)
		}
		r.stop(t)
	})
}

// With few messages, 15 minutes are enough.
func TestASuspectBecomesADeadLetterInTime(t *testing.T) {
	eachKind(t, func(t *testing.T, consume func(bus.Consumer, func(*message.Message) error) bus.AnyConsumer) {
		b := memBus(t)
		r := start(t, b, bus.RunnerConfig{}, consume(bus.Consumer{Topic: "t", Group: "g"}, func(m *message.Message) error {
			if strings.HasPrefix(string(m.Payload), "bad") {
				return errDown
			}
			return nil
		}))
		publish(t, b, "t", keyed("bad", 1))
		for i := range 14 * 6 {
			healthy(t, b, i, 1)
			time.Sleep(10 * time.Second)
		}
		synctest.Wait()
		if s := r.Status()[0]; s.DeadLettered != 0 || !s.Running || s.Paused || s.Held {
			t.Errorf("after 14 minutes: %+v", s)
		}
		for i := range 5 * 6 {
			healthy(t, b, 100+i, 1)
			time.Sleep(10 * time.Second)
		}
		synctest.Wait()
		if s := r.Status()[0]; s.DeadLettered != 1 {
			t.Errorf("after 19 minutes: %+v", s)
		}
		r.stop(t)
	})
}

// An outage of a dependency creates no dead letters, also not of suspects.
func TestAnOutageSparesSuspects(t *testing.T) {
	eachKind(t, func(t *testing.T, consume func(bus.Consumer, func(*message.Message) error) bus.AnyConsumer) {
		b := memBus(t)
		var down, mended atomic.Bool
		r := start(t, b, bus.RunnerConfig{}, consume(bus.Consumer{Topic: "t", Group: "g", Window: 10, Concurrency: 2}, func(m *message.Message) error {
			if down.Load() || !mended.Load() && strings.HasPrefix(string(m.Payload), "bad") {
				return errDown
			}
			return nil
		}))
		publish(t, b, "t", keyed("bad", 1))
		healthy(t, b, 0, 100)
		time.Sleep(time.Minute)
		down.Store(true)
		healthy(t, b, 100, 100)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if s := r.Status()[0]; s.Handled != 100 || s.DeadLettered != 0 || !s.Paused {
			t.Errorf("after two hours: %+v", s)
		}
		mended.Store(true)
		down.Store(false)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if s := r.Status()[0]; s.Handled != 201 || s.DeadLettered != 0 || !s.Running || s.Paused || s.Held {
			t.Errorf("afterwards: %+v", s)
		}
		r.stop(t)
	})
}
