package counterprom_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/counter"
	"github.com/millrace-go/millrace/counter/counterprom"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
	"github.com/millrace-go/millrace/internal/promtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pair(t testing.TB, log driver.Source) (*counter.Counter, *counter.Flusher) {
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

var labels = prometheus.Labels{"app": "box"}

// scrape returns each series with its value.
func scrape(t testing.TB, c *counter.Counter, f *counter.Flusher) map[string]float64 {
	t.Helper()
	collector, err := counterprom.New(counterprom.Config{
		Labels: labels, Counters: []*counter.Counter{c}, Flushers: []*counter.Flusher{f},
	})
	if err != nil {
		t.Fatal(err)
	}
	return promtest.Read(t, labels, collector)
}

func expect(t *testing.T, got, want map[string]float64) {
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

func TestEverySeriesFromTheStart(t *testing.T) {
	c, f := pair(t, nil)
	expect(t, scrape(t, c, f), map[string]float64{
		"millrace_counter_adds_total comment ok": 0, "millrace_counter_adds_total comment failed": 0,
		"millrace_counter_rounds_total comment ok": 0, "millrace_counter_rounds_total comment standby": 0,
		"millrace_counter_rounds_total comment failed": 0, "millrace_counter_batches_total comment": 0,
		"millrace_counter_rows_total comment": 0, "millrace_counter_repeated_batches_total comment": 0,
		"millrace_counter_discarded_deltas_total comment": 0,
	})
}

func TestCounts(t *testing.T) {
	log := memcounter.NewLog()
	c, f := pair(t, log)
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
	expect(t, scrape(t, c, f), map[string]float64{
		"millrace_counter_adds_total comment ok": 3, "millrace_counter_adds_total comment failed": 1,
		"millrace_counter_rounds_total comment ok": 2, "millrace_counter_rounds_total comment standby": 0,
		"millrace_counter_rounds_total comment failed": 1, "millrace_counter_batches_total comment": 1,
		"millrace_counter_rows_total comment": 3, "millrace_counter_repeated_batches_total comment": 0,
		"millrace_counter_discarded_deltas_total comment": 1,
	})
}

func TestConfig(t *testing.T) {
	c, f := pair(t, nil)
	for want, cfg := range map[string]counterprom.Config{
		"neither":     {},
		"Counters[0]": {Counters: []*counter.Counter{nil}},
		"Counters[1]": {Counters: []*counter.Counter{c, c}},
		"Flushers[0]": {Flushers: []*counter.Flusher{nil}},
		"Flushers[1]": {Flushers: []*counter.Flusher{f, f}},
	} {
		if _, err := counterprom.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want an error about %s", err, want)
		}
	}
}

func ExampleNew() {
	views, err := counter.New("view", memcounter.New(), counter.Config{})
	if err != nil {
		panic(err)
	}
	collector, err := counterprom.New(counterprom.Config{Counters: []*counter.Counter{views}})
	if err != nil {
		panic(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	fmt.Println(len(families), err)
	// Output: 1 <nil>
}
