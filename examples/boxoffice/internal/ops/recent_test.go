package ops_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
)

// run keeps the figures fresh until the test ends.
func (d *desk) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.ops.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done, "Run ended with")
	})
}

// reports waits until the report contains the words.
func (d *desk) reports(t *testing.T, words ...string) {
	t.Helper()
	var got string
	boxtest.WaitFor(t, "a report of "+strings.Join(words, " and "), func() bool {
		got = text(t)(d.ops.Report(t.Context()))
		for _, w := range words {
			if !strings.Contains(got, w) {
				return false
			}
		}
		return true
	}, func() string { return got })
}

// scrape reads the metrics.
func (d *desk) scrape(t *testing.T, requests *ops.Requests) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	for _, c := range append(d.ops.Collectors(), requests) {
		require.NoError(t, registry.Register(c))
	}
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// hung is a transport that can stop answering questions, for good: it ignores their
// contexts too.
type hung struct {
	driver.Driver
	hangs   atomic.Bool
	release chan struct{} // closed, it answers again
	asked   atomic.Int64
}

func (h *hung) question() {
	h.asked.Add(1)
	if h.hangs.Load() {
		<-h.release
	}
}

func (h *hung) Lag(ctx context.Context) ([]bus.Lag, error) {
	h.question()
	return h.Driver.(driver.Lagger).Lag(ctx)
}

func (h *hung) Pending(ctx context.Context, topic, group string, limit int) ([]*message.Message, error) {
	h.question()
	return h.Driver.(driver.Pender).Pending(ctx, topic, group, limit)
}

// onHung is a desk whose transport may hang; it is released before the figures end.
func onHung(t *testing.T) (*desk, *hung) {
	t.Helper()
	h := &hung{release: make(chan struct{})}
	d := newDesk(t, func(c *ops.Config) {
		h.Driver = c.Bus.Driver()
		c.Bus = bus.New("hung", h)
	})
	return d, h
}

// atOnce fails when an answer waits for the transport.
func atOnce(t *testing.T, what string, get func() string) string {
	t.Helper()
	got := make(chan string, 1)
	go func() { got <- get() }()
	select {
	case s := <-got:
		return s
	case <-time.After(time.Minute):
		t.Fatalf("%s waits for the transport", what)
		return ""
	}
}

// A transport that stops answering delays no request for its last answer, and the age
// of that is reported.
func TestNobodyWaitsForTheTransport(t *testing.T) {
	d, h := onHung(t)
	requests := ops.NewRequests()
	d.bury(t, 2)
	require.NoError(t, d.bus.Publisher().Publish(events.Payments, message.NewMessage("1", []byte("x"))))
	d.run(t)
	t.Cleanup(func() { close(h.release) })
	d.reports(t, `"lag":{"state":"known","ageSeconds":`, `"group":"event-payment-consumer","state":"elsewhere","inFlight":0,"handled":0,"duplicates":0,"retried":0,"deadLettered":0,"lag":1`,
		`"topic":"dlq.payment","count":2,"recent":[{"id":"letter-1"`)
	boxtest.WaitFor(t, "an audit", func() bool {
		return strings.Contains(text(t)(d.ops.RecentInvariants(t.Context())), `"ageSeconds":0.`)
	})

	h.hangs.Store(true)
	before := h.asked.Load()
	boxtest.WaitFor(t, "questions without an answer", func() bool { return h.asked.Load() > before })
	for _, stale := range []bool{false, true} {
		if stale { // the age shows while there is no answer
			d.reports(t, `"lag":{"state":"stale","ageSeconds":`)
		}
		page := atOnce(t, "the report", func() string { return text(t)(d.ops.Report(t.Context())) })
		holds(t, "the report", page, `"deadLettered":0,"lag":1`, `"topic":"dlq.payment","count":2,"recent":[{"id":"letter-1"`)
		books := atOnce(t, "the last audit", func() string { return text(t)(d.ops.RecentInvariants(t.Context())) })
		holds(t, "the last audit", books, `"name":"sold-seats"`, `"ageSeconds":`)
		scrape := atOnce(t, "the scrape", func() string { return d.scrape(t, requests) })
		holds(t, "the scrape", scrape, `millrace_consumer_lag{group="event-payment-consumer",topic="payment.events"} 1`, `millrace_dead_letters{topic="dlq.payment"} 2`)
	}
}

