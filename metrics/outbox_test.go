package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/metrics/promtest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

// outboxStand is an outbox in memory, its relay and their collector.
type outboxStand struct {
	*testing.T
	store     *outboxtest.Memory
	box       *outbox.Outbox
	pub       *outboxtest.Publisher
	monitor   *outbox.Monitor
	collector prometheus.Collector
	hooks     outbox.Hooks
}

func newOutboxStand(t *testing.T, store driver.Inspector, cfg metrics.OutboxConfig) *outboxStand {
	t.Helper()
	s := &outboxStand{T: t, store: outboxtest.NewMemory(1), pub: &outboxtest.Publisher{}}
	if store == nil {
		store = s.store
	}
	var err error
	if s.box, err = outbox.New(s.store, outbox.Config{Topic: "t"}); err != nil {
		t.Fatal(err)
	}
	if s.monitor, err = outbox.NewMonitor(store, outbox.MonitorConfig{Every: time.Second}); err != nil {
		t.Fatal(err)
	}
	cfg.Monitor = s.monitor
	if s.collector, s.hooks, err = metrics.NewOutbox(cfg); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs the monitor and a relay until the test calls stop.
func (s *outboxStand) run(cfg outbox.RelayConfig) (stop func()) {
	s.Helper()
	cfg.Hooks = s.hooks
	relay, err := outbox.NewRelay(s.store, s.pub, cfg)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- s.monitor.Run(ctx) }()
	go func() { done <- relay.Run(ctx) }()
	return func() {
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				s.Error(err)
			}
		}
	}
}

func (s *outboxStand) append(keys ...string) {
	s.Helper()
	err := s.store.Do(context.Background(), func(ctx context.Context, tx sqltx.Execer) error {
		for _, key := range keys {
			e, err := outboxtest.NewEvent(key, 1)
			if err != nil {
				return err
			}
			if err := s.box.Append(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
}

// expect compares series with the result of a scrape.
func (s *outboxStand) expect(when string, want map[string]float64) {
	s.Helper()
	got := promtest.Read(s, s.collector)
	for name, value := range want {
		if is, ok := got["millrace_outbox_"+name]; !ok || is != value {
			s.Errorf("%s: outbox_%s is %v, there: %t; want %v", when, name, is, ok, value)
		}
	}
}

func TestOutboxEverySeriesFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOutboxStand(t, nil, metrics.OutboxConfig{Shards: 2, Topics: []string{"t", "u"}})
		want := []string{"stats_age_seconds", "unreachable_total", "oldest_snapshot_seconds"}
		for _, shard := range []string{" 0", " 1"} {
			for _, name := range []string{
				"backlog", "oldest_age_seconds", "aside", "failing", "parked", "lease_taken", "lease_held", "round_duration_seconds", "pruned_total",
				"hung_total",
			} {
				want = append(want, name+shard)
			}
		}
		for _, topic := range []string{" t", " u"} {
			for _, name := range []string{"published_total", "failed_total", "parked_total", "publish_latency_seconds"} {
				want = append(want, name+topic)
			}
		}
		got := promtest.Read(t, s.collector)
		for _, name := range want {
			if value, ok := got["millrace_outbox_"+name]; !ok || value != 0 {
				t.Errorf("outbox_%s is %v, there: %t", name, value, ok)
			}
		}
		assert.Len(t, got, len(want), "series")
	})
}

func TestOutboxRelayIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOutboxStand(t, nil, metrics.OutboxConfig{Topics: []string{"t"}})
		s.append("a", "b", "c")
		time.Sleep(40 * time.Second)
		stop := s.run(outbox.RelayConfig{Retention: 10 * time.Second})
		synctest.Wait()
		s.expect("published", map[string]float64{
			"published_total t": 3, "publish_latency_seconds t": 3, "lease_held 0": 1, "failed_total t": 0,
		})
		if n := sum(t, s.collector, "millrace_outbox_publish_latency_seconds"); n < 120 {
			t.Errorf("3 events that waited 40 s took %v s", n)
		}
		if got := promtest.Read(t, s.collector); got["millrace_outbox_round_duration_seconds 0"] < 1 {
			t.Errorf("no round was measured: %v", got)
		}
		time.Sleep(61 * time.Second)
		s.expect("after a minute", map[string]float64{"pruned_total 0": 3, "backlog 0": 0, "lease_taken 0": 1, "oldest_age_seconds 0": 0})
		stop()
		s.expect("at the end", map[string]float64{"lease_held 0": 0})
	})
}

func TestOutboxFailuresAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOutboxStand(t, nil, metrics.OutboxConfig{Topics: []string{"t"}})
		var away atomic.Bool
		away.Store(true)
		s.pub.Fail = func(_ string, e event.Event) error {
			switch {
			case away.Load():
				return fault.MarkInfrastructure(errors.New("no broker"))
			case e.Key() == "bad":
				return errors.New("refused")
			}
			return nil
		}
		s.append("bad", "good")
		stop := s.run(outbox.RelayConfig{Ordering: outbox.ByKey, MaxAge: 10 * time.Second, Pause: outbox.Backoff{Max: 2 * time.Second}})
		defer stop()
		time.Sleep(4500 * time.Millisecond)
		got := promtest.Read(t, s.collector)
		if got["millrace_outbox_unreachable_total"] < 2 || got["millrace_outbox_failed_total t"] != 0 || got["millrace_outbox_backlog 0"] != 2 || got["millrace_outbox_oldest_age_seconds 0"] != 4 {
			t.Errorf("without a broker: %v", got)
		}
		away.Store(false)
		time.Sleep(4 * time.Second)
		s.append("more")
		time.Sleep(time.Second)
		got = promtest.Read(t, s.collector)
		if got["millrace_outbox_failed_total t"] < 1 || got["millrace_outbox_failing 0"] != 1 || got["millrace_outbox_aside 0"] != 1 || got["millrace_outbox_published_total t"] != 2 {
			t.Errorf("with an event that fails: %v", got)
		}
		for range 30 { // others are published, so the event is at fault
			s.append("more")
			time.Sleep(2 * time.Second)
		}
		s.expect("at last", map[string]float64{"parked 0": 1, "parked_total t": 1, "backlog 0": 0})
	})
}

func TestOutboxHungCallsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOutboxStand(t, nil, metrics.OutboxConfig{})
		var once sync.Once
		s.pub.Fail = func(string, event.Event) error { once.Do(func() { time.Sleep(45 * time.Second) }); return nil }
		s.append("a")
		stop := s.run(outbox.RelayConfig{})
		time.Sleep(40 * time.Second)
		s.expect("while the call hangs", map[string]float64{"hung_total 0": 1, "lease_held 0": 0})
		time.Sleep(10 * time.Second)
		s.expect("after it has returned", map[string]float64{"hung_total 0": 1, "lease_held 0": 1})
		stop()
	})
}

// hanging is a store that answers once, and then never.
type hanging struct{ asked atomic.Int64 }

func (h *hanging) Stats(ctx context.Context) ([]driver.ShardStats, error) {
	if h.asked.Add(1) == 1 {
		return []driver.ShardStats{{Backlog: 7, Oldest: time.Now().Add(-3 * time.Second)}}, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestOutboxScrapeAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{}
		s := newOutboxStand(t, store, metrics.OutboxConfig{})
		stop := s.run(outbox.RelayConfig{})
		defer stop()
		time.Sleep(20*time.Second + time.Millisecond)
		asked, began := store.asked.Load(), time.Now()
		s.expect("while the store hangs", map[string]float64{"backlog 0": 7, "oldest_age_seconds 0": 3, "stats_age_seconds": 20.001})
		if took := time.Since(began); took != 0 || store.asked.Load() != asked {
			t.Errorf("a scrape took %v and asked the store %d times", took, store.asked.Load()-asked)
		}
	})
}

// held is a store on a server where a session holds a snapshot.
type held struct{ hanging }

func (*held) OldestSnapshot(context.Context) (driver.Snapshot, error) {
	return driver.Snapshot{Age: 90 * time.Minute, Holder: "session 17 of pg_dump"}, nil
}

// The age is a series; the holder is not a label, or each holder would stay a series for ever.
func TestOutboxOldestSnapshotIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOutboxStand(t, &held{}, metrics.OutboxConfig{})
		s.expect("before the first answer", map[string]float64{"oldest_snapshot_seconds": 0})
		stop := s.run(outbox.RelayConfig{})
		defer stop()
		synctest.Wait()
		s.expect("after it", map[string]float64{"oldest_snapshot_seconds": 5400})
	})
}

