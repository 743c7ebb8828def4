package bus_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// recording is a driver that records declared topics.
type recording struct {
	driver.Driver
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
		bus.Consumer{Topic: "b", Group: "mail_queue", Handler: noop, DeadLetter: "mail_dlq"},
		bus.Consumer{Topic: "a", Group: "2", Handler: noop, DeadLetter: "dlq.x"},
		bus.Consumer{Topic: "dlq.x", Group: "alarm", Handler: noop})
	r.stop(t)
	const week = 7 * 24 * time.Hour
	redrive := []string{driver.RedriveGroup}
	want := []bus.Topic{
		{Name: "a", Groups: []string{"1", "2"}}, {Name: "b", Groups: []string{"mail_queue"}},
		{Name: "dlq.x", Groups: []string{"alarm", driver.RedriveGroup}, Retention: week},
		{Name: "a.DLT", Groups: redrive, Retention: week}, {Name: "mail_dlq", Groups: redrive, Retention: week},
		{Name: "dlq.x.DLT", Groups: redrive, Retention: week},
	}
	if !reflect.DeepEqual(d.declared, want) {
		t.Errorf("declared %+v\nwant %+v", d.declared, want)
	}
}

func TestRunFailsWhenItCannotDeclare(t *testing.T) {
	away := errors.New("broker away")
	r, err := bus.NewRunner(bus.New("x", &recording{Driver: memBus(t).Driver(), err: away}), bus.RunnerConfig{})
	require.NoError(t, err)
	require.NoError(t, r.Add(bus.Consumer{Topic: "t", Group: "g", Handler: noop}))
	assert.ErrorIs(t, r.Run(t.Context()), away, "Run")
}

// halting is a driver with one topic that refuses its subscriptions, or ends them on request.
type halting struct {
	driver.Driver
	refuse error
	before <-chan struct{} // it refuses when this is closed
	halt   chan struct{}
}

func (h halting) Source(ctx context.Context, topic, group string, window int) (driver.Source, error) {
	return sourcetest.Source(ctx, h.Driver, topic, group, window, func(s message.Subscriber) message.Subscriber {
		return haltingSubscriber{s, h}
	})
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
		<-s.before
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

// Consumers that had already begun are shut down in order, and Run waits for their handlers.
func TestRunFailsWhenASubscriptionFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused, began := errors.New("not allowed"), make(chan struct{})
		b := bus.New("x", halting{Driver: memBus(t).Driver(), refuse: refused, before: began})
		r, err := bus.NewRunner(b, bus.RunnerConfig{DrainTimeout: time.Second})
		require.NoError(t, err)
		returned := false
		slow := func(m *message.Message) error {
			close(began)
			<-m.Context().Done()
			time.Sleep(time.Second)
			returned = true
			return nil
		}
		err = errors.Join(r.Add(bus.Consumer{Topic: "t", Group: "g", Handler: slow}), r.Add(bus.Consumer{Topic: "odd", Group: "g", Handler: noop}))
		require.NoError(t, err)
		publish(t, b, "t", keyed("k", 1))
		if err := r.Run(t.Context()); !errors.Is(err, refused) || !strings.Contains(err.Error(), "consumer g of odd") {
			t.Errorf("Run: %v", err)
		}
		assert.True(t, returned, "Run has returned before a handler")
	})
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
		if !errors.Is(err, bus.ErrSubscriptionLost) || !errors.Is(err, driver.ErrEnded) || !strings.Contains(err.Error(), "g of odd") {
			t.Errorf("Run: %v", err)
		}
		assert.True(t, finished, "the other consumer's handler was not waited for")
		r.cancel()
	})
}

func TestRunnerIsUsedOnce(t *testing.T) {
	b := memBus(t)
	r := start(t, b, bus.RunnerConfig{}, bus.Consumer{Topic: "t", Group: "g", Handler: noop})
	assert.ErrorIs(t, r.Add(bus.Consumer{Topic: "u", Group: "g", Handler: noop}), bus.ErrRunning, "Add while running")
	assert.ErrorIs(t, r.Run(t.Context()), bus.ErrRunning, "a second Run")
	if s := r.Status()[0]; !s.Running || s.Paused || s.Held || s.DeadLetterTopic != "t.DLT" {
		t.Errorf("status %+v", s)
	}
	r.stop(t)
	if s := r.Status()[0]; s.Running {
		t.Errorf("status %+v", s)
	}
	start(t, b, bus.RunnerConfig{}).stop(t) // without consumers it only waits for ctx
}

func TestConsumerErrorsSayWhatIsMissing(t *testing.T) {
	b := memBus(t)
	r, err := bus.NewRunner(b, bus.RunnerConfig{})
	require.NoError(t, err)
	require.NoError(t, r.Add(bus.Consumer{Topic: "t", Group: "g", Handler: noop}))
	for want, c := range map[string]bus.Consumer{
		"Topic is empty":                    {},
		"Group is empty":                    {Topic: "t"},
		"Handler is nil":                    {Topic: "t", Group: "g"},
		"already":                           {Topic: "t", Group: "g", Handler: noop},
		"the consumer's own":                {Topic: "t", Group: "h", Handler: noop, DeadLetter: "t"},
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
	require.NoError(t, r.Add(bus.Consumer{Topic: "t", Group: "1", Handler: noop}))
	if err := r.Add(bus.Consumer{Topic: "t", Group: "2", Handler: noop}); err == nil || !strings.Contains(err.Error(), "queue has no consumer groups") {
		t.Errorf("two groups on a queue: %v", err)
	}
}

type groupless struct{ driver.Driver }

func (groupless) Capabilities() driver.Capabilities { return driver.Capabilities{} }
