package app

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// artistAPI is an API of the artists that answers when it is let.
type artistAPI struct {
	url string
	let chan struct{} // closed when it may

}

func newArtistAPI(t *testing.T) *artistAPI {
	t.Helper()
	u, err := upstream.New(upstream.Config{BodyBytes: 3000})
	require.NoError(t, err)
	a := &artistAPI{let: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-a.let:
			u.Handler().ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// look reads an artist, and wants an answer.
func (p *process) look(id string) (v artist.View) {
	p.t.Helper()
	(&fan{p: p}).call(http.MethodGet, "/api/artists/"+id, "", nil, 200, &v)
	if string(v.Snapshot) == "null" {
		v.Snapshot = nil
	}
	return v
}

// turns looks at an artist until it is as wanted.
func (p *process) turns(id string, to artist.Freshness) (v artist.View) {
	p.t.Helper()
	boxtest.WaitFor(p.t, id+" to be "+string(to), func() bool { v = p.look(id); return v.Freshness == to },
		func() string { return fmt.Sprintf("%s, asked for: %v", v.Freshness, v.UpdateQueued) })
	return v
}

// An artist that was never asked for before turns from UPDATING to FRESH by itself,
// through API, coalescer, transport, worker, limiter and database.
func TestArtistTurnsFresh(t *testing.T) {
	t.Parallel()
	name := "t" + strings.ToLower(rand.Text()) + ":"
	onRedis := func(db, redis func(testing.TB) string) func(*testing.T) []string {
		return func(t *testing.T) []string {
			return []string{"--db-url", db(t), "--redis-url", redis(t), "--redis-prefix", name}
		}
	}
	cluster := func(t testing.TB) string { return "redis://" + servicetest.RedisCluster(t) + "/" }
	for _, on := range []struct {
		name string
		args func(*testing.T) []string
	}{
		{"embedded", func(*testing.T) []string { return nil }},
		{"PostgreSQL", onRedis(servicetest.PostgresURL, servicetest.Redis)},
		{"MariaDB", onRedis(servicetest.MariaDBURL, servicetest.Redis)},
		{"MySQL", onRedis(servicetest.MySQLURL, servicetest.Redis)},
		{"RedisCluster", onRedis(servicetest.PostgresURL, cluster)},
	} {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			api := newArtistAPI(t)
			p := start(t, append(on.args(t), "--data-dir", t.TempDir(), "--upstream-url", api.url)...)
			if v := p.look("7"); v.Freshness != artist.NotFound || !v.UpdateQueued || v.Snapshot != nil {
				t.Errorf("the first read: %+v", v)
			}
			if v := p.turns("7", artist.Updating); !v.UpdateQueued || v.Snapshot != nil {
				t.Errorf("while the upstream thinks: %+v", v)
			}
			close(api.let)
			v := p.turns("7", artist.Fresh)
			var got struct{ ID, Name string }
			if err := json.Unmarshal(v.Snapshot, &got); err != nil || got.ID != "7" || got.Name == "" {
				t.Errorf("the snapshot: %+v, %v", got, err)
			}
			if v.UpdateQueued || v.LastCheckedAt == nil || v.LastUpdatedAt == nil || v.EstimatedWaitMs != nil {
				t.Errorf("at the end: %+v", v)
			}
			assert.NotContains(t, string(v.Snapshot), "history", "the history was kept")
		})
	}
}

// The API and the workers are processes of their own, and meet in Redis.
func TestArtistOfSplitProcesses(t *testing.T) {
	t.Parallel()
	redis, db, bank, api := servicetest.Redis(t), servicetest.PostgresURL(t), bank(t), newArtistAPI(t)
	name := "t" + strings.ToLower(rand.Text()) + ":"
	role := func(roles string) *process {
		return start(t, "--data-dir", t.TempDir(), "--db-url", db, "--redis-url", redis, "--redis-prefix", name, "--workers", "2",
			"--gateway-url", bank, "--upstream-url", api.url, "--roles", roles)
	}
	reader := role("api")
	if v := reader.turns("42", artist.Updating); !v.UpdateQueued {
		t.Errorf("without a worker: %+v", v)
	}
	close(api.let)
	for range 2 {
		role("worker")
	}
	if v := reader.turns("42", artist.Fresh); v.Snapshot == nil {
		t.Errorf("with workers: %+v", v)
	}
}

