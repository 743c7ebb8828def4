package bus_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/fault"
)

// away is a driver whose server is absent for Declare and Source.
type away struct {
	driver.Driver
	mu              sync.Mutex
	declare, source error // nil when the server is there
}

func (a *away) set(declare, source error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.declare, a.source = declare, source
}

func (a *away) Declare(ctx context.Context, topics ...bus.Topic) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.declare != nil {
		return a.declare
	}
	return a.Driver.Declare(ctx, topics...)
}

func (a *away) Source(ctx context.Context, topic, group string, window int) (driver.Source, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.source != nil {
		return nil, a.source
	}
	return a.Driver.Source(ctx, topic, group, window)
}

var (
	errRefused = fault.MarkInfrastructure(errors.New("connection refused"))
	errName    = fault.MarkPermanent(errors.New("no such name"))
)

// said is a log whose lines are counted.
type said struct {
	mu   sync.Mutex
	text []string
}

func (l *said) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, string(p))
	return len(p), nil
}

func (l *said) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.text...)
}

func awayBus(t *testing.T, a *away) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), "mem://", membus.Scheme())
	require.NoError(t, err)
	a.Driver = b.Driver()
	return bus.New("away", a)
}

func awayRunner(t *testing.T, b *bus.Bus, log *said, seen chan string) *bus.Runner {
	t.Helper()
	r, err := bus.NewRunner(b, bus.RunnerConfig{Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	require.NoError(t, r.Add(bus.Consumer{Topic: "topic", Group: "group", Handler: func(m *message.Message) error {
		seen <- string(m.Payload)
		return nil
	}}))
	return r
}

// Run waits twice: for the topics, and for each subscription.
func TestRunWaitsForAnAbsentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, log, seen := &away{declare: errRefused, source: errRefused}, &said{}, make(chan string, 1)
		b := awayBus(t, a)
		r := awayRunner(t, b, log, seen)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()

		time.Sleep(10 * time.Minute)
		all := log.all()
		require.Greater(t, len(all), 20, "one try in 30 s, at least")
		require.Less(t, len(all), 40, "the wait grows")
		require.Contains(t, all[0], "level=WARN")
		require.Contains(t, all[0], "declare the topics")
		require.Contains(t, all[0], "connection refused")

		a.set(nil, errRefused)
		time.Sleep(5 * time.Minute)
		require.Contains(t, log.all()[len(log.all())-1], "to subscribe")
		select {
		case <-r.Running():
			t.Fatal("it runs without a subscription")
		default:
		}

		a.set(nil, nil)
		<-r.Running()
		publish(t, b, "topic", keyed("k", 1))
		require.Equal(t, "k#1", <-seen)
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, b.Close())
	})
}

func TestTheEndOfTheContextEndsTheWait(t *testing.T) {
	for name, a := range map[string]*away{"declare": {declare: errRefused}, "subscribe": {source: errRefused}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &away{declare: a.declare, source: a.source}
				b := awayBus(t, a)
				r := awayRunner(t, b, &said{}, nil)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- r.Run(ctx) }()
				time.Sleep(time.Hour)
				stopped := time.Now()
				cancel()
				require.NoError(t, <-done)
				require.Zero(t, time.Since(stopped))
				require.NoError(t, b.Close())
			})
		})
	}
}

// An error that is not infrastructure ends Run.
func TestAPermanentErrorEndsRun(t *testing.T) {
	for name, a := range map[string]*away{"declare": {declare: errName}, "subscribe": {source: errName}} {
		t.Run(name, func(t *testing.T) {
			b := awayBus(t, a)
			log := &said{}
			require.ErrorIs(t, awayRunner(t, b, log, nil).Run(t.Context()), errName)
			require.Empty(t, strings.Join(log.all(), ""))
			require.NoError(t, b.Close())
		})
	}
}

// Subscribe waits until its context ends, or its subscriber is closed.
func TestSubscribeWaitsForAnAbsentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, log := &away{source: errRefused}, &said{}
		b := awayBus(t, a)
		sub, err := b.Subscriber("group", bus.SubscriberConfig{Logger: slog.New(slog.NewTextHandler(log, nil))})
		require.NoError(t, err)
		subscribe := func(ctx context.Context) chan error {
			done := make(chan error, 1)
			go func() {
				_, err := sub.Subscribe(ctx, "topic")
				done <- err
			}()
			return done
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended, there := subscribe(ctx), subscribe(t.Context())
		time.Sleep(time.Hour)
		require.NotEmpty(t, log.all())
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		a.set(nil, nil)
		require.NoError(t, <-there)

		a.set(nil, errRefused)
		closed := subscribe(t.Context())
		time.Sleep(time.Hour)
		began := time.Now()
		require.NoError(t, b.Close())
		require.ErrorIs(t, <-closed, bus.ErrClosed)
		require.Zero(t, time.Since(began))
	})
}

func TestPing(t *testing.T) {
	b := memBus(t)
	require.NoError(t, b.Ping(t.Context()))
	require.ErrorIs(t, bus.New("mute", &away{Driver: b.Driver()}).Ping(t.Context()), errors.ErrUnsupported)
	require.NoError(t, b.Close())
	require.ErrorIs(t, b.Ping(t.Context()), bus.ErrClosed)
}

// silent is a driver whose server never answers a Declare.
type silent struct{ driver.Driver }

func (silent) Declare(ctx context.Context, _ ...bus.Topic) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// Close also ends Watermill's SubscribeInitialize, which has no context.
func TestCloseEndsSubscribeInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sub, err := bus.New("silent", silent{memBus(t).Driver()}).Subscriber("g", bus.SubscriberConfig{})
		require.NoError(t, err)
		initialized := make(chan error, 1)
		go func() { initialized <- sub.(message.SubscribeInitializer).SubscribeInitialize("t") }()
		synctest.Wait()
		require.NoError(t, sub.Close())
		synctest.Wait()
		select {
		case err := <-initialized:
			require.ErrorIs(t, err, bus.ErrClosed)
		default:
			t.Fatal("it waits for the server after Close")
		}
	})
}
