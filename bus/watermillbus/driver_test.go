package watermillbus_test

import (
	"context"
	"errors"
	"slices"
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
	"github.com/millrace-go/millrace/bus/watermillbus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// pubSub is a Pub/Sub whose calls the test answers by hand.
type pubSub struct {
	publish func(m *message.Message) error

	mu     sync.Mutex
	closed int
}

func (p *pubSub) Publish(_ string, messages ...*message.Message) error {
	return p.publish(messages[0])
}

func (p *pubSub) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	context.AfterFunc(ctx, func() { close(out) })
	return out, nil
}

func (p *pubSub) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed++
	return nil
}

func (p *pubSub) config() watermillbus.Config {
	return watermillbus.Config{
		Publisher:  func(context.Context) (message.Publisher, error) { return p, nil },
		Subscriber: func(context.Context, string) (message.Subscriber, error) { return p, nil },
	}
}

func open(t *testing.T, cfg watermillbus.Config) watermillbus.Driver {
	t.Helper()
	d, err := watermillbus.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, d.Close(), "close the driver")
	})
	return d
}

func msg(key, text string) *message.Message {
	m := message.NewMessage(text, []byte(text))
	m.Metadata.Set(event.KeyHeader, key)
	return m
}

var errDown = errors.New("down")

func TestOpeningCallsNothing(t *testing.T) {
	calls := 0
	d := open(t, watermillbus.Config{
		Publisher:  func(context.Context) (message.Publisher, error) { calls++; return nil, errDown },
		Subscriber: func(context.Context, string) (message.Subscriber, error) { calls++; return nil, errDown },
		Ping:       func(context.Context) error { calls++; return errDown },
	})
	require.Equalf(t, 0, calls, "New made %d calls", calls)
	_, subscribing := d.Source(t.Context(), "t", "g", 1)
	for what, err := range map[string]error{
		"publish":   d.Publisher().Publish("t", msg("k", "1")),
		"subscribe": subscribing,
		"declare":   d.Declare(t.Context(), bus.Topic{Name: "t", Groups: []string{"g"}}),
		"ping":      d.Ping(t.Context()),
	} {
		if !errors.Is(err, errDown) || fault.Of(err) != fault.Infrastructure {
			t.Errorf("%s: %v, of class %s, want an infrastructure error", what, err, fault.Of(err))
		}
	}
	assert.ErrorIs(t, open(t, (&pubSub{}).config()).Ping(t.Context()), errors.ErrUnsupported, "ping without Config.Ping")
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	p := (&pubSub{}).config()
	for field, cfg := range map[string]watermillbus.Config{
		"Config.Publisher": {Subscriber: p.Subscriber}, "Config.Subscriber": {Publisher: p.Publisher},
	} {
		if _, err := watermillbus.New(cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("without %s: %v", field, err)
		}
	}
}

func TestErrorsAreClassified(t *testing.T) {
	errTooLarge, errBusy, errMarked := errors.New("too large"), errors.New("busy"), fault.MarkPermanent(errors.New("marked"))
	p := &pubSub{}
	cfg := p.config()
	cfg.Classify = func(err error) fault.Class {
		switch {
		case errors.Is(err, errTooLarge):
			return fault.Permanent
		case errors.Is(err, errBusy):
			return fault.Transient
		}
		return fault.Unclassified
	}
	d := open(t, cfg)
	for err, want := range map[error]struct {
		class   fault.Class
		outcome driver.Outcome
	}{
		errTooLarge: {fault.Permanent, driver.Refused}, errMarked: {fault.Permanent, driver.Refused},
		errBusy: {fault.Transient, driver.Unknown}, errDown: {fault.Infrastructure, driver.Unknown},
	} {
		p.publish = func(*message.Message) error { return err }
		got := d.Publisher().Publish("t", msg("k", "1"))
		var failed *bus.PublishError
		if !errors.As(got, &failed) || failed.Outcomes[0] != want.outcome || fault.Of(got) != want.class {
			t.Errorf("%v: got %v of class %s, want %s and %s", err, got, fault.Of(got), want.outcome, want.class)
		}
	}
}

func TestPublishSaysWhatBecameOfEachMessage(t *testing.T) {
	p := &pubSub{publish: func(m *message.Message) error {
		if m.UUID == "a2" {
			return errDown
		}
		return nil
	}}
	d := open(t, p.config())
	all := []*message.Message{msg("a", "a1"), msg("b", "b1"), msg("a", "a2"), msg("b", "b2"), msg("a", "a3")}
	err := d.Publisher().Publish("t", all...)
	var failed *bus.PublishError
	require.Truef(t, errors.As(err, &failed), "got %v, want a bus.PublishError", err)
	want := []driver.Outcome{driver.Published, driver.Published, driver.Unknown, driver.Published, driver.NotSent}
	if !slices.Equal(failed.Outcomes, want) || failed.ID != "a2" || failed.First != 2 || failed.Topic != "t" || !errors.Is(err, errDown) {
		t.Errorf("got %v, %+v; want the outcomes %v and a2 as the first", err, failed, want)
	}
}

// What the adapter was not asked for did not leave the process.
func TestPublishSendsNothingAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := &pubSub{publish: func(m *message.Message) error {
		if m.UUID == "late" {
			t.Errorf("the adapter was called for %s", m.UUID)
		}
		cancel()
		return nil
	}}
	d := open(t, p.config())
	late := msg("a", "late")
	late.SetContext(ctx) // it ends while the message before it is published
	err := d.Publisher().Publish("t", msg("a", "first"), late)
	var failed *bus.PublishError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, []driver.Outcome{driver.Published, driver.NotSent}, failed.Outcomes, "after the end of a context")
	require.ErrorIs(t, err, context.Canceled)

	require.NoError(t, d.Close())
	err = d.Publisher().Publish("t", msg("a", "late"))
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, []driver.Outcome{driver.NotSent}, failed.Outcomes, "after Close")
	require.ErrorIs(t, err, bus.ErrClosed)
}

func TestPublishKeepsTheOrderOfKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		published := map[string][]string{}
		p := &pubSub{publish: func(m *message.Message) error {
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			published[event.Key(m)] = append(published[event.Key(m)], m.UUID)
			return nil
		}}
		d := open(t, p.config())
		var all []*message.Message
		want := []string{"1", "2", "3", "4", "5"}
		for _, n := range want {
			for _, key := range []string{"", "a", "b"} {
				all = append(all, msg(key, n))
			}
		}
		began := time.Now()
		require.NoError(t, d.Publisher().Publish("t", all...))
		for key, got := range published {
			if !slices.Equal(got, want) {
				t.Errorf("key %q: published %v, want %v", key, got, want)
			}
		}
		if took := time.Since(began); len(published) != 3 || took != 5*time.Second {
			t.Errorf("%d keys took %s, want 3 beside each other in 5 s", len(published), took)
		}
	})
}

// Some adapters add their server's id to the metadata of the message that they publish.
func TestPublishChangesNoMessage(t *testing.T) {
	p := &pubSub{publish: func(m *message.Message) error {
		m.Metadata.Set("id of the server", "1")
		return nil
	}}
	m := msg("k", "1")
	require.NoError(t, open(t, p.config()).Publisher().Publish("t", m))
	if len(m.Metadata) != 1 || m.Metadata[event.KeyHeader] != "k" {
		t.Errorf("after Publish the metadata is %v, want the key alone", m.Metadata)
	}
}

func TestTheEndOfAContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := &pubSub{publish: func(m *message.Message) error {
			<-release
			if m.UUID != "1" || string(m.Payload) != "1" {
				t.Errorf("the adapter reads %s %q, which its caller has used again", m.UUID, m.Payload)
			}
			return nil
		}}
		cfg := p.config()
		cfg.Subscriber = func(context.Context, string) (message.Subscriber, error) { <-release; return p, nil }
		d := open(t, cfg)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m := msg("k", "1")
		m.SetContext(ctx)
		err := d.Publisher().Publish("t", m)
		m.Payload[0] = 'x'
		var failed *bus.PublishError
		if !errors.As(err, &failed) || failed.Outcomes[0] != driver.Unknown || fault.Of(err) != fault.Infrastructure || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("publish: got %v, want that the outcome is unknown, as infrastructure", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := d.Source(ctx, "t", "g", 1); !errors.Is(err, context.DeadlineExceeded) || fault.Of(err) != fault.Infrastructure {
			t.Errorf("subscribe: got %v", err)
		}
		close(release)
	})
}

func TestCloseClosesWhatCameTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := &pubSub{publish: func(*message.Message) error { return nil }}
		cfg := p.config()
		late := cfg
		shared := 0
		late.Close = func() error { shared = p.closed; return nil }
		subscriptions := 0
		late.Subscriber = func(context.Context, string) (message.Subscriber, error) {
			if subscriptions++; subscriptions == 2 {
				<-release
			}
			return p, nil
		}
		d, err := watermillbus.New(late)
		require.NoError(t, err)
		require.NoError(t, d.Publisher().Publish("t", msg("k", "1")))
		source, err := d.Source(t.Context(), "t", "g", 1) // its user does not close it
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { time.Sleep(time.Second); cancel() }()
		if _, err := d.Source(ctx, "t", "g", 1); !errors.Is(err, context.Canceled) {
			t.Fatalf("a subscription that nobody waits for: %v", err)
		}
		time.AfterFunc(time.Minute, func() { close(release) })
		for range 2 {
			assert.NoError(t, d.Close())
		}
		assert.Equal(t, 3, shared, "of a publisher and two subscribers were closed before what they share")
		if err := source.Close(); err != nil || p.closed != 3 {
			t.Errorf("closing a source again: %v, %d closed", err, p.closed)
		}
		if _, err := d.Source(t.Context(), "t", "g", 1); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("subscribe after Close: %v", err)
		}
		assert.ErrorIs(t, d.Publisher().Publish("t", msg("k", "1")), bus.ErrClosed, "publish after Close")
	})
}

// A panic of the adapter fails its own call: the adapter is called on a goroutine of its own, where
// a panic would end the process.
func TestAnAdaptersPanicFailsItsCall(t *testing.T) {
	p := &pubSub{publish: func(m *message.Message) error {
		if m.UUID == "poison" {
			panic("nil map")
		}
		return nil
	}}
	d := open(t, p.config())
	err := d.Publisher().Publish("t", msg("a", "1"), msg("b", "poison"), msg("c", "2"))
	var some *bus.PublishError
	if !errors.As(err, &some) || !slices.Equal(some.Outcomes, []driver.Outcome{driver.Published, driver.Unknown, driver.Published}) {
		t.Errorf("the call failed with %v", err)
	}
	if fault.Of(err) != fault.Infrastructure || !strings.Contains(err.Error(), "panicked: nil map") {
		t.Errorf("%v, of class %s", err, fault.Of(err))
	}
	assert.NoError(t, d.Publisher().Publish("t", msg("a", "3")), "the next call")
}
