package kafkabus_test

import (
	"crypto/tls"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/internal/certtest"
	"github.com/millrace-go/millrace/internal/tlstest"
)

// roundTrip publishes and consumes one message.
func roundTrip(t *testing.T, b *bus.Bus) {
	t.Helper()
	topic := name("topic")
	publish(t, b, topic, keyed("k", "hello"))
	expect(t, subscribe(t, subscriber(t, b, name("group"), 1), topic), "hello")
}

func TestSignIn(t *testing.T) {
	const password = "s3cret-päss/@:word"
	for parameter, mechanism := range map[string]string{
		"plain": "PLAIN", "scram-sha-256": "SCRAM-SHA-256", "scram-sha-512": "SCRAM-SHA-512",
	} {
		t.Run(parameter, func(t *testing.T) {
			t.Parallel()
			c := fake(t, kfake.EnableSASL(), kfake.Superuser(mechanism, "tickets", password))
			at := func(password string) string {
				return "kafka://" + url.UserPassword("tickets", password).String() + "@" + c.ListenAddrs()[0] + "/?sasl=" + parameter
			}
			log := &events{Handler: slog.DiscardHandler, n: map[slog.Level]int{}}
			roundTrip(t, openBus(t, kafkabus.Config{Logger: slog.New(alwaysOn{log})}, at(password)))
			log.mu.Lock()
			assert.Equal(t, (parameter == "plain"), log.n[slog.LevelWarn] == 1, "warned of a readable password")
			log.mu.Unlock()
			err := openBus(t, kafkabus.Config{}, at("wrong-"+password)).Ping(t.Context())
			require.Error(t, err, "a wrong password was taken")
			if s := err.Error(); strings.Contains(s, password) || strings.Contains(s, url.QueryEscape(password)) || !strings.Contains(s, c.ListenAddrs()[0]) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// Connections are encrypted, and both sides verify certificates.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, other := certtest.New(t, "127.0.0.1"), certtest.New(t, "127.0.0.1")
	server := cert.Server()
	server.ClientAuth, server.ClientCAs = tls.RequireAndVerifyClientCert, cert.Pool
	c := fake(t, kfake.TLS(server))
	ours := "&cert=" + cert.Cert + "&key=" + cert.Key
	tlstest.Run(t, tlstest.Server{
		Schemes: []bus.Scheme{kafkabus.Scheme(kafkabus.Config{})}, Address: c.ListenAddrs()[0],
		Trusted: urlOf(c) + "?tls=true&ca=" + cert.Cert + ours,
		Other:   urlOf(c) + "?tls=true&ca=" + other.Cert + ours, Fix: "?ca=",
		Plain: urlOf(c), FixPlain: "tls=true",
	})
	assert.Error(t, openBus(t, kafkabus.Config{}, urlOf(c)+"?tls=true&ca="+cert.Cert).Ping(t.Context()), "a client without a certificate was accepted")
}
