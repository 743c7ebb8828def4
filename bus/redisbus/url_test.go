package redisbus_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/certtest"
	"github.com/millrace-go/millrace/internal/tlstest"
)

func TestURLErrors(t *testing.T) {
	for url, want := range map[string]string{
		"redis://":                                      "names no host",
		"redis://:6379":                                 "",
		"redis://127.0.0.1:1/?partition=3":              `"partition"`,
		"redis://127.0.0.1:1/?partitions=0":             `"partitions"`,
		"redis://127.0.0.1:1/?partitions=99999":         "Partitions",
		"redis://127.0.0.1:1/?retention=-1h":            `"retention"`,
		"redis://127.0.0.1:1/?maxlen=x":                 `"maxlen"`,
		"redis://127.0.0.1:1/?wait=0":                   `"wait"`,
		"redis://127.0.0.1:1/?cluster=maybe":            `"cluster"`,
		"redis://127.0.0.1:1/?prefix=%7Ba%7D":           "brace",
		"redis://127.0.0.1:1/?cluster=1&wait=1":         "min-replicas",
		"redis://127.0.0.1:1,127.0.0.1:2/?master=":      `"master" is empty`,
		"redis://127.0.0.1:1/?master=m&cluster=1":       "both master= and cluster=true",
		"redis://127.0.0.1:1/?sentinel_password=secret": "no master=",
		"redis://127.0.0.1:1/?master=m&master=n":        "2 times",
		"redis://127.0.0.1:1/?master=m&sentinel_user=u": "no sentinel_password=",
		"redis://127.0.0.1:1/?master=m&wait=0":          `"wait"`,
		"redis://127.0.0.1:1,127.0.0.1:2/3":             "database 3",
		"redis://127.0.0.1:1/cache":                     `"cache"`,
		"redis://user:secret@127.0.0.1:1/0#x":           "%23",
		"redis://user:secret@,127.0.0.1:1/0":            "empty host",
		"redis://user:secret@127.0.0.1:1,h:2/?x=":       `"x"`,
	} {
		b, err := tryOpen(redisbus.Config{}, url)
		if err == nil {
			b.Close()
			t.Errorf("%s was opened", url)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want it to say %s", url, err, want)
		}
	}
	for _, scheme := range []string{"redis", "rediss"} {
		err := open(t, redisbus.Config{}, scheme+"://user:secret@127.0.0.1:1/0").Ping(t.Context())
		if fault.Of(err) != fault.Infrastructure || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "secret") {
			t.Errorf("a server that is away: %v is %v, want infrastructure", err, fault.Of(err))
		}
	}
}

// A user with a password, over TLS; a wrong password is reported and not repeated.
func TestTLSAndPassword(t *testing.T) {
	cert := certtest.New(t, "127.0.0.1")
	s, at := secureServer(t, cert)
	require.NoError(t, s.client.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">p@ss/w0rd", "~*", "&*", "+@all").Err())
	trusting := redisbus.Config{TLS: &tls.Config{RootCAs: cert.Pool, MinVersion: tls.VersionTLS12}}
	url := "rediss://app:%s@" + at + "/0"
	tlstest.Run(t, tlstest.Server{
		Schemes: []bus.Scheme{redisbus.Scheme(trusting)}, Others: []bus.Scheme{redisbus.Scheme(redisbus.Config{})}, Address: at,
		Trusted: fmt.Sprintf(url, "p%40ss%2Fw0rd"),
		Other:   fmt.Sprintf(url, "p%40ss%2Fw0rd"), Fix: "SSL_CERT_FILE",
		Plain: "redis://" + at + "/0", FixPlain: "rediss://",
	})
	err := open(t, trusting, fmt.Sprintf(url, "hunter2")).Ping(t.Context())
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("a wrong password: %v", err)
	}
}

// secureServer starts a server that speaks TLS at an address of its own.
func secureServer(t *testing.T, c certtest.Certificate) (s *server, address string) {
	t.Helper()
	address, options := sealed(t, c)
	return startServer(t, options...), address
}

// sealed returns an address, and the options of a server that speaks TLS there.
func sealed(t *testing.T, c certtest.Certificate) (address string, options []string) {
	t.Helper()
	port := fmt.Sprint(freePort(t))
	return net.JoinHostPort("127.0.0.1", port), []string{
		"--tls-port", port, "--tls-auth-clients", "no", "--tls-ca-cert-file", c.Cert, "--tls-cert-file", c.Cert, "--tls-key-file", c.Key,
	}
}

// A program's own client is used, and stays open.
func TestSharedClient(t *testing.T) {
	p := single(t)
	b := open(t, redisbus.Config{Client: p.client, Prefix: p.prefix}, "redis://127.0.0.1:1/")
	publish(t, b, "topic", keyed("k", "1"))
	require.NoError(t, b.Close())
	assert.NoError(t, p.client.Ping(context.Background()).Err(), "the shared client after Close")
}
