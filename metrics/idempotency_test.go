package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/metrics/promtest"
)

func newGuard(t *testing.T, store driver.Store) *idempotency.Guard[idempotency.NoTx] {
	t.Helper()
	g, err := idempotency.New[idempotency.NoTx](store, idempotency.Config{Group: "stats"})
	require.NoError(t, err)
	return g
}

func newLeases(t *testing.T, store driver.LeaseStore) *idempotency.Leases {
	t.Helper()
	l, err := idempotency.NewLeases(store, idempotency.LeaseConfig{Group: "mailer", Finish: time.Second, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return l
}

func newHTTP(t *testing.T, store driver.LeaseStore) *idempotency.HTTP {
	t.Helper()
	h, err := idempotency.NewHTTP(store, idempotency.HTTPConfig{
		Scope: func(*http.Request) string { return "ann" }, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return h
}

// idempotencyExpect checks that all series are at 0, except for those given.
func idempotencyExpect(t *testing.T, when string, cfg metrics.IdempotencyConfig, but map[string]float64) {
	t.Helper()
	c, err := metrics.NewIdempotency(cfg)
	require.NoError(t, err)
	want := map[string]float64{}
	if len(cfg.Guards) > 0 {
		for _, outcome := range []string{"handled", "duplicate", "failed"} {
			want["millrace_idempotency_events_total stats "+outcome] = 0
		}
	}
	for group, there := range map[string]bool{"mailer": len(cfg.Leases) > 0, "http": len(cfg.HTTP) > 0} {
		for _, outcome := range []string{"claimed", "done", "taken", "mismatched", "failed"} {
			if there {
				want["millrace_idempotency_claims_total "+group+" "+outcome] = 0
				want["millrace_idempotency_leases_lost_total "+group] = 0
			}
		}
	}
	maps.Copy(want, but)
	if got := promtest.Read(t, c); !maps.Equal(got, want) {
		t.Errorf("%s: %v\nwant %v", when, got, want)
	}
}

func TestIdempotencyEverySeriesFromTheStart(t *testing.T) {
	store := memidempotency.NewLeases()
	idempotencyExpect(t, "nothing happened", metrics.IdempotencyConfig{
		Guards: []metrics.Guard{newGuard(t, memidempotency.New())},
		Leases: []*idempotency.Leases{newLeases(t, store)}, HTTP: []*idempotency.HTTP{newHTTP(t, store)},
	}, nil)
}

func TestIdempotencyGuardsAreCounted(t *testing.T) {
	store := memidempotency.New()
	guards := []*idempotency.Guard[idempotency.NoTx]{newGuard(t, store), newGuard(t, store)}
	failed := errors.New("failed")
	does := func(g *idempotency.Guard[idempotency.NoTx], id string, err error) {
		t.Helper()
		if _, got := g.Do(t.Context(), event.Event{ID: id}, func(context.Context, idempotency.NoTx) error { return err }); !errors.Is(got, err) {
			t.Errorf("%s: %v, want %v", id, got, err)
		}
	}
	does(guards[0], "1", failed)
	does(guards[0], "1", nil)
	does(guards[0], "1", nil)
	does(guards[1], "2", nil)
	batch := []event.Event{{ID: "2"}, {ID: "3"}, {ID: "4"}, {ID: "3"}}
	for _, err := range []error{failed, nil} {
		if _, got := guards[1].DoBatch(t.Context(), batch, func(context.Context, idempotency.NoTx, []event.Event) error { return err }); !errors.Is(got, err) {
			t.Errorf("a batch: %v, want %v", got, err)
		}
	}
	idempotencyExpect(t, "two guards of a group", metrics.IdempotencyConfig{Guards: []metrics.Guard{guards[0], guards[1]}}, map[string]float64{
		"millrace_idempotency_events_total stats handled":   4, // 1, 2, 3, 4
		"millrace_idempotency_events_total stats duplicate": 3, // 1, 2, 3
		"millrace_idempotency_events_total stats failed":    5, // 1, and the batch
	})
}

// idempotencyAway is a lease store that can be made unreachable.
type idempotencyAway struct {
	driver.LeaseStore
	is atomic.Bool
}

func (a *idempotencyAway) Claim(ctx context.Context, r driver.Record, ttl time.Duration) (driver.Claim, error) {
	if a.is.Load() {
		return driver.Claim{}, errors.New("away")
	}
	return a.LeaseStore.Claim(ctx, r, ttl)
}

func (a *idempotencyAway) Extend(ctx context.Context, c driver.Claim, ttl time.Duration) error {
	if a.is.Load() {
		return errors.New("away")
	}
	return a.LeaseStore.Extend(ctx, c, ttl)
}

func TestIdempotencyClaimsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &idempotencyAway{LeaseStore: memidempotency.NewLeases()}
		l, h := newLeases(t, store), newHTTP(t, store)
		once := func(key, print string, fn func(context.Context, driver.Claim) ([]byte, error)) error {
			_, _, err := l.Once(t.Context(), key, print, fn)
			return err
		}
		ok := func(context.Context, driver.Claim) ([]byte, error) { return nil, nil }
		if err := once("k", "a", func(context.Context, driver.Claim) ([]byte, error) {
			assert.Error(t, once("k", "a", ok), "a key that is taken was given")
			return nil, nil
		}); err != nil {
			t.Error(err)
		}
		assert.NoError(t, once("k", "a", ok))
		assert.ErrorIs(t, once("k", "b", ok), idempotency.ErrMismatch)
		if err := once("lost", "a", func(ctx context.Context, _ driver.Claim) ([]byte, error) {
			store.is.Store(true)
			<-ctx.Done()
			return nil, ctx.Err()
		}); !errors.Is(err, driver.ErrLeaseLost) {
			t.Error(err)
		}
		assert.Error(t, once("later", "a", ok), "a store that is idempotencyAway gave a key")
		store.is.Store(false)
		send := func(body string) {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
			r.Header.Set("Idempotency-Key", "k")
			h.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(httptest.NewRecorder(), r)
		}
		send("a")
		send("a")
		send("b")
		idempotencyExpect(t, "claims", metrics.IdempotencyConfig{Leases: []*idempotency.Leases{l}, HTTP: []*idempotency.HTTP{h}}, map[string]float64{
			"millrace_idempotency_claims_total mailer claimed": 2, "millrace_idempotency_claims_total mailer taken": 1, "millrace_idempotency_claims_total mailer done": 1,
			"millrace_idempotency_claims_total mailer mismatched": 1, "millrace_idempotency_claims_total mailer failed": 1, "millrace_idempotency_leases_lost_total mailer": 1,
			"millrace_idempotency_claims_total http claimed": 1, "millrace_idempotency_claims_total http done": 1, "millrace_idempotency_claims_total http mismatched": 1,
		})
	})
}

func TestIdempotencyConfig(t *testing.T) {
	for want, cfg := range map[string]metrics.IdempotencyConfig{
		"no Guards": {}, "Guards[0]": {Guards: []metrics.Guard{nil}},
		"Leases[0]": {Leases: []*idempotency.Leases{nil}}, "HTTP[0]": {HTTP: []*idempotency.HTTP{nil}},
	} {
		if _, err := metrics.NewIdempotency(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want an error about %s", err, want)
		}
	}
}

func ExampleNewIdempotency() {
	guard, err := idempotency.New[idempotency.NoTx](memidempotency.New(), idempotency.Config{Group: "stats"})
	if err != nil {
		panic(err)
	}
	collector, err := metrics.NewIdempotency(metrics.IdempotencyConfig{Guards: []metrics.Guard{guard}})
	if err != nil {
		panic(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	fmt.Println(len(families), err)
	// Output: 1 <nil>
}
