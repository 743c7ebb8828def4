package app

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/tcpproxy"
	"github.com/millrace-go/millrace/internal/tcpproxy/proxytest"
)

var update = flag.Bool("update", false, "write testdata/series.txt anew")

// figures are the series served at /metrics, with their values.
func (p *process) figures() map[string]float64 {
	p.t.Helper()
	all := map[string]float64{}
	for line := range strings.Lines(p.text("/metrics")) {
		series, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "} ")
		if ok {
			series += "}"
		} else {
			series, value, _ = strings.Cut(series, " ")
		}
		if n, err := strconv.ParseFloat(value, 64); err == nil && !strings.HasPrefix(line, "#") {
			all[series] = n
		}
	}
	return all
}

// reach waits until each series is at least as high as wanted.
func (p *process) reach(what string, want map[string]float64) {
	p.t.Helper()
	missing := ""
	boxtest.WaitFor(p.t, what, func() bool {
		got := p.figures()
		missing = ""
		for series, n := range want {
			if is, ok := got[series]; !ok || is < n {
				missing += fmt.Sprintf("%s is %v, there: %t; want %v\n", series, is, ok, n)
			}
		}
		return missing == ""
	}, func() string { return missing })
}

// TestSeries: the list of all series is checked in, so that dashboards and alert rules
// can be checked against it without a running box office. It has the type, the name and
// the labels of each; a histogram once; none of the runtime.
func TestSeries(t *testing.T) {
	t.Parallel()
	const file = "testdata/series.txt"
	p := start(t, "--data-dir", t.TempDir())
	p.text("/metrics") // the next answer tells of this request
	var series []string
	types := map[string]string{}
	for line := range strings.Lines(p.text("/metrics")) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(strings.TrimSpace(rest), " ")
			types[name] = kind
		}
	}
	for one := range p.figures() {
		name, labels, _ := strings.Cut(one, "{")
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || strings.HasSuffix(name, "_bucket") || strings.HasSuffix(name, "_sum") {
			continue
		}
		if of := strings.TrimSuffix(name, "_count"); types[of] == "histogram" {
			name = of
		}
		if labels != "" {
			labels = "{" + labels
		}
		series = append(series, types[name]+" "+name+labels+"\n")
	}
	slices.Sort(series)
	got := []byte(strings.Join(series, ""))
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("the series are not those of %s: missing %v, new %v; look whether deploy/ still fits, then run this test with -update",
			file, without(string(want), string(got)), without(string(got), string(want)))
	}
}

// without are the lines of a that b does not have.
func without(a, b string) (lines []string) {
	for line := range strings.Lines(a) {
		if !strings.Contains("\n"+b, "\n"+line) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// One handler serves everything, also compressed, and once.
func TestOneHandlerForAllFigures(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.app.URL()+"/metrics", nil)
	require.NoError(t, err)
	r.Header.Set("Accept-Encoding", "gzip")
	res, err := p.http.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	assert.Equal(t, "gzip", res.Header.Get("Content-Encoding"), "a scraper that takes gzip gets")
	_, err = io.Copy(io.Discard, res.Body)
	assert.NoError(t, err)
	text := p.text("/metrics")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "# TYPE ") && strings.Count(text, line) != 1 {
			t.Errorf("twice: %s", line)
		}
	}
}

// Requests for artists move the lag while they wait, and the counters of results when
// they are done.
func TestFiguresOfRefreshes(t *testing.T) {
	t.Parallel()
	api := newArtistAPI(t)
	p := start(t, "--data-dir", t.TempDir(), "--upstream-url", api.url)
	for _, id := range []string{"7", "8", "99999"} { // the last is none
		p.look(id)
	}
	p.reach("requests that wait", map[string]float64{`kafka_consumer_lag{group="high-worker",topic="update-priority-high"}`: 3})
	close(api.let)
	p.turns("7", artist.Fresh)
	p.turns("8", artist.Fresh)
	p.reach("refreshes", map[string]float64{
		`update_process_duration_seconds_count{priority="high"}`: 2, "db_upsert_duration_seconds_count": 1,
		`rate_limiter_acquired_total{priority="high"}`: 3, `artist_refresh_total{result="changed"}`: 2,
		`update_process_error_total{reason="API_4XX"}`: 1, `dlq_message_count{topic="update-dlq"}`: 1,
		`millrace_consumer_handled_total{group="high-worker",topic="update-priority-high"}`: 2, "millrace_bus_published_total": 4,
	})
}

