package metrics_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/metrics/promtest"
)

func TestCoalesceCollector(t *testing.T) {
	c, err := coalesce.New(memcoalesce.New(), coalesce.Config{})
	require.NoError(t, err)
	collector, err := metrics.New(c)
	require.NoError(t, err)
	wanted := map[string]float64{
		"millrace_coalesce_hit_total": 0, "millrace_coalesce_upgrade_total": 0, "millrace_coalesce_lock_conflict_total": 0, "millrace_coalesce_obsolete_total": 0,
	}
	if got := promtest.Read(t, collector); !maps.Equal(got, wanted) {
		t.Errorf("at the start: %v, want %v", got, wanted)
	}
	ctx := context.Background()
	low, err := c.Request(ctx, "k", driver.Low)
	require.NoError(t, err)
	for _, p := range []driver.Priority{driver.Low, driver.High, driver.Low, driver.High} {
		_, err := c.Request(ctx, "k", p)
		require.NoError(t, err)
	}
	for range 4 {
		_, err := c.Release(ctx, "k", driver.Low, low.Ticket.Version)
		require.NoError(t, err)
	}
	for range 5 {
		c.Skipped()
	}
	wanted = map[string]float64{
		"millrace_coalesce_hit_total": 3, "millrace_coalesce_upgrade_total": 1, "millrace_coalesce_lock_conflict_total": 4, "millrace_coalesce_obsolete_total": 5,
	}
	if got := promtest.Read(t, collector); !maps.Equal(got, wanted) {
		t.Errorf("%v, want %v", got, wanted)
	}
	if _, err := metrics.New[*coalesce.Coalescer](nil); err == nil {
		t.Error("a collector of nothing was made")
	}
}

func ExampleNew_coalescer() {
	coalescer, err := coalesce.New(memcoalesce.New(), coalesce.Config{})
	if err != nil {
		panic(err)
	}
	collector, err := metrics.New(coalescer)
	if err != nil {
		panic(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	for _, f := range families {
		fmt.Println(f.GetName(), f.GetMetric()[0].GetCounter().GetValue())
	}
	fmt.Println(err)
	// Output:
	// millrace_coalesce_hit_total 0
	// millrace_coalesce_lock_conflict_total 0
	// millrace_coalesce_obsolete_total 0
	// millrace_coalesce_upgrade_total 0
	// <nil>
}
