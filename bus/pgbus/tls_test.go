package pgbus_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/pgbus"
	"github.com/millrace-go/millrace/internal/certtest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/tlstest"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, other := certtest.New(t, "127.0.0.1"), certtest.New(t, "127.0.0.1")
	at := servicetest.PostgresTLS(t, cert)
	u, err := url.Parse(at)
	require.NoError(t, err)
	tlstest.Run(t, tlstest.Server{
		Schemes: []bus.Scheme{pgbus.Scheme(pgbus.Config{})}, Address: u.Host,
		Trusted: at + "?sslmode=verify-full&sslrootcert=" + cert.Cert,
		Other:   at + "?sslmode=verify-full&sslrootcert=" + other.Cert, Fix: "sslrootcert",
		Plain: at + "?sslmode=disable", FixPlain: "sslmode=verify-full",
	})
}
