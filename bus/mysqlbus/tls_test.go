package mysqlbus_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/internal/certtest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/tlstest"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, other := certtest.New(t, "127.0.0.1"), certtest.New(t, "127.0.0.1")
	at := servicetest.MariaDBTLS(t, cert)
	u, err := url.Parse(at)
	require.NoError(t, err)
	tlstest.Run(t, tlstest.Server{
		Schemes: []bus.Scheme{mysqlbus.Scheme(mysqlbus.Config{})}, Address: u.Host,
		Trusted: at + "?tls-ca=" + cert.Cert,
		Other:   at + "?tls-ca=" + other.Cert, Fix: "tls-ca",
		Plain: at, FixPlain: "tls=true",
	})
}
