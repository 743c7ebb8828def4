package scenarios

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/internal/tcpproxy"
)

// slowDatabaseOnServers lets the workers reach PostgreSQL through a proxy that delays
// everything, so that each answer takes ten seconds.
func slowDatabaseOnServers(t *testing.T) {
	const artists = 20
	var proxy *tcpproxy.Proxy
	t.Cleanup(func() {
		if proxy != nil {
			check(t, "close the proxy", proxy.Close())
		}
	})
	m := openMirror(t, 20*time.Millisecond, officePlan{
		before: func(o *office) {
			u, err := url.Parse(o.db)
			require.NoError(t, err, "the database's URL is malformed")
			if proxy, err = tcpproxy.Start(u.Host); err != nil {
				t.Fatal(err)
			}
		},
		wrapDB: func(name, raw string) string {
			if !strings.HasPrefix(name, "worker") {
				return ""
			}
			u, err := url.Parse(raw)
			require.NoError(t, err, "the database's URL is malformed")
			u.Host = proxy.Addr()
			return u.String()
		},
	})
	const span = 3 * time.Second
	from := 1
	var opened, back time.Duration
	control := func() time.Duration {
		from += artists // those that are asked for next
		p := m.readsAmong(1, artists, 50, span, m.apis()...)
		m.done()
		return p
	}
	r := rounds(t, control, func() time.Duration {
		before := m.logged(breakerTo + "open")
		proxy.Delay(5 * time.Second) // each way
		began := time.Now()
		for i := range artists {
			m.must(id(from + i))
		}
		eventually(t, "all are asked for", func() bool { return m.behind(artist.TopicHigh) == artists })
		eventually(t, "a breaker opens", func() bool {
			if n := m.behind(artist.TopicHigh); n != artists {
				t.Fatalf("%d of %d are unacknowledged while nothing can be written", n, artists)
			}
			return m.logged(breakerTo+"open") > before
		})
		opened = max(opened, time.Since(began))
		// The readers' processes have an undisturbed database.
		p := m.readsAmong(from, artists, 50, span, m.apis()...)
		if n := m.behind(artist.TopicHigh); n != artists {
			t.Errorf("%d of %d are unacknowledged after the breaker opened", n, artists)
		}
		proxy.Delay(0)
		back = max(back, m.done())
		return p
	})
	readsWithin(t, r, 50*time.Millisecond)
	for i := range artists {
		m.fresh(id(from + i))
	}
	eventually(t, "the breakers close", func() bool { return m.metric("db_circuit_breaker_state", m.called("worker")...) == 0 })
	m.must("9000")
	high := m.fresh("9000")
	if high > 3*time.Second {
		t.Errorf("the next artist took %v, the target is 3 s", high)
	}
	m.kept()
	measured(t, "a breaker opened after %v, nothing was acknowledged; all was done %v after the database was back; the next artist was fresh within %v",
		opened.Round(100*time.Millisecond), back.Round(100*time.Millisecond), high.Round(time.Millisecond))
}

// breakerTo is in the log of a worker. Its metrics wait for the database too, while
// it is this slow.
const breakerTo = `the breaker of the database changed" from=closed to=`

// logged is how often the office has logged something.
func (o *office) logged(what string) int {
	o.t.Helper()
	text, err := os.ReadFile(filepath.Join(o.dir, "office.log"))
	if err != nil {
		o.t.Fatal(err)
	}
	return strings.Count(string(text), what)
}

// redisDownOnServers kills all nodes of a Redis Cluster under an office.
func redisDownOnServers(t *testing.T) {
	c := startCluster(t)
	m := openMirror(t, 20*time.Millisecond, officePlan{redis: func(testing.TB) string { return c.url() }})
	m.must("1")
	m.fresh("1")
	m.done()
	m.age("1", 2*time.Hour)
	token := m.login(m.apis()[0], "ann")
	before := m.upstreamStats()
	c.kill()
	eventually(t, "it is known that Redis is away", func() bool { v := m.must("1"); return v.Freshness == artist.Stale && !v.UpdateQueued })
	p := m.reads(1, 20, 2*time.Second, m.apis()[0]) // of 1, which is there, and of others, which are not
	for one, want := range map[string]artist.Freshness{"1": artist.Stale, "9000": artist.NotFound} {
		v := m.must(one)
		if v.Freshness != want || (string(v.Snapshot) != "null") != (one == "1") || v.UpdateQueued || v.EstimatedWaitMs != nil {
			t.Errorf("artist %s: %+v, want %s and no promise", one, v, want)
		}
	}
	// Writes that need Redis are refused, with the time to retry.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.apis()[0]+"/api/queue/check/show-1", http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := m.http.Do(req)
	require.NoError(t, err)
	check(t, "close the answer", res.Body.Close())
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("the waiting room answers %s, Retry-After %q; want 503 and a time", res.Status, res.Header.Get("Retry-After"))
	}
	assert.Equal(t, 0, m.behind(artist.TopicHigh)+m.behind(artist.TopicLow), "requests were published without Redis")
	if now := m.upstreamStats(); now.Calls != before.Calls {
		t.Errorf("%d calls of the upstream without a budget", now.Calls-before.Calls)
	}
	began := time.Now()
	c.start()
	m.fresh("1")
	took := time.Since(began)
	m.done()
	m.kept()
	measured(t, "without Redis reads p95 %v, 503 with Retry-After from the waiting room, no call; fresh again %v after it was back", p.Round(100*time.Microsecond), took.Round(100*time.Millisecond))
}
