package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/memsse"
)

// A stream and a socket that are open for an hour count with the time until they
// began; an answer that takes an hour counts with an hour.
func TestObserveWhatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		s := &server{requests: ops.NewRequests(), log: slog.New(slog.DiscardHandler)}
		mux := http.NewServeMux()
		handle := func(route string, serve http.HandlerFunc) {
			mux.HandleFunc("GET "+route, func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(time.Second) // by the test's clock
				serve(w, r)
			})
		}
		stream := func(lean bool) http.HandlerFunc {
			hub := memoryHub(t, sse.Config{Lean: lean, WriteTimeout: time.Second})
			ended := make(chan error, 1)
			go func() { ended <- hub.Run(ctx) }()
			t.Cleanup(func() {
				assert.NoError(t, <-ended)
			})
			synctest.Wait()
			return func(w http.ResponseWriter, r *http.Request) { _ = hub.Serve(w, r, sse.Stream{Member: "ann"}) }
		}
		handle("/portable", stream(false))
		handle("/lean", stream(true))
		handle("/socket", func(w http.ResponseWriter, r *http.Request) {
			conn, err := websocket.Accept(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			_, _, _ = conn.Read(context.Background()) // until the client has left
			_ = conn.CloseNow()
		})
		handle("/slow", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "first")
			time.Sleep(time.Hour)
		})

		pipes := boxtest.NewPipes()
		server := &http.Server{Handler: s.observe(mux)}
		served := make(chan error, 1)
		go func() { served <- server.Serve(pipes) }()
		client := &http.Client{Transport: &http.Transport{DialContext: pipes.Dial}}
		for _, route := range []string{"/portable", "/lean", "/slow"} {
			request, leave := context.WithCancel(ctx)
			r, err := http.NewRequestWithContext(request, http.MethodGet, "http://box"+route, nil)
			require.NoError(t, err)
			answer, err := client.Do(r) //nolint:bodyclose // it is closed when it was left
			require.NoError(t, err)
			go func() { _, _ = io.Copy(io.Discard, answer.Body) }() // until it is left
			time.Sleep(2 * time.Hour)
			leave()
			synctest.Wait()
			_ = answer.Body.Close()
		}
		conn, _, err := websocket.Dial(ctx, "http://box/socket", &websocket.DialOptions{HTTPClient: client}) //nolint:bodyclose // Dial has read what there is of it
		require.NoError(t, err)
		time.Sleep(time.Hour)
		_ = conn.CloseNow()
		synctest.Wait()

		for route, want := range map[string]float64{"/portable": 1, "/lean": 1, "/socket": 1, "/slow": 3601} {
			if seconds, n := took(t, s.requests, route); n != 1 || seconds != want {
				t.Errorf("%s: %d requests took %v s, want one that took %v", route, n, seconds, want)
			}
		}
		stop()
		client.CloseIdleConnections()
		assert.NoError(t, server.Shutdown(context.Background()))
		<-served
	})
}

// took is how many requests of a route there were, and how long they took in all.
func took(t *testing.T, requests *ops.Requests, route string) (seconds float64, n uint64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(requests)
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if h := m.GetHistogram(); h != nil && m.GetLabel()[0].GetValue() == route {
				return h.GetSampleSum(), h.GetSampleCount()
			}
		}
	}
	return 0, 0
}

// memoryHub is one of this process alone.
func memoryHub(t *testing.T, cfg sse.Config) *sse.Hub {
	t.Helper()
	c, b := memsse.New()
	cfg.Logger = slog.New(slog.DiscardHandler)
	hub, err := sse.New(c, b, cfg)
	require.NoError(t, err)
	return hub
}
