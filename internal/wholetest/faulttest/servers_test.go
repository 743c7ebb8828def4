package faulttest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/bus/natsbus"
	"github.com/millrace-go/millrace/bus/pgbus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The Kafka client counts in meters that share one goroutine for good.
		goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// transport is a broker under test.
type transport struct {
	name     string // as services.sh calls the server
	url      func(t testing.TB) string
	database func(t *testing.T) database // on another server
}

// quick is how long a consumer that vanished keeps its part: short, to keep the
// tests short.
const quick = 3 * time.Second

func transports() []transport {
	return []transport{
		{"kafka", func(t testing.TB) string { return "kafka://" + servicetest.Kafka(t) + "/" }, postgres},
		{"rabbitmq", servicetest.RabbitMQ, postgres},
		{"redis", servicetest.Redis, postgres},
		{"nats", natstest.Server, postgres},
		{"postgres", servicetest.PostgresURL, mariadb},
		{"mariadb", servicetest.MariaDBURL, postgres},
		{"mysql", servicetest.MySQLURL, postgres},
	}
}

// schemes knows the transports. dial, when not nil, makes Kafka's connections;
// its brokers name their own addresses, so a proxy cannot stand in a URL.
func schemes(dial func(ctx context.Context, network, addr string) (string, string)) []bus.Scheme {
	kafka := kafkabus.Config{SessionTimeout: 6 * time.Second, Logger: logger()}
	if dial != nil {
		kafka.Options = []kgo.Opt{kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			network, addr = dial(ctx, network, addr)
			return new(net.Dialer).DialContext(ctx, network, addr)
		})}
	}
	return []bus.Scheme{kafkabus.Scheme(kafka),
		amqpbus.Scheme(amqpbus.Config{Logger: logger()}),
		redisbus.Scheme(redisbus.Config{LeaseTTL: quick, Logger: logger()}),
		natsbus.Scheme(natsbus.Config{LeaseTTL: quick, Logger: logger()}),
		pgbus.Scheme(pgbus.Config{LeaseTTL: quick, Logger: logger()}),
		mysqlbus.Scheme(mysqlbus.Config{LeaseTTL: quick, Logger: logger()})}
}

// logger is silent: a fault causes many log lines, all expected.
// MILLRACE_FAULTTEST_LOG shows them.
func logger() *slog.Logger {
	if os.Getenv("MILLRACE_FAULTTEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// restart kills a server and starts it again. It returns when the server answers.
// addr, host:port of the server that the flow uses, shows that it was this one.
func restart(t *testing.T, server, addr string) {
	t.Helper()
	command := os.Getenv("MILLRACE_RESTART")
	if command == "" {
		servicetest.Missing(t, "kills servers: set MILLRACE_RESTART to a command that kills and starts the named one, e.g. \"$PWD/scripts/services.sh restart\"")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	witness, err := net.Dial("tcp", addr)
	require.NoErrorf(t, err, "%s before it is killed", server)
	defer witness.Close() //nolint:errcheck // nothing was written
	words := append(strings.Fields(command), server)
	began := time.Now()
	if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
	}
	require.NoError(t, witness.SetReadDeadline(time.Now().Add(time.Second)))
	if _, err := io.Copy(io.Discard, witness); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%s did not kill the server at %s: a connection to it still stands", strings.Join(words, " "), addr)
	}
	t.Logf("%s was killed and answered again after %s", server, time.Since(began).Round(10*time.Millisecond))
}

// hostOf is host:port of a URL, the first where there are several.
func hostOf(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	host, _, _ := strings.Cut(u.Host, ",")
	return host
}

// at replaces host and port of a URL.
func at(t *testing.T, raw, addr string) string {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	u.Host = addr
	return u.String()
}
