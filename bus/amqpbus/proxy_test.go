package amqpbus_test

import (
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/tcpproxy"
)

// startProxy puts a proxy before the broker, on a free port unless a listener is given.
func startProxy(t testing.TB, b *broker, listeners ...net.Listener) *tcpproxy.Proxy {
	t.Helper()
	u, err := url.Parse(b.url)
	require.NoError(t, err, "MILLRACE_RABBITMQ_URL is no valid URL")
	var p *tcpproxy.Proxy
	if len(listeners) > 0 {
		p = tcpproxy.Serve(listeners[0], u.Host)
	} else if p, err = tcpproxy.Start(u.Host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		assert.NoError(t, p.Close())
	})
	return p
}
