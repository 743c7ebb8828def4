package metrics_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/metrics/promtest"
)

func newCounter(t testing.TB, log driver.Source) *counter.Counter {
	t.Helper()
	c, err := counter.New("comment", memcounter.New(), counter.Config{Applier: memcounter.NewApplier(), Source: log})
	require.NoError(t, err)
	return c
}

// countersScrape returns each series with its value.
func countersScrape(t testing.TB, c *counter.Counter) map[string]float64 {
	t.Helper()
	collector, err := metrics.New(c)
	require.NoError(t, err)
	return promtest.Read(t, collector)
}

func countersExpect(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if is, ok := got[name]; !ok || is != value {
			t.Errorf("%s is %v, there: %t; want %v", name, is, ok, value)
		}
	}
	assert.Len(t, got, len(want), "series")
}

func TestCountersEverySeriesFromTheStart(t *testing.T) {
	countersExpect(t, countersScrape(t, newCounter(t, nil)), map[string]float64{
		"millrace_counter_adds_total comment ok": 0, "millrace_counter_adds_total comment failed": 0,
		"millrace_counter_rounds_total comment ok": 0, "millrace_counter_rounds_total comment standby": 0,
		"millrace_counter_rounds_total comment failed": 0, "millrace_counter_batches_total comment": 0,
		"millrace_counter_rows_total comment": 0, "millrace_counter_repeated_batches_total comment": 0,
		"millrace_counter_discarded_deltas_total comment": 0,
	})
}

func TestCountersCounts(t *testing.T) {
	log := memcounter.NewLog()
	c := newCounter(t, log)
	for range 3 {
		require.NoError(t, log.Append(driver.Change{Key: "a", N: 1}))
		require.NoError(t, c.Add(t.Context(), "a", 1))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Error(t, c.Add(gone, "a", 1), "an addition succeeded in a context that has ended")
	if _, err := c.Flush(gone); err == nil {
		t.Error("a flush succeeded in a context that has ended")
	}
	for range 2 {
		_, err := c.Flush(t.Context())
		require.NoError(t, err)
	}
	countersExpect(t, countersScrape(t, c), map[string]float64{
		"millrace_counter_adds_total comment ok": 3, "millrace_counter_adds_total comment failed": 1,
		"millrace_counter_rounds_total comment ok": 2, "millrace_counter_rounds_total comment standby": 0,
		"millrace_counter_rounds_total comment failed": 1, "millrace_counter_batches_total comment": 1,
		"millrace_counter_rows_total comment": 3, "millrace_counter_repeated_batches_total comment": 0,
		"millrace_counter_discarded_deltas_total comment": 1,
	})
}

// TestCountersOfTwoNames: counters of different names are in one registry, and one name is there
// once.
func TestCountersOfTwoNames(t *testing.T) {
	registry := prometheus.NewRegistry()
	register := func(name string) error {
		c, err := counter.New(name, memcounter.New(), counter.Config{})
		require.NoError(t, err)
		collector, err := metrics.New(c)
		require.NoError(t, err)
		return registry.Register(collector)
	}
	for _, name := range []string{"comment", "view"} {
		assert.NoErrorf(t, register(name), "%s", name)
	}
	if _, err := metrics.New[*counter.Counter](nil); err == nil {
		t.Error("a nil counter was taken")
	}
	assert.Error(t, register("view"), "a name was registered twice")
	families, err := registry.Gather()
	if err != nil || len(families) != 6 || len(families[0].GetMetric()) != 4 {
		t.Errorf("%d families, %v", len(families), err)
	}
}
