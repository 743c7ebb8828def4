package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/metrics/promtest"
	"github.com/millrace-go/millrace/ratelimit/keyed"
	"github.com/millrace-go/millrace/ratelimit/keyed/driver"
)

// refusing is a store whose keys have no call left, or that is away.
type refusing struct{ away bool }

func (r *refusing) Take(_ context.Context, asks []driver.Ask) ([]time.Duration, error) {
	if r.away {
		return nil, errors.New("the store is away")
	}
	waits := make([]time.Duration, len(asks))
	for i := range waits {
		waits[i] = time.Hour
	}
	return waits, nil
}

func TestKeyedCounts(t *testing.T) {
	store := new(refusing)
	l, err := keyed.New(store, keyed.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	c, err := metrics.New(l)
	require.NoError(t, err)
	read := func() map[string]float64 { return promtest.Read(t, c) }
	const allowed, refused, alone = "millrace_keyed_limiter_calls_total allowed", "millrace_keyed_limiter_calls_total refused", "millrace_keyed_limiter_alone_total"
	require.Equal(t, map[string]float64{allowed: 0, refused: 0, alone: 0}, read(), "every series from the start")
	for range 2 {
		require.Positive(t, l.Take(t.Context(), "a", time.Second, 1))
	}
	store.away = true
	require.Zero(t, l.Take(t.Context(), "b", time.Hour, 1))
	require.Positive(t, l.Take(t.Context(), "b", time.Hour, 1))
	require.Equal(t, map[string]float64{allowed: 1, refused: 3, alone: 2}, read())
	_, err = metrics.New[*keyed.Limiter](nil)
	require.ErrorContains(t, err, "keyed.New")
}

func ExampleNew_keyed() {
	limiter, err := keyed.New(nil, keyed.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	collector, err := metrics.New(limiter)
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	fmt.Println(len(families), err)
	// Output: 2 <nil>
}
