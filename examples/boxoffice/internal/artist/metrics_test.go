package artist

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/promtest"
)

// Every series is there from the start, at 0, and counts.
func TestCollector(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	gather := func() map[string]float64 { t.Helper(); return promtest.Read(t, nil, r.mirror.Collector(r.worker)) }
	got := gather()
	want := []string{
		"artist_archived_total", "artist_ask_total asked", "artist_ask_total dropped", "artist_ask_total refused", "artist_ask_waiting",
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
		if v != 0 {
			t.Errorf("%s begins at %v", name, v)
		}
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
