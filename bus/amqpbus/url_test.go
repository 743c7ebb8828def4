package amqpbus_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/certtest"
	"github.com/millrace-go/millrace/internal/tlstest"
)

const waitLong = 20 * time.Second

func TestURLErrors(t *testing.T) {
	t.Parallel()
	scheme := amqpbus.Scheme(amqpbus.Config{})
	for raw, want := range map[string]string{
		"amqp://user:s3cret@127.0.0.1:1/?no_such=1":                       "no_such",
		"amqp://user:s3cret@127.0.0.1:1/?partitions=0":                    "partitions",
		"amqp://user:s3cret@127.0.0.1:1/?partitions=49":                   "48",
		"amqp://user:s3cret@127.0.0.1:1/?queue_type=stream":               "queue_type",
		"amqp://user:s3cret@127.0.0.1:1/?prefetch=2001":                   "prefetch",
		"amqp://user:s3cret@127.0.0.1:1/?heartbeat=10ms":                  "heartbeat",
		"amqp://user:s3cret@127.0.0.1:1/?connect_timeout=x":               "connect_timeout",
		"amqp://user:s3cret@127.0.0.1:1/?exchange=a.%23":                  "exchange",
		"amqp://user:s3cret@127.0.0.1:1/?exchange=amq.topic":              "amq.",
		"amqp://user:s3cret@127.0.0.1:1/?prefix=amq.":                     "prefix",
		"amqp://user:s3cret@127.0.0.1:1/?cacertfile=x":                    "cacertfile",
		"amqp://user:s3cret@127.0.0.1:1/a/b":                              "%2F",
		"amqp://user:s3cret@127.0.0.1:1/#x":                               "fragment",
		"amqp://":                                                         "no host",
		"amqp://a,,b/":                                                    "empty host",
		"amqps://user:s3cret@127.0.0.1:1/?cacertfile=/nonexistent.pem":    "cacertfile",
		"amqps://user:s3cret@127.0.0.1:1/?certfile=/a.pem":                "together",
		"amqps://user:s3cret@127.0.0.1:1/?certfile=/a.pem&keyfile=/b.pem": `"certfile" and "keyfile"`,
		"amqp://user:s3cret@127.0.0.1:1/?partitions=2&partitions=3":       "given 2 times",
	} {
		opened, err := bus.Open(t.Context(), raw, scheme)
		if err == nil {
			opened.Close() //nolint:errcheck // it should not be open
			t.Errorf("%s was opened", raw)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v; want it to say %s", raw, err, want)
		}
	}
}

// Ping reports an absent broker.
func TestAbsentBroker(t *testing.T) {
	t.Parallel()
	scheme := amqpbus.Scheme(amqpbus.Config{})
	for raw, want := range map[string]string{
		"amqp://user:s3cret@127.0.0.1:1/":                                "connect to 127.0.0.1:1",
		"amqp://user:s3cret@127.0.0.1:1,127.0.0.1:2/?connect_timeout=1s": "connect to 127.0.0.1:2",
	} {
		opened, err := bus.Open(t.Context(), raw, scheme)
		require.NoError(t, err)
		err = opened.Ping(t.Context())
		if fault.Of(err) != fault.Infrastructure || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v (%s); want it to say %s", raw, err, fault.Of(err), want)
		}
		assert.NoError(t, opened.Close())
	}
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]amqpbus.Config{
		"Rebalance":       {Rebalance: -1},
		"confirm_timeout": {ConfirmTimeout: -1},
		"Bindings":        {Bindings: map[string][]string{"q": {}}},
	} {
		_, err := bus.Open(t.Context(), "amqp://127.0.0.1:1/", amqpbus.Scheme(cfg))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want it to say %s", err, want)
		}
	}
}

// A wrong password or a missing vhost is reported, without repeating a credential.
func TestRefusedByTheBroker(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	scheme := amqpbus.Scheme(amqpbus.Config{})
	b.open(t, amqpbus.Config{}, "") // makes the exchange that is deleted at the end
	u, err := url.Parse(b.rawURL(t, "", ""))
	require.NoError(t, err)
	vhost := *u
	vhost.Path = "/no-such-vhost"
	u.User = url.UserPassword("nobody", "s3cret")
	for _, raw := range []string{u.String(), vhost.String()} {
		opened, err := bus.Open(t.Context(), raw, scheme)
		require.NoError(t, err)
		defer opened.Close() //nolint:errcheck // it has no connection
		if err = opened.Ping(t.Context()); fault.Of(err) != fault.Infrastructure {
			t.Errorf("got %v (%s), want an infrastructure error", err, fault.Of(err))
			continue
		}
		password, _ := vhost.User.Password()
		if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), ":"+password+"@") {
			t.Errorf("the error repeats a credential: %v", err)
		}
	}
}

// The first of several hosts that answers is used.
func TestHosts(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	u, err := url.Parse(b.url)
	require.NoError(t, err, "MILLRACE_RABBITMQ_URL is no valid URL")
	opened := b.openAt(t, amqpbus.Config{}, "127.0.0.1:1,"+u.Host, "")
	topic := unique("topic")
	declare(t, opened, bus.Topic{Name: topic, Groups: []string{"g"}})
	publish(t, opened, topic, keyed("k", 1))
}

func TestPingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // nothing to lose
	opened, err := bus.Open(t.Context(), "amqp://"+l.Addr().String()+"/", amqpbus.Scheme(amqpbus.Config{}))
	require.NoError(t, err)
	defer opened.Close() //nolint:errcheck // it has no connection
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	stopped, stop := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, stop)
	for _, ctx := range []context.Context{short, stopped} {
		start := time.Now()
		if err := opened.Ping(ctx); err == nil || time.Since(start) > 5*time.Second {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	}
}

// amqps:// is the same over TLS, which a listener of the test terminates.
func TestTLS(t *testing.T) {
	t.Parallel()
	b := rabbit(t)
	cert, other := certtest.New(t, "rabbit.test"), certtest.New(t, "rabbit.test")
	secure, err := tls.Listen("tcp", "127.0.0.1:0", cert.Server())
	require.NoError(t, err)
	startProxy(t, b, secure)
	at := secure.Addr().String()
	sealed := strings.Replace(b.rawURL(t, at, ""), "amqp://", "amqps://", 1) + "&server_name_indication=rabbit.test"
	tlstest.Run(t, tlstest.Server{
		Schemes: []bus.Scheme{amqpbus.Scheme(amqpbus.Config{Logger: slog.New(slog.DiscardHandler)})}, Address: at,
		Trusted: sealed + "&cacertfile=" + cert.Cert,
		Other:   sealed + "&cacertfile=" + other.Cert, Fix: "?cacertfile=",
		Plain: b.rawURL(t, at, ""), FixPlain: "amqps://",
		Done: func(d busdriver.Driver) { b.drop(t, amqpbus.Queues(d)...) },
	})
}
