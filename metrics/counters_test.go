package metrics_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/metrics/promtest"
)

func countersPair(t testing.TB, log driver.Source) (*counter.Counter, *counter.Flusher) {
	t.Helper()
	c, err := counter.New("comment", memcounter.New(), counter.Config{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := counter.NewFlusher(c, memcounter.NewApplier(), counter.FlusherConfig{Source: log})
	if err != nil {
		t.Fatal(err)
	}
	return c, f
}

// countersScrape returns each series with its value.
func countersScrape(t testing.TB, c *counter.Counter, f *counter.Flusher) map[string]float64 {
	t.Helper()
	collector, err := metrics.NewCounters([]*counter.Counter{c}, []*counter.Flusher{f})
	if err != nil {
		t.Fatal(err)
	}
	return promtest.Read(t, collector)
}

func countersExpect(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if is, ok := got[name]; !ok || is != value {
			t.Errorf("%s is %v, there: %t; want %v", name, is, ok, value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d series, want %d: %v", len(got), len(want), got)
	}
}

func TestCountersEverySeriesFromTheStart(t *testing.T) {
	c, f := countersPair(t, nil)
	countersExpect(t, countersScrape(t, c, f), map[string]float64{
		"millrace_counter_adds_total comment ok": 0, "millrace_counter_adds_total comment failed": 0,
		"millrace_counter_rounds_total comment ok": 0, "millrace_counter_rounds_total comment standby": 0,
		"millrace_counter_rounds_total comment failed": 0, "millrace_counter_batches_total comment": 0,
		"millrace_counter_rows_total comment": 0, "millrace_counter_repeated_batches_total comment": 0,
		"millrace_counter_discarded_deltas_total comment": 0,
	})
}

func TestCountersCounts(t *testing.T) {
	log := memcounter.NewLog()
	c, f := countersPair(t, log)
	for range 3 {
		if err := log.Append(driver.Change{Key: "a", N: 1}); err != nil {
			t.Fatal(err)
		}
		if err := c.Add(t.Context(), "a", 1); err != nil {
			t.Fatal(err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Add(gone, "a", 1); err == nil {
		t.Error("an addition succeeded in a context that has ended")
	}
	if _, err := f.Flush(gone); err == nil {
		t.Error("a flush succeeded in a context that has ended")
	}
	for range 2 {
		if _, err := f.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	countersExpect(t, countersScrape(t, c, f), map[string]float64{
		"millrace_counter_adds_total comment ok": 3, "millrace_counter_adds_total comment failed": 1,
		"millrace_counter_rounds_total comment ok": 2, "millrace_counter_rounds_total comment standby": 0,
		"millrace_counter_rounds_total comment failed": 1, "millrace_counter_batches_total comment": 1,
		"millrace_counter_rows_total comment": 3, "millrace_counter_repeated_batches_total comment": 0,
		"millrace_counter_discarded_deltas_total comment": 1,
	})
}

func TestCountersConfig(t *testing.T) {
	c, f := countersPair(t, nil)
	for want, give := range map[string]struct {
		counters []*counter.Counter
		flushers []*counter.Flusher
	}{
		"neither":     {},
		"counters[0]": {[]*counter.Counter{nil}, nil},
		"counters[1]": {[]*counter.Counter{c, c}, nil},
		"flushers[0]": {nil, []*counter.Flusher{nil}},
		"flushers[1]": {nil, []*counter.Flusher{f, f}},
	} {
		if _, err := metrics.NewCounters(give.counters, give.flushers); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want an error about %s", err, want)
		}
	}
}

func ExampleNewCounters() {
	views, err := counter.New("view", memcounter.New(), counter.Config{})
	if err != nil {
		panic(err)
	}
	collector, err := metrics.NewCounters([]*counter.Counter{views}, nil)
	if err != nil {
		panic(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	fmt.Println(len(families), err)
	// Output: 1 <nil>
}
