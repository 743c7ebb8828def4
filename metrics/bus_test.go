package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/metrics/promtest"
)

// busStand is a bus in memory, its runner and their collector.
type busStand struct {
	*testing.T
	bus       *bus.Bus
	lags      *bus.LagMonitor
	runner    *bus.Runner
	collector prometheus.Collector
}

// newBusStand makes a busStand on the transport from over, or on memory when over is nil.
func newBusStand(t *testing.T, over func(busdriver.Driver) busdriver.Driver, cfg metrics.BusConfig) *busStand {
	t.Helper()
	driver, err := membus.Scheme().Open(t.Context(), &url.URL{Scheme: "mem"})
	require.NoError(t, err)
	var d = driver
	if over != nil {
		d = over(driver)
	}
	s := &busStand{T: t, bus: bus.New("mem", d)}
	t.Cleanup(func() {
		assert.NoError(t, s.bus.Close())
	})
	quiet := slog.New(slog.DiscardHandler)
	if s.lags, err = bus.NewLagMonitor(s.bus, bus.LagMonitorConfig{Every: time.Second, Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	cfg.Bus, cfg.Lags = s.bus, s.lags
	if cfg.Consumers == nil {
		cfg.Consumers = []metrics.Consumer{{Topic: "t", Group: "g"}}
	}
	cfg.Status = func() []bus.ConsumerStatus { return s.runner.Status() }
	var hooks bus.Hooks
	if s.collector, hooks, err = metrics.NewBus(cfg); err != nil {
		t.Fatal(err)
	}
	if s.runner, err = bus.NewRunner(s.bus, bus.RunnerConfig{Logger: quiet, Hooks: hooks}); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs the monitor and the runner until the test ends.
func (s *busStand) run(consumers ...bus.AnyConsumer) {
	s.Helper()
	for _, c := range consumers {
		if err := s.runner.Add(c); err != nil {
			s.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- s.runner.Run(ctx) }()
	<-s.runner.Running()
	go func() { done <- s.lags.Run(ctx) }()
	s.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				s.Error(err)
			}
		}
	})
}

func (s *busStand) publish(topic string, keys ...string) {
	s.Helper()
	for _, key := range keys {
		m := message.NewMessage(key, []byte(key))
		m.Metadata.Set(event.KeyHeader, key)
		if err := s.bus.Publisher().Publish(topic, m); err != nil {
			s.Fatal(err)
		}
	}
}

// expect compares series with a scrape.
func (s *busStand) expect(when string, want map[string]float64) {
	s.Helper()
	got := promtest.Read(s, s.collector)
	for name, value := range want {
		if is, ok := got[name]; !ok || is != value {
			s.Errorf("%s: %s is %v, there: %t; want %v", when, name, is, ok, value)
		}
	}
}

func TestBusEverySeriesFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBusStand(t, nil, metrics.BusConfig{Consumers: []metrics.Consumer{
			{Topic: "t", Group: "g"}, {Topic: "t", Group: "h"}, {Topic: "q", Group: "mail_queue", DeadLetters: "mail_dlq"},
		}})
		want := []string{
			"millrace_consumer_lag_age_seconds", "millrace_bus_published_total", "millrace_bus_publish_failed_total",
			"millrace_dead_letters t.DLT", "millrace_dead_letters mail_dlq",
		}
		for _, consumer := range []string{" g t", " h t", " mail_queue q"} {
			for _, name := range []string{
				"millrace_consumer_lag", "millrace_consumer_lag_seconds", "millrace_consumer_handled_total", "millrace_consumer_retried_total", "millrace_consumer_dead_lettered_total",
				"millrace_consumer_obsolete_total", "millrace_consumer_ignored_total", "millrace_consumer_batches_total", "millrace_consumer_pauses_total", "millrace_consumer_paused", "millrace_consumer_in_flight", "millrace_consumer_overdue", "millrace_consumer_overdue_seconds", "millrace_consumer_handler_duration_seconds",
			} {
				want = append(want, name+consumer)
			}
		}
		got := promtest.Read(t, s.collector)
		for _, name := range want {
			if value, ok := got[name]; !ok || value != 0 {
				t.Errorf("%s is %v, there: %t", name, value, ok)
			}
		}
		assert.Len(t, got, len(want), "series")
	})
}

func TestBusConsumersAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBusStand(t, nil, metrics.BusConfig{})
		var down atomic.Bool
		var late atomic.Int64
		s.run(bus.Consumer{Topic: "t", Group: "g", Handler: func(m *message.Message) error {
			time.Sleep(100 * time.Millisecond)
			switch {
			case down.Load():
				return fault.MarkInfrastructure(errors.New("the database is away"))
			case m.UUID == "bad":
				return fault.MarkPermanent(errors.New("no such show"))
			case m.UUID == "late" && late.Add(1) == 1:
				return errors.New("timeout")
			}
			return nil
		}})
		s.publish("t", "good")
		time.Sleep(50 * time.Millisecond)
		s.expect("while it works", map[string]float64{"millrace_consumer_in_flight g t": 1, "millrace_consumer_handled_total g t": 0})
		s.publish("t", "bad", "late")
		time.Sleep(20 * time.Second)
		s.expect("when it is done", map[string]float64{
			"millrace_consumer_in_flight g t": 0, "millrace_consumer_handled_total g t": 2, "millrace_consumer_dead_lettered_total g t": 1, "millrace_consumer_retried_total g t": 1,
			"millrace_consumer_handler_duration_seconds g t": 4, "millrace_consumer_pauses_total g t": 0, "millrace_consumer_paused g t": 0,
			"millrace_dead_letters t.DLT": 1, "millrace_bus_published_total": 4, "millrace_consumer_lag g t": 0,
		})
		down.Store(true)
		s.publish("t", "patient")
		time.Sleep(2 * time.Second)
		s.expect("while a dependency is down", map[string]float64{
			"millrace_consumer_pauses_total g t": 1, "millrace_consumer_paused g t": 1, "millrace_consumer_lag g t": 1, "millrace_consumer_lag_seconds g t": 1.95,
		})
		down.Store(false)
		time.Sleep(time.Minute)
		s.expect("when it is back", map[string]float64{"millrace_consumer_pauses_total g t": 1, "millrace_consumer_paused g t": 0, "millrace_consumer_handled_total g t": 3})
	})
}

func TestBusBatchesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBusStand(t, nil, metrics.BusConfig{})
		s.run(bus.BatchConsumer{
			Topic: "t", Group: "g", Current: func(_ context.Context, key string) (uint64, error) { return map[string]uint64{"old": 2}[key], nil },
			Handler: func(context.Context, []*message.Message) error { return nil },
		})
		for _, key := range []string{"old", "new"} {
			e, err := event.New("Asked", "test", nil)
			require.NoError(t, err)
			e.AggregateID, e.Sequence = key, 1
			m, err := event.Structured{}.Encode(e)
			require.NoError(t, err)
			require.NoError(t, s.bus.Publisher().Publish("t", m))
		}
		time.Sleep(time.Second)
		s.expect("a batch", map[string]float64{
			"millrace_consumer_handled_total g t": 1, "millrace_consumer_obsolete_total g t": 1, "millrace_consumer_batches_total g t": 1, "millrace_consumer_handler_duration_seconds g t": 1,
		})
	})
}

// busAway is a transport that refuses to publish.
type busAway struct{ busdriver.Driver }

func (a busAway) Publisher() message.Publisher            { return a }
func (busAway) Publish(string, ...*message.Message) error { return errors.New("no broker") }
func (a busAway) Lag(ctx context.Context) ([]bus.Lag, error) {
	return a.Driver.(busdriver.Lagger).Lag(ctx)
}

func TestBusFailedPublishesAreCounted(t *testing.T) {
	s := newBusStand(t, func(d busdriver.Driver) busdriver.Driver { return busAway{d} }, metrics.BusConfig{})
	assert.Error(t, s.bus.Publisher().Publish("t", message.NewMessage("1", nil), message.NewMessage("2", nil)), "nobody refused")
	s.expect("refused", map[string]float64{"millrace_bus_publish_failed_total": 2, "millrace_bus_published_total": 0})
}

// parts is a transport that reports a group's lag in parts, and hangs on request.
type parts struct {
	busdriver.Driver
	hangs *atomic.Bool
	asked *atomic.Int64
}

func (p parts) Lag(ctx context.Context) ([]bus.Lag, error) {
	p.asked.Add(1)
	if p.hangs.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	now := time.Now()
	return []bus.Lag{
		{Topic: "t", Group: "g", Messages: 2, Oldest: now.Add(-time.Minute)},
		{Topic: "t", Group: "g"},
		{Topic: "t", Group: "g", Messages: 3, Oldest: now.Add(-time.Hour)},
		{Topic: "t", Group: "of another program", Messages: 9},
		{Topic: "t.DLT", Group: busdriver.RedriveGroup, Messages: 4},
		{Topic: "t.DLT", Group: "archive", Messages: 8},
	}, nil
}

func newParts(t *testing.T, cfg metrics.BusConfig) (*busStand, parts) {
	p := parts{hangs: &atomic.Bool{}, asked: &atomic.Int64{}}
	s := newBusStand(t, func(d busdriver.Driver) busdriver.Driver { p.Driver = d; return p }, cfg)
	s.run()
	return s, p
}

func TestBusLagAndDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newParts(t, metrics.BusConfig{})
		synctest.Wait()
		s.expect("told in parts", map[string]float64{
			"millrace_consumer_lag g t": 5, "millrace_consumer_lag_seconds g t": 3600, "millrace_dead_letters t.DLT": 4, "millrace_consumer_lag_age_seconds": 0,
		})
		assert.Len(t, promtest.Read(t, s.collector), 18, "groups of other programs are shown")
		counted, _ := newParts(t, metrics.BusConfig{DeadLetters: func(topic string) int { return len(topic) }})
		synctest.Wait()
		counted.expect("counted elsewhere", map[string]float64{"millrace_dead_letters t.DLT": 5})
	})
}

func TestBusScrapeAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := newParts(t, metrics.BusConfig{})
		synctest.Wait()
		p.hangs.Store(true)
		time.Sleep(20*time.Second + time.Millisecond)
		asked, began := p.asked.Load(), time.Now()
		s.expect("while the transport hangs", map[string]float64{
			"millrace_consumer_lag g t": 5, "millrace_consumer_lag_seconds g t": 3600, "millrace_consumer_lag_age_seconds": 20.001,
		})
		if took := time.Since(began); took != 0 || p.asked.Load() != asked {
			t.Errorf("a scrape took %v and asked the transport %d times", took, p.asked.Load()-asked)
		}
	})
	// A transport that never answered differs from a fresh one without messages.
	synctest.Test(t, func(t *testing.T) {
		s := newBusStand(t, nil, metrics.BusConfig{})
		time.Sleep(7 * time.Second)
		s.expect("before the first answer", map[string]float64{"millrace_consumer_lag g t": 0, "millrace_consumer_lag_age_seconds": 7})
	})
}

// blind is a transport that cannot tell its lag.
type blind struct{ busdriver.Driver }

func TestBusTransportThatCannotTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, count := range []func(string) int{nil, func(string) int { return 6 }} {
			s := newBusStand(t, func(d busdriver.Driver) busdriver.Driver { return blind{d} }, metrics.BusConfig{DeadLetters: count})
			s.run()
			synctest.Wait()
			dead := 0
			for name, value := range promtest.Read(t, s.collector) {
				switch {
				case strings.HasPrefix(name, "millrace_consumer_lag"):
					t.Errorf("%s is shown", name)
				case strings.HasPrefix(name, "millrace_dead_letters"):
					dead += int(value)
				}
			}
			assert.Equal(t, map[bool]int{true: 0, false: 6}[count == nil], dead, "dead letters are shown")
		}
	})
}

func TestBusConfig(t *testing.T) {
	s := newBusStand(t, nil, metrics.BusConfig{})
	one := []metrics.Consumer{{Topic: "t", Group: "g"}}
	for field, cfg := range map[string]metrics.BusConfig{
		"Bus": {}, "Lags": {Bus: s.bus}, "Consumers is empty": {Bus: s.bus, Lags: s.lags},
		"Consumers[0]": {Bus: s.bus, Lags: s.lags, Consumers: []metrics.Consumer{{Topic: "t"}}},
		"Consumers[1]": {Bus: s.bus, Lags: s.lags, Consumers: append(one, one...)},
		"Buckets":      {Bus: s.bus, Lags: s.lags, Consumers: one, Buckets: []float64{2, 1}},
		"Buckets [1 1": {Bus: s.bus, Lags: s.lags, Consumers: one, Buckets: []float64{1, 1}},
	} {
		if _, _, err := metrics.NewBus(cfg); err == nil || !strings.Contains(err.Error(), "Config."+field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func ExampleNewBus() {
	b, err := bus.Open(context.Background(), "mem://", membus.Scheme())
	if err != nil {
		panic(err)
	}
	defer b.Close() //nolint:errcheck // an example
	lags, err := bus.NewLagMonitor(b, bus.LagMonitorConfig{})
	if err != nil {
		panic(err)
	}
	var runner *bus.Runner
	collector, hooks, err := metrics.NewBus(metrics.BusConfig{
		Bus: b, Lags: lags, Consumers: []metrics.Consumer{{Topic: "payment.events", Group: "mailer", DeadLetters: "dlq.payment"}},
		Status: func() []bus.ConsumerStatus { return runner.Status() },
	})
	if err != nil {
		panic(err)
	}
	if runner, err = bus.NewRunner(b, bus.RunnerConfig{Hooks: hooks}); err != nil {
		panic(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	fmt.Println(len(families), err)
	// Output: 18 <nil>
}
