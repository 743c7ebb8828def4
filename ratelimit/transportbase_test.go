package ratelimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
)

// TestTheBaseIsLeftAlone: the base is http.DefaultTransport by default, with which the rest of
// the process still makes its calls, over HTTP/2 too.
func TestTheBaseIsLeftAlone(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	others := server.Client()
	base, ok := others.Transport.(*http.Transport)
	require.True(t, ok)

	l, err := ratelimit.New(memratelimit.New(), ratelimit.Config{Limits: forgiving})
	require.NoError(t, err)
	limited := client(t, l, ratelimit.TransportConfig{Base: base})
	for c, version := range map[*http.Client]int{others: 2, limited: 1} {
		resp, err := c.Get(server.URL)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, version, resp.ProtoMajor)
	}
}