// A transport that has never answered differs from one without messages.
func TestTransportHangsFromTheStart(t *testing.T) {
	d, h := onHung(t)
	h.hangs.Store(true)
	d.run(t)
	t.Cleanup(func() { close(h.release) })
	boxtest.WaitFor(t, "the first question", func() bool { return h.asked.Load() > 0 })
	page := atOnce(t, "the report", func() string { return text(t)(d.ops.Report(t.Context())) })
	holds(t, "the report", page, `"lag":{"state":"unknown","ageSeconds":null,"error":""}`, `"lag":null`, `"recent":[],"ageSeconds":null`)
	books := atOnce(t, "the last audit", func() string { return text(t)(d.ops.RecentInvariants(t.Context())) })
	holds(t, "the last audit", books, `"ok":false,"quiescent":false,"checks":[],"ageSeconds":null`)
	scrape := atOnce(t, "the scrape", func() string { return d.scrape(t, ops.NewRequests()) })
	holds(t, "the scrape", scrape, `millrace_consumer_lag{group="event-payment-consumer",topic="payment.events"} 0`, `millrace_dead_letters{topic="dlq.payment"} 0`)
	assert.NotContains(t, scrape, "millrace_consumer_lag_age_seconds 0\n", "a lag that nobody has told is shown as fresh")
}

// blind is a transport that never knows its lag.
type blind struct {
	driver.Driver
	driver.Pender
}

func TestTransportThatCannotTell(t *testing.T) {
	d := newDesk(t, func(c *ops.Config) { c.Bus = bus.New("blind", blind{c.Bus.Driver(), c.Bus.Driver().(driver.Pender)}) })
	d.bury(t, 2)
	d.run(t)
	d.reports(t, `"lag":{"state":"unsupported","ageSeconds":null,"error":""}`, `"lag":null`, `"topic":"dlq.payment","count":2,"recent":[{"id":"letter-1"`)
	holds(t, "the report", text(t)(d.ops.ReportNow(t.Context())), `"lag":{"state":"unsupported"`, `"topic":"dlq.payment","count":2`)
	scrape := d.scrape(t, ops.NewRequests())
	holds(t, "the scrape", scrape, `millrace_dead_letters{topic="dlq.payment"} 2`)
	assert.NotContainsf(t, scrape, "millrace_consumer_lag", "a lag that nobody can tell is shown as a figure: %s", scrape)
}

// The last audit follows the events, and names the reason if there is no newer one.
func TestRecentInvariants(t *testing.T) {
	d := newDesk(t, nil)
	d.run(t)
	var last struct {
		OK         bool
		Checks     []ops.Check
		AgeSeconds *float64
		Error      string
	}
	ask := func() bool {
		last.AgeSeconds = nil
		require.NoError(t, json.Unmarshal([]byte(text(t)(d.ops.RecentInvariants(t.Context()))), &last))
		return last.AgeSeconds != nil
	}
	boxtest.WaitFor(t, "an audit", func() bool { return ask() && last.OK && len(last.Checks) == 14 })
	d.Exec(t, `UPDATE stats SET value = 1 WHERE name = 'memberships'`)
	boxtest.WaitFor(t, "an audit of the broken books", func() bool { return ask() && !last.OK })
	rename := func(from, to string) {
		_, err := d.Store.DB().ExecContext(t.Context(), `ALTER TABLE `+from+` RENAME TO `+to)
		require.NoError(t, err)
	}
	rename("effects", "lost")
	boxtest.WaitFor(t, "the reason why there is no audit", func() bool { return ask() && strings.Contains(last.Error, "effects") && len(last.Checks) == 14 })
	rename("lost", "effects")
	boxtest.WaitFor(t, "the next audit", func() bool { return ask() && last.Error == "" })
}
