package gate_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/gate"
	"github.com/millrace-go/millrace/queue/queuehttp"
)

// once is a Taker that gives each key one call.
type once map[string]bool

func (o once) Take(_ context.Context, key string, every time.Duration, _ int) time.Duration {
	if o[key] {
		return every
	}
	o[key] = true
	return 0
}

// One join by address: a second browser waits outside of the line, also when it
// navigates, and the first one goes on as ever.
func TestJoinRate(t *testing.T) {
	counted := once{}
	s := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) {
		c.JoinRates = &queuehttp.JoinRates{Limiter: counted, Rate: queuehttp.JoinRate{PerSecond: 1, Burst: 1}}
	})
	first, second := s.browser(), s.browser()
	first.enter()
	second.open("/")
	for range 3 {
		require.Equal(t, http.StatusServiceUnavailable, second.open("/").StatusCode)
		answer := second.do("POST", "/millrace-gate/check/sale", http.Header{"Accept": {"application/json"}})
		require.Equal(t, http.StatusTooManyRequests, answer.StatusCode, answer.text)
		require.Contains(t, answer.text, "too-many-joins")
		require.Contains(t, answer.text, "네트워크")
		require.Equal(t, "1", answer.Header.Get("Retry-After"))
		require.Equal(t, http.StatusOK, first.open("/").StatusCode)
	}
	require.Equal(t, once{"sale/192.0.2.1": true}, counted)
	state, err := s.room.State(t.Context(), "sale")
	require.NoError(t, err)
	require.EqualValues(t, 1, state.Joined)
	delete(counted, "sale/192.0.2.1")
	require.Contains(t, second.poll(), `"position":1`)
}

// With Proxied and in a judge the address is the one that the proxy names, and else that of
// the connection.
func TestJoinRateBehindAProxy(t *testing.T) {
	for _, proxied := range []bool{false, true} {
		counted := once{}
		s := newSite(t, queue.Config{}, func(c *gate.Config) {
			c.Proxied, c.JoinRates = proxied, &queuehttp.JoinRates{Limiter: counted}
		})
		b := s.browser()
		b.open("/")
		b.do("GET", "/", http.Header{"Accept": {"text/html"}, "X-Forwarded-For": {"203.0.113.1, 198.51.100.7"}})
		want := "sale/192.0.2.1"
		if proxied {
			want = "sale/198.51.100.7"
		}
		require.Equal(t, once{want: true}, counted)
	}
	counted := once{}
	s := newSite(t, queue.Config{}, func(c *gate.Config) {
		c.Origin, c.Transport, c.JoinRates = nil, nil, &queuehttp.JoinRates{Limiter: counted}
	})
	judge, err := s.gate.Judge(gate.Forward)
	require.NoError(t, err)
	b := s.browser()
	for range 2 {
		b.send(judge, httptest.NewRequest("GET", "http://shop.example/judge", nil), http.Header{
			"X-Forwarded-Method": {"GET"}, "X-Forwarded-Host": {"shop.example"}, "X-Forwarded-Uri": {"/"}, "X-Forwarded-Proto": {"http"},
			"X-Forwarded-For": {"198.51.100.8"}, "Accept": {"text/html"},
		})
	}
	require.Equal(t, once{"sale/198.51.100.8": true}, counted)
}