// An artist that does not exist is one dead letter with the reason, and costs one
// call for any number of reads.
func TestArtistThatIsMissing(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir())
	var v artist.View
	boxtest.WaitFor(t, "the upstream's word", func() bool { v = p.look("99999"); return v.LastCheckedAt != nil })
	if v.Freshness != artist.NotFound || v.UpdateQueued || v.Snapshot != nil {
		t.Errorf("%+v", v)
	}
	admin := &fan{p: p, token: p.app.AdminToken()}
	var dead struct {
		Letters []struct{ Reason string }
	}
	boxtest.WaitFor(t, "a dead letter", func() bool {
		admin.call(http.MethodGet, "/api/admin/dead-letters/update-dlq", "", nil, 200, &dead)
		return len(dead.Letters) > 0
	})
	if len(dead.Letters) != 1 || dead.Letters[0].Reason != artist.API4XX {
		t.Errorf("%+v", dead)
	}
}

func TestArtistBadInput(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir())
	ann := p.visitor("ann")
	for _, id := range []string{"a%20b", "a.b", "%2e%2e", strings.Repeat("x", 65), "ü"} {
		for path, method := range map[string]string{"": http.MethodGet, "/history": http.MethodGet, "/refresh": http.MethodPost} {
			var problem struct{ Type, Field, Detail string }
			ann.call(method, "/api/artists/"+id+path, "", nil, 400, &problem)
			if problem.Type != "/problems/invalid-request" || problem.Field != "id" || !strings.Contains(problem.Detail, "64 letters") {
				t.Errorf("%s%s: %+v", id, path, problem)
			}
		}
	}
	for query, field := range map[string]string{"limit=0": "limit", "limit=51": "limit", "limit=x": "limit", "before=0": "before", "before=x": "before", "before=99999999999999999999": "before"} {
		var problem struct{ Type, Field string }
		ann.call(http.MethodGet, "/api/artists/1/history?"+query, "", nil, 400, &problem)
		if problem.Type != "/problems/invalid-request" || problem.Field != field {
			t.Errorf("%s: %+v", query, problem)
		}
	}
	(&fan{p: p}).call(http.MethodPost, "/api/artists/1/refresh", "", nil, 401, nil)
}

// A member requests a refresh of a fresh artist, and the earlier snapshot can be
// read.
func TestArtistRefreshAndHistory(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir())
	ann := p.visitor("ann")
	first := p.turns("7", artist.Fresh)
	refresh := func() (out artist.Refreshing) {
		t.Helper()
		ann.call(http.MethodPost, "/api/artists/7/refresh", "", nil, 202, &out)
		return out
	}
	if out := refresh(); out.Status != artist.RefreshChecked || out.LastCheckedAt == nil {
		t.Errorf("checked a moment ago: %+v", out)
	}
	exec := func(text string) {
		t.Helper()
		_, err := p.app.office.store.DB().ExecContext(t.Context(), text)
		require.NoError(t, err)
	}
	exec(`UPDATE artists SET last_checked_at = last_checked_at - 60000, content_hash = 'another' WHERE artist_id = '7'`)
	if out := refresh(); out.Status != artist.RefreshQueued {
		t.Errorf("checked a minute ago: %+v", out)
	}
	boxtest.WaitFor(t, "the refresh", func() bool { return p.look("7").LastCheckedAt.After(*first.LastCheckedAt) })
	var history struct {
		Changes []struct {
			ID        string
			ChangedAt time.Time
			Snapshot  struct{ ID string }
		}
		Next *string
	}
	page := func(query string) {
		t.Helper()
		history.Changes, history.Next = nil, nil
		(&fan{p: p}).call(http.MethodGet, "/api/artists/7/history"+query, "", nil, 200, &history)
	}
	if page(""); len(history.Changes) != 2 || history.Next != nil || history.Changes[0].Snapshot.ID != "7" || history.Changes[0].ChangedAt.Before(history.Changes[1].ChangedAt) {
		t.Errorf("%+v", history)
	}
	if page("?limit=1"); len(history.Changes) != 1 || history.Next == nil || *history.Next != history.Changes[0].ID {
		t.Fatalf("the first page: %+v", history)
	}
	newest := history.Changes[0].ID
	if page("?limit=1&before=" + newest); len(history.Changes) != 1 || history.Next != nil || history.Changes[0].ID == newest {
		t.Errorf("the second page: %+v", history)
	}
	// Artists that the upstream does not have or that have just failed.
	boxtest.WaitFor(t, "the upstream's word", func() bool { return p.look("99999").LastCheckedAt != nil })
	var problem struct{ Type, Detail string }
	ann.call(http.MethodPost, "/api/artists/99999/refresh", "", nil, 404, &problem)
	assert.Equalf(t, "/problems/artist-not-found", problem.Type, "%+v", problem)
	exec(`INSERT INTO update_status (character_id, state, fail_count, last_error_code, last_error_message, next_retry_at, created_at, updated_at)
		SELECT '7', 'FAILED', 1, 'API_5XX', 'no', last_checked_at + 600000, 1, 1 FROM artists WHERE artist_id = '7'`)
	ann.call(http.MethodPost, "/api/artists/7/refresh", "", nil, 409, &problem)
	if problem.Type != "/problems/artist-resting" || !strings.Contains(problem.Detail, "seconds") {
		t.Errorf("%+v", problem)
	}
}

