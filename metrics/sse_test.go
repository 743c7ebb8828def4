package metrics_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/metrics/promtest"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/memsse"
)

func newHub(t testing.TB) *sse.Hub {
	t.Helper()
	c, b := memsse.New()
	hub, err := sse.New(c, b, sse.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return hub
}

// sseScrape returns each series with its value.
func sseScrape(t testing.TB, hub *sse.Hub) map[string]float64 {
	t.Helper()
	c, err := metrics.New(hub)
	require.NoError(t, err)
	return promtest.Read(t, c)
}

func TestSSEAllSeriesAreThereFromTheStart(t *testing.T) {
	got := sseScrape(t, newHub(t))
	for name, value := range got {
		assert.EqualValuesf(t, 0, value, "%s is %v", name, value)
	}
	assert.Len(t, got, 5+1+9+1+2+4+2+2+1+1+1+1, "series")
}

func TestSSEWhatAHubDoes(t *testing.T) {
	hub := newHub(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	require.NoError(t, hub.Ready(t.Context()))
	request, leave := context.WithCancel(t.Context())
	opened, served := make(chan struct{}), make(chan error, 1)
	replay := sse.Replayer(func(context.Context, sse.Cursors) (sse.Missed, error) {
		close(opened)
		return sse.Missed{Events: []sse.Event{{Name: "notification", ID: "1"}}}, nil
	})
	go func() {
		r := httptest.NewRequestWithContext(request, http.MethodGet, "/", nil)
		served <- hub.Serve(httptest.NewRecorder(), r, sse.Stream{Member: "ann", Rooms: []string{"r"}, Replay: replay})
	}()
	<-opened
	require.NoError(t, hub.ToMember(t.Context(), "ann", sse.Event{Data: []byte("x")}))
	got := sseScrape(t, hub)
	for name, want := range map[string]float64{
		"millrace_sse_streams": 1, "millrace_sse_members": 1, "millrace_sse_rooms": 1, "millrace_sse_leased": 1, "millrace_sse_hearing": 1, "millrace_sse_opened_total": 1, "millrace_sse_published_total published": 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	leave()
	require.NoError(t, <-served)
	cancel()
	require.NoError(t, <-done)
	got = sseScrape(t, hub)
	for name, want := range map[string]float64{"millrace_sse_streams": 0, "millrace_sse_leased": 0, "millrace_sse_ended_total gone": 1, "millrace_sse_events_total replayed": 1} {
		if got[name] != want {
			t.Errorf("at the end %s is %v, want %v", name, got[name], want)
		}
	}
	if got["millrace_sse_writes_total"] < 1 || got["millrace_sse_written_bytes_total"] < 10 {
		t.Errorf("written are %v bytes in %v writes", got["millrace_sse_written_bytes_total"], got["millrace_sse_writes_total"])
	}
}

// slowly is a broker whose calls of Publish wait, and then fail.
type slowly struct {
	driver.Broker
	called, fail chan struct{}
}

func (r slowly) Publish(context.Context, driver.Message) error {
	r.called <- struct{}{}
	<-r.fail
	return errors.New("no broker")
}

// A scrape while a message is on its way to the broker, which then does not take it: a counter
// that went down would count as restarted.
func TestSSECountersNeverGoDown(t *testing.T) {
	c, b := memsse.New()
	broker := slowly{b, make(chan struct{}), make(chan struct{})}
	hub, err := sse.New(c, broker, sse.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	published := make(chan error)
	go func() { published <- hub.ToAll(t.Context(), sse.Event{Data: []byte("x")}) }()
	<-broker.called
	before := sseScrape(t, hub)
	close(broker.fail)
	assert.Error(t, <-published, "the broker takes the message")
	for name, value := range sseScrape(t, hub) {
		if value < before[name] {
			t.Errorf("%s goes from %v to %v", name, before[name], value)
		}
	}
}

func TestSSENewRefusesNoHub(t *testing.T) {
	if c, err := metrics.New[*sse.Hub](nil); err == nil {
		t.Errorf("a collector of nothing: %v", c)
	}
}