func TestOutboxTopicsAreBounded(t *testing.T) {
	s := newOutboxStand(t, nil, metrics.OutboxConfig{Topics: []string{"t"}, MaxTopics: 3})
	for i := range 50 {
		s.hooks.Published(0, fmt.Sprintf("topic-%02d", i), time.Millisecond)
	}
	s.hooks.Published(0, "t", -time.Second) // clocks differ
	s.expect("50 topics", map[string]float64{"published_total t": 1, "published_total topic-00": 1, "published_total topic-01": 1, "published_total other": 48})
	if n := sum(t, s.collector, "millrace_outbox_publish_latency_seconds"); n < 0.049 || n > 0.051 {
		t.Errorf("the latencies add up to %v s, want 50 ms: none is negative", n)
	}
}

func TestOutboxHooksAreChained(t *testing.T) {
	var called []string
	note := func(name string) { called = append(called, name) }
	s := newOutboxStand(t, nil, metrics.OutboxConfig{Hooks: outbox.Hooks{
		Published: func(int, string, time.Duration) { note("published") },
		Failed:    func(int, string, int, error) { note("failed") },
		Parked:    func(int, string, string, error) { note("parked") },
		Hung:      func(int, string, time.Duration) { note("hung") },
		Round:     func(int, time.Duration, int) { note("round") },
		Lease:     func(int, bool) { note("lease") },
		Pruned:    func(int, int) { note("pruned") },
	}})
	alone := newOutboxStand(t, nil, metrics.OutboxConfig{})
	for _, h := range []outbox.Hooks{s.hooks, alone.hooks, s.hooks} {
		h.Published(0, "t", 0)
		h.Failed(0, "t", 1, nil)
		h.Parked(0, "t", "id", nil)
		h.Hung(0, "t", time.Second)
		h.Round(0, 0, 1)
		h.Lease(0, true)
		h.Pruned(0, 1)
	}
	once := []string{"published", "failed", "parked", "hung", "round", "lease", "pruned"}
	if want := slices.Concat(once, once); !slices.Equal(called, want) {
		t.Errorf("called: %v, want %v", called, want)
	}
	s.expect("called twice", map[string]float64{"published_total t": 2, "failed_total t": 2, "parked_total t": 2, "pruned_total 0": 2, "hung_total 0": 2})
	alone.expect("called once", map[string]float64{"published_total t": 1, "failed_total t": 1, "parked_total t": 1, "pruned_total 0": 1, "hung_total 0": 1})
}

func TestOutboxConfig(t *testing.T) {
	monitor, err := outbox.NewMonitor(outboxtest.NewMemory(1), outbox.MonitorConfig{})
	require.NoError(t, err)
	for field, cfg := range map[string]metrics.OutboxConfig{
		"Monitor": {}, "Shards": {Monitor: monitor, Shards: -1}, "MaxTopics": {Monitor: monitor, MaxTopics: -1},
		"Buckets": {Monitor: monitor, Buckets: []float64{2, 1}}, "Buckets [1 1": {Monitor: monitor, Buckets: []float64{1, 1}},
	} {
		if _, _, err := metrics.NewOutbox(cfg); err == nil || !strings.Contains(err.Error(), "Config."+field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// sum returns the sum of a histogram's observations.
func sum(t *testing.T, c prometheus.Collector, name string) (total float64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				total += m.GetHistogram().GetSampleSum()
			}
		}
	}
	return total
}

func ExampleNewOutbox() {
	store := outboxtest.NewMemory(1) // in production: pgoutbox.New or sqliteoutbox.New
	monitor, err := outbox.NewMonitor(store, outbox.MonitorConfig{})
	if err != nil {
		panic(err)
	}
	collector, hooks, err := metrics.NewOutbox(metrics.OutboxConfig{Monitor: monitor, Topics: []string{"payment.events"}})
	if err != nil {
		panic(err)
	}
	relay, err := outbox.NewRelay(store, &outboxtest.Publisher{}, outbox.RelayConfig{Hooks: hooks})
	if err != nil {
		panic(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	fmt.Println(relay != nil, len(families), err)
	// Output: true 17 <nil>
}