// closedPort is an address without a listener.
func closedPort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	return ln.Addr().String()
}

// Without Redis the office starts, is ready, and answers from the database.
func TestArtistsWhileRedisDown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, "--data-dir", dir)
	fresh := first.turns("7", artist.Fresh)
	require.NoError(t, first.stop())
	p := start(t, "--data-dir", dir, "--redis-url", "redis://:hunter2@"+closedPort(t))
	p.ready()
	if v := p.look("7"); v.Freshness != artist.Fresh || string(v.Snapshot) != string(fresh.Snapshot) {
		t.Errorf("a fresh artist: %+v", v)
	}
	_, err := p.app.office.store.DB().ExecContext(t.Context(), `UPDATE artists SET last_checked_at = 1`)
	require.NoError(t, err)
	// The first read may promise a refresh; later ones do not, once it was refused.
	var v artist.View
	boxtest.WaitFor(t, "a stale artist without a promise", func() bool { v = p.look("7"); return !v.UpdateQueued })
	if v.Freshness != artist.Stale || string(v.Snapshot) != string(fresh.Snapshot) || v.EstimatedWaitMs != nil {
		t.Errorf("a stale artist: %+v", v)
	}
	if v := p.look("8"); v.Freshness != artist.NotFound || v.UpdateQueued || v.EstimatedWaitMs != nil {
		t.Errorf("an unknown artist: %+v", v)
	}
	report, err := p.app.office.operator.Report(t.Context())
	require.NoError(t, err)
	assert.NotContains(t, fmt.Sprintf("%+v", report), "hunter2", "the report names a password")
}

// Without the mirror everything else works.
func TestArtistsOff(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--redis-url", "off")
	var problem struct{ Type, Detail string }
	for path, method := range map[string]string{"": http.MethodGet, "/history": http.MethodGet, "/refresh": http.MethodPost} {
		p.visitor("ann").call(method, "/api/artists/7"+path, "", nil, 503, &problem)
		if problem.Type != "/problems/artists-off" || !strings.Contains(problem.Detail, "BOXOFFICE_REDIS_URL") {
			t.Errorf("%s: %+v", path, problem)
		}
	}
	f := p.fan("ann")
	held := f.hold("A-1")
	f.await(held.ReservationID, f.pay(held, approve), "A-1", "CONFIRMED , SUCCESS , SOLD")
	p.sound()
}

// The office ends while the upstream keeps a call waiting.
func TestArtistsShutdown(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--upstream-url", newArtistAPI(t).url)
	p.turns("7", artist.Updating)
	began := time.Now()
	assert.NoError(t, p.stop())
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

// Every series of the mirror is there from the start.
func TestArtistMetrics(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--redis-url", "redis://"+closedPort(t))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.app.URL()+"/metrics", nil)
	require.NoError(t, err)
	res, err := p.http.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v: %s", res.StatusCode, err, text)
	}
	lines := strings.Split(string(text), "\n")
	for _, series := range []string{
		`rate_limiter_acquired_total{priority="high"}`, `rate_limiter_rejected_total{priority="low",reason="low_cap"}`, `rate_limiter_rps`,
		`dedup_coalesce_hit_total`, `dedup_upgrade_total`, `dedup_lock_conflict_total`, `obsolete_event_skipped_total`,
		`update_process_duration_seconds_count{priority="high"}`, `update_process_error_total{reason="API_4XX"}`,
		`db_circuit_breaker_state`, `redis_circuit_breaker_state`, `db_upsert_duration_seconds_count`, `redis_command_duration_seconds_count`,
		`kafka_producer_send_failed_total`, `kafka_consumer_lag{group="high-worker",topic="update-priority-high"}`, `dlq_message_count{topic="update-dlq"}`,
	} {
		assert.Truef(t, slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, series+" ") }), "%s is missing", series)
	}
}

// Refreshes of artists have no part in the outbox, so a mirror at work is no unrest
// of the books beyond the work itself.
func TestArtistsAndTheBooks(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir())
	for i := range 50 {
		p.look(fmt.Sprint(i + 1))
	}
	for i := range 50 {
		p.turns(fmt.Sprint(i+1), artist.Fresh)
	}
	p.sound()
}
