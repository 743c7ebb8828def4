package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
)

func remember(t *testing.T, store driver.Store, keys ...string) {
	t.Helper()
	for _, key := range keys {
		_, err := store.Once(t.Context(), driver.Record{Key: key}, func(context.Context) error { return nil })
		require.NoError(t, err)
	}
}

func remembered(t *testing.T, store driver.Store, keys ...string) (n int) {
	t.Helper()
	for _, key := range keys {
		ok, err := store.Seen(t.Context(), key)
		require.NoError(t, err)
		if ok {
			n++
		}
	}
	return n
}

func TestPrunerRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memidempotency.New()
		remember(t, store, "a", "b", "c", "d", "e")
		time.Sleep(23*time.Hour + 30*time.Minute) // synctest's clock
		remember(t, store, "young")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- idempotency.RunPruner(ctx, store, idempotency.PrunerConfig{Retention: 24 * time.Hour, Chunk: 2})
		}()
		synctest.Wait()
		if n := remembered(t, store, "a", "b", "c", "d", "e"); n != 5 {
			t.Errorf("half an hour too early %d of 5 keys are left", n)
		}
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		if n := remembered(t, store, "a", "b", "c", "d", "e"); n != 0 {
			t.Errorf("after the retention %d keys are left", n)
		}
		assert.Equal(t, 1, remembered(t, store, "young"), "the young key is gone")
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v after its context ended, want nil", err)
		}
	})
}

// failing fails the first prune.
type failing struct {
	driver.Store
	calls int
}

var errPrune = errors.New("disk on fire")

func (f *failing) Prune(ctx context.Context, age time.Duration, limit int) (int, error) {
	if f.calls++; f.calls == 1 {
		return 0, errPrune
	}
	return f.Store.Prune(ctx, age, limit)
}

func TestPrunerGoesOnAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &failing{Store: memidempotency.New()}
		var log bytes.Buffer
		remember(t, store, "a")
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		assert.NoError(t, idempotency.RunPruner(ctx, store, idempotency.PrunerConfig{
			Retention: time.Nanosecond, Interval: time.Minute, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}), "Run =")
		if store.calls != 2 || remembered(t, store, "a") != 0 || strings.Count(log.String(), errPrune.Error()) != 1 {
			t.Errorf("%d rounds, %d keys left, log:\n%s", store.calls, remembered(t, store, "a"), &log)
		}
	})
}

func TestRunPrunerChecks(t *testing.T) {
	store := memidempotency.New()
	for want, cfg := range map[string]idempotency.PrunerConfig{
		"Retention": {Retention: -1}, "Interval": {Interval: -1}, "Chunk": {Chunk: -1},
	} {
		if err := idempotency.RunPruner(t.Context(), store, cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("RunPruner(%+v) = %v, want an error about %s", cfg, err, want)
		}
	}
	assert.Error(t, idempotency.RunPruner(t.Context(), nil, idempotency.PrunerConfig{}), "RunPruner took no store")
}