// A booking moves the counters of the relay, the consumers and their guards.
func TestFiguresOfABooking(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir())
	f := p.fan("ann")
	held := f.hold("A-1")
	f.await(held.ReservationID, f.pay(held, approve), "A-1", "CONFIRMED , SUCCESS , SOLD")
	f.call(http.MethodPost, "/api/shows/show-1/comments", "", map[string]string{"text": "I was there"}, 201, nil)
	p.reach("a booking", map[string]float64{
		`millrace_outbox_published_total{topic="reservation.events"}`: 2, `millrace_outbox_published_total{topic="payment.events"}`: 1,
		`millrace_outbox_publish_latency_seconds_count{topic="payment.events"}`: 1, `millrace_outbox_round_duration_seconds_count{shard="0"}`: 1,
		`millrace_outbox_lease_held{shard="0"}`: 1, `millrace_outbox_lease_taken{shard="0"}`: 1,
		`millrace_consumer_handled_total{group="event-payment-consumer",topic="payment.events"}`:                  1,
		`millrace_consumer_handler_duration_seconds_count{group="event-payment-consumer",topic="payment.events"}`: 1,
		`millrace_idempotency_events_total{group="event-payment-consumer",outcome="handled"}`:                     1,
		`payments_total{outcome="approved"}`: 1, `millrace_counter_rows_total{counter="comment"}`: 1,
		`millrace_counter_adds_total{counter="comment",outcome="ok"}`: 1,
		`millrace_queue_entered_total{event="show-1"}`:                1, `notification_live_total{result="sent"}`: 1,
	})
}

// A scrape waits for no server: it answers while the database, which is the transport as
// well, and Redis hang. Operators need the figures the most then.
func TestFiguresWhileServersHang(t *testing.T) {
	t.Parallel()
	var hanging []*tcpproxy.Proxy
	through := func(raw string) string {
		t.Helper()
		u, err := url.Parse(raw)
		require.NoError(t, err, "the URL of a server is malformed")
		proxy := proxytest.Start(t, u.Host)
		hanging = append(hanging, proxy)
		u.Host = proxy.Addr()
		return u.String()
	}
	p := start(t, "--data-dir", t.TempDir(), "--db-url", through(servicetest.PostgresURL(t)),
		"--redis-url", through(servicetest.Redis(t)), "--redis-prefix", t.Name()+":")
	p.ready()
	impatient := &http.Client{Transport: p.http.Transport, Timeout: 30 * time.Second} // they hang until the end
	scrape := func(when string) {
		t.Helper()
		res, err := impatient.Get(p.app.URL() + "/metrics")
		require.NoErrorf(t, err, "%s", when)
		if text := readAll(t, res); res.StatusCode != http.StatusOK || !strings.Contains(text, "millrace_outbox_backlog") {
			t.Fatalf("%s: %s: %.200s", when, res.Status, text)
		}
	}
	for _, proxy := range hanging {
		proxy.Stall(true)
		defer proxy.Stall(false)
	}
	scrape("when they begin to hang")
	// That takes longer than the pause between reads of any loop for the figures.
	boxtest.WaitFor(t, "the process to know that its database hangs", func() bool {
		res, err := impatient.Get(p.app.URL() + "/readyz")
		require.NoError(t, err)
		return strings.Contains(readAll(t, res), "the database does not answer")
	})
	scrape("while they hang")
}

// Calls of Redis are measured.
func TestFiguresOfRedis(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--redis-url", servicetest.Redis(t), "--redis-prefix", t.Name()+":")
	p.turns("7", artist.Fresh)
	p.reach("calls of Redis", map[string]float64{"redis_command_duration_seconds_count": 3})
}

// Redis is unreachable: the breaker before it opens.
func TestFiguresWithoutRedis(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--redis-url", "redis://"+closedPort(t))
	n := 0
	boxtest.WaitFor(t, "redis_circuit_breaker_state to be open", func() bool {
		n++
		p.look(strconv.Itoa(n)) // each wants a refresh, which needs a lock
		return p.figures()["redis_circuit_breaker_state"] == 2
	})
	p.reach("the refusals", map[string]float64{`artist_ask_total{result="refused"}`: 1})
}

// The transport refuses all messages: the unsent messages are counted.
func TestFiguresOfATransportThatRefuses(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir())
	assert.EqualValues(t, 0, p.figures()["kafka_producer_send_failed_total"], "kafka_producer_send_failed_total begins at")
	_, err := p.app.office.store.DB().ExecContext(t.Context(),
		`CREATE TRIGGER refuse BEFORE INSERT ON bus_messages BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`)
	require.NoError(t, err)
	p.look("7")
	p.reach("a publish that failed", map[string]float64{"kafka_producer_send_failed_total": 1})
	_, err = p.app.office.store.DB().ExecContext(t.Context(), `DROP TRIGGER refuse`)
	require.NoError(t, err)
	p.turns("7", artist.Fresh) // by itself: readers ask again
}
