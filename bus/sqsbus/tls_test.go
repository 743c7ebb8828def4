package sqsbus_test

import (
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/internal/certtest"
	"github.com/millrace-go/millrace/internal/tlstest"
)

// The endpoint uses TLS with an authority of its own, as inside a company.
func TestTLS(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	behind, err := url.Parse(p.endpoint)
	require.NoError(t, err)
	cert, other := certtest.New(t, "127.0.0.1"), certtest.New(t, "127.0.0.1")
	server := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(behind))
	server.TLS, server.Config.ErrorLog = cert.Server(), log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	at := func(endpoint string) string {
		return strings.Replace(p.url, url.QueryEscape(p.endpoint), url.QueryEscape(endpoint), 1)
	}
	tlstest.Run(t, tlstest.Server{
		Schemes: []bus.Scheme{sqsbus.Scheme(sqsbus.Config{})}, Address: server.Listener.Addr().String(),
		Trusted: at(server.URL) + "&cacertfile=" + cert.Cert,
		Other:   at(server.URL) + "&cacertfile=" + other.Cert, Fix: "?cacertfile=",
		Plain: at(strings.Replace(server.URL, "https", "http", 1)), FixPlain: "endpoint=https://",
	})
}
