package artist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

func newPrefetch(t testing.TB, r *rig, cfg PrefetchConfig) *Prefetch {
	t.Helper()
	if cfg.Holder == "" {
		cfg.Holder = "test"
	}
	cfg.Logger = quiet
	p, err := NewPrefetch(r.mirror, cfg)
	require.NoError(t, err)
	return p
}

// An artist is due by its tier: by when it was last read, and last checked.
func TestTiers(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	const hour, day = time.Hour, 24 * time.Hour
	for id, a := range map[string]struct{ read, checked time.Duration }{
		"hot":          {2 * hour, 2 * hour},
		"hot-fresh":    {2 * hour, hour / 2},
		"warm":         {2 * day, 7 * hour},
		"warm-fresh":   {2 * day, 5 * hour},
		"cold":         {10 * day, 25 * hour},
		"cold-fresh":   {10 * day, 23 * hour},
		"archived":     {31 * day, 27 * hour},
		"forgotten":    {3000 * day, 26 * hour},
		"missing":      {hour, 2 * hour},
		"wanted":       {hour, 2 * hour},
		"poison":       {hour, 2 * hour},
		"poison-again": {hour, 3 * hour},
	} {
		r.box.Exec(t, `INSERT INTO artists (artist_id, last_requested_at, last_checked_at) VALUES ($1, now_ms() - $2, now_ms() - $3)`,
			id, a.read.Milliseconds(), a.checked.Milliseconds())
	}
	r.box.Exec(t, `INSERT INTO artist_asks (artist_id, reason, asked_at, due_at) VALUES ('wanted', 'STALE', 1, 1)`)
	r.box.Exec(t, `UPDATE artists SET missing_since = 1 WHERE artist_id = 'missing'`)
	for id, at := range map[string]string{"poison": "now_ms() + 60000", "poison-again": "now_ms() - 60000"} {
		r.box.Exec(t, `INSERT INTO update_status (character_id, state, fail_count, last_error_code, last_error_message, next_retry_at, created_at, updated_at)
			VALUES ($1, 'FAILED', 1, 'API_4XX', 'no', `+at+`, 1, 1)`, id)
	}
	p := newPrefetch(t, r, PrefetchConfig{})
	for _, step := range []struct {
		limit int
		want  string
	}{{2, "poison-again hot"}, {10, "warm archived forgotten cold"}, {10, ""}} {
		ids, err := p.takeDue(t.Context(), step.limit)
		if err != nil || strings.Join(ids, " ") != step.want {
			t.Errorf("%d at most: %v, %v; want %s", step.limit, ids, err, step.want)
		}
	}
	// Artists that were asked for and not refreshed are due again after a while.
	r.box.Exec(t, `UPDATE artists SET prefetched_at = prefetched_at - 1860000`)
	if ids, err := p.takeDue(t.Context(), 10); err != nil || len(ids) != 6 {
		t.Errorf("half an hour later: %v, %v", ids, err)
	}
}

// A process takes part only while it has the lease.
func TestPrefetchLease(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	a, b := newPrefetch(t, r, PrefetchConfig{Holder: "a"}), newPrefetch(t, r, PrefetchConfig{Holder: "b"})
	_, err := a.takeDue(t.Context(), 1)
	require.NoError(t, err)
	if _, err := b.takeDue(t.Context(), 1); !errors.Is(err, store.ErrLeaseHeld) {
		t.Errorf("while another has it: %v", err)
	}
	lease, err := a.job.Take(t.Context()) // which it has
	require.NoError(t, err)
	require.NoError(t, lease.Drop(t.Context()))
	_, err = b.takeDue(t.Context(), 1)
	assert.NoError(t, err, "after it was given back")
	r.box.Exec(t, `INSERT INTO artists (artist_id, last_requested_at) VALUES ('x', now_ms())`)
	if ids, err := a.takeDue(t.Context(), 1); err == nil {
		t.Errorf("after it was lost: %v", ids)
	}
	assert.Equal(t, "0", r.box.Query(t, `SELECT prefetched_at FROM artists`), "the loser took an artist")
}

