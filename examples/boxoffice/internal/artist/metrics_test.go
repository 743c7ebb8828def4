package artist

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/fault"
	collectors "github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/metrics/promtest"
)

// Every series is there from the start, at 0, and counts.
func TestCollector(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	gather := func() map[string]float64 { t.Helper(); return promtest.Read(t, r.mirror.Collector(r.worker)) }
	got := gather()
	want := []string{
		"artist_archived_total", "artist_ask_total asked", "artist_ask_total deferred", "artist_ask_total dropped", "artist_ask_total refused", "artist_ask_waiting",
		"artist_history_total expired", "artist_history_total kept",
		"artist_prefetch_total", "artist_refresh_total changed", "artist_refresh_total missing", "artist_refresh_total superseded",
		"artist_refresh_total unchanged", "db_circuit_breaker_state", "db_upsert_duration_seconds",
		"update_process_duration_seconds high", "update_process_duration_seconds low",
		"update_process_error_total API_4XX", "update_process_error_total API_5XX", "update_process_error_total BUDGET",
		"update_process_error_total DATABASE", "update_process_error_total PARSE_ERROR", "update_process_error_total RATE_LIMITED",
	}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
		t.Errorf("series:\n%s\nwant:\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	for name, v := range got {
		assert.EqualValuesf(t, 0, v, "%s begins at %v", name, v)
	}
	r.upstream.has(t, "1", 1)
	_ = r.refresh(t, request(t, "1", event.High, 1), request(t, "2", event.High, 2)) // the second is a 404
	_ = r.refresh(t, request(t, "1", event.High, 3))
	got = gather()
	for name, v := range map[string]float64{
		"artist_refresh_total changed": 1, "artist_refresh_total unchanged": 1, "artist_refresh_total missing": 1,
		"update_process_error_total API_4XX": 1, "update_process_duration_seconds high": 3, "db_upsert_duration_seconds": 2,
	} {
		if got[name] != v {
			t.Errorf("%s is %v, want %v", name, got[name], v)
		}
	}
}

// Each reason of a failed refresh has a counter of its own.
func TestErrorsByReason(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{WriteTimeout: time.Minute})
	fails := func(id string, class fault.Class, reason string) {
		t.Helper()
		before := promtest.Read(t, r.mirror.Collector(r.worker))
		if err := r.refresh(t, request(t, id, event.High, 1)); fault.Of(err) != class {
			t.Errorf("%s: %v is %v, want %v", id, err, fault.Of(err), class)
		}
		after := promtest.Read(t, r.mirror.Collector(r.worker))
		for _, one := range reasons {
			want := 0.0
			if one == reason {
				want = 1
			}
			name := "update_process_error_total " + one
			if got := after[name] - before[name]; got != want {
				t.Errorf("%s moved %s by %v, want %v", id, name, got, want)
			}
		}
	}
	says := func(id string, err error) {
		r.upstream.put(id, func() (Document, error) { return Document{}, err })
	}
	says("refused", refusal(400))
	fails("refused", fault.Permanent, API4XX)
	says("broken", refusal(502))
	fails("broken", fault.Transient, API5XX)
	says("odd", &Failure{Reason: ParseError, err: fault.MarkPermanent(errors.New("no JSON"))})
	fails("odd", fault.Permanent, ParseError)
	says("limited", &Failure{Reason: Limited, Status: 429, err: fault.MarkInfrastructure(errors.New("too many requests"))})
	fails("limited", fault.Infrastructure, Limited)
	says("unbudgeted", &Failure{Reason: NoBudget, err: fault.MarkInfrastructure(errors.New("redis is away"))})
	fails("unbudgeted", fault.Infrastructure, NoBudget)
	r.upstream.has(t, "unwritten", 1)
	r.worker.inTx = func(context.Context, func(context.Context, *sql.Tx) error) error {
		return errors.New("the disk is full")
	}
	fails("unwritten", fault.Infrastructure, NoStorage)
	for range 2 {
		_ = r.refresh(t, request(t, "unwritten", event.High, 1))
	}
	got := promtest.Read(t, r.mirror.Collector(r.worker))
	if got["db_circuit_breaker_state"] != 2 {
		t.Errorf("db_circuit_breaker_state is %v after three writes that failed, want 2 (open)", got["db_circuit_breaker_state"])
	}
	if got["db_upsert_duration_seconds"] < 1 {
		t.Errorf("db_upsert_duration_seconds observed %v writes", got["db_upsert_duration_seconds"])
	}
}

// The coalescer's counts move when requests coincide, overtake each other and lose
// their lock.
func TestRequestsThatMeet(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	locks, err := collectors.New(r.coalescer)
	require.NoError(t, err)
	r.upstream.put("1", func() (Document, error) {
		// Meanwhile another request takes the lock.
		held, err := r.locks.Request(t.Context(), "1", coalesce.High, false, driver.TTLs{})
		if err != nil || held.Outcome != coalesce.AlreadyProcessing {
			t.Errorf("%+v, %v", held, err)
		}
		_, err = r.locks.Release(t.Context(), held.Ticket)
		assert.NoError(t, err)
		return document(t, "1", 1), nil
	})
	for _, p := range []event.Priority{event.Low, event.High, event.High} {
		_, err := r.mirror.request(t.Context(), "1", p, TooOld)
		require.NoError(t, err)
	}
	r.consumes(t)
	want := map[string]float64{
		"millrace_coalesce_hit_total": 1, "millrace_coalesce_upgrade_total": 1, "millrace_coalesce_obsolete_total": 1, "millrace_coalesce_lock_conflict_total": 1,
	}
	var got map[string]float64
	var measured float64
	boxtest.WaitFor(t, "all counts, and a refresh of high priority", func() bool {
		got, measured = promtest.Read(t, locks), promtest.Read(t, r.mirror.Collector(r.worker))["update_process_duration_seconds high"]
		return maps.Equal(got, want) && measured == 1
	}, func() string { return fmt.Sprint(got, measured) })
}

// Both priorities are measured apart.
func TestDurationsByPriority(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	r.upstream.has(t, "1", 1)
	require.NoError(t, r.worker.handle(event.Low)(t.Context(), []event.Event{request(t, "1", event.Low, 1)}))
	got := promtest.Read(t, r.mirror.Collector(r.worker))
	if high, low := got["update_process_duration_seconds high"], got["update_process_duration_seconds low"]; high != 0 || low != 1 {
		t.Errorf("%v of high and %v of low priority were measured, want 0 and 1", high, low)
	}
}