// A due artist becomes a request of low priority, once; without the coalescer it
// stays due.
func TestPrefetchAsks(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	for i := range 40 {
		r.box.Exec(t, `INSERT INTO artists (artist_id, last_requested_at) VALUES ($1, now_ms())`, fmt.Sprint(i))
	}
	p := newPrefetch(t, r, PrefetchConfig{})
	r.locks.set(true)
	assert.Error(t, p.round(t.Context()), "a round without the coalescer succeeded")
	assert.Equal(t, "0", r.box.Query(t, `SELECT COUNT(*) FROM artists WHERE prefetched_at > 0`), "artists that could not be asked for count as asked for")
	r.locks.set(false)
	published := r.on(t, TopicLow, "watcher")
	require.NoError(t, p.round(t.Context()))
	seen := map[string]bool{}
	for range 40 {
		e, err := event.Decode(next(t, published))
		if err != nil || e.Priority != event.Low {
			t.Fatalf("%+v, %v", e, err)
		}
		seen[e.Key()] = true
	}
	if s := r.mirror.Stats(); len(seen) != 40 || s.PrefetchAsked != 40 {
		t.Errorf("%d artists asked for, %d counted", len(seen), s.PrefetchAsked)
	}
	assert.Equal(t, 0, r.lag(t, TopicHigh, GroupHigh), "requests of high priority")
}

// A round asks for no more than its rate each second, less in the evening, and stops
// when low is behind, or when no artist is due.
func TestPrefetchPace(t *testing.T) {
	s := boxtest.New(t).Store
	synctest.Test(t, func(t *testing.T) {
		r := &rig{}
		r.assemble(t, s, Config{}, WorkerConfig{})
		seoul := time.FixedZone("KST", 9*60*60)
		var lag int64
		p := newPrefetch(t, r, PrefetchConfig{Pace: Pace{Zone: seoul}, LowLag: func() (int64, bool) { return lag, true }})
		left := 100_000
		var asked []string
		began := time.Now()
		p.take = func(_ context.Context, limit int) ([]string, error) {
			n := min(limit, left)
			left -= n
			return make([]string, n), nil
		}
		p.ask = func(_ context.Context, ids []string) (int, error) {
			asked = append(asked, fmt.Sprintf("%v:%d", time.Since(began), len(ids)))
			return len(ids), nil
		}
		at := func(hour, minute int) {
			now := time.Now().In(seoul)
			then := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, seoul)
			if then.Before(now) {
				then = then.AddDate(0, 0, 1)
			}
			time.Sleep(time.Until(then))
			began, asked = time.Now(), nil
		}
		round := func() {
			t.Helper()
			require.NoError(t, p.round(t.Context()))
		}
		at(12, 0)
		round()
		if len(asked) != 60 || asked[0] != "0s:250" || asked[59] != "59s:250" {
			t.Errorf("by day: %v", asked)
		}
		at(18, 59)
		round()
		if len(asked) != 60 || asked[59] != "59s:250" {
			t.Errorf("before the evening: %v", asked)
		}
		at(19, 0)
		round()
		if len(asked) != 60 || asked[0] != "0s:150" || asked[59] != "59s:150" {
			t.Errorf("in the evening: %v", asked)
		}
		at(23, 59)
		round()
		assert.Containsf(t, asked, "59s:150", "to the end of the evening: %v", asked)
		at(0, 0)
		left = 300
		round()
		if want := []string{"0s:250", "1s:50"}; !slices.Equal(asked, want) {
			t.Errorf("with 300 left: %v, want %v", asked, want)
		}
		left, lag = 1000, 5001
		at(1, 0)
		round()
		if len(asked) != 0 || r.mirror.Stats().PrefetchSkipped != 1 {
			t.Errorf("while low is behind: %v", asked)
		}
		// Run begins a round each minute.
		left, lag = 100, 0
		at(2, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		more := p.take
		p.take = func(ctx context.Context, limit int) ([]string, error) {
			ids, err := more(ctx, limit)
			left = 100
			return ids, err
		}
		require.NoError(t, p.Run(ctx))
		if want := []string{"0s:100", "1m0s:100"}; !slices.Equal(asked, want) {
			t.Errorf("in a minute and a half: %v, want %v", asked, want)
		}
	})
}
