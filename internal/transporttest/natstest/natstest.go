// Package natstest gives a test a prefix of its own on a NATS server with JetStream: on the
// server of MILLRACE_NATS_URL, or on a server in the test's own process.
package natstest

import (
	"context"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millrace-go/millrace/internal/servicetest"
)

const variable = "MILLRACE_NATS_URL"

// Server returns the URL of a NATS server in a process of its own.
func Server(t testing.TB) string {
	t.Helper()
	return servicetest.Env(t, variable, "NATS", "nats://127.0.0.1:4222")
}

// URL returns a nats:// URL with a prefix of its own. Objects under the prefix are removed with
// the test.
func URL(t testing.TB) string {
	t.Helper()
	address := ""
	if os.Getenv(variable) != "" || os.Getenv("MILLRACE_SERVERS_ONLY") == "1" {
		address = Server(t)
	} else {
		address = Start(t, &server.Options{}).ClientURL()
	}
	prefix := "t-" + uuid.NewString()
	t.Cleanup(func() {
		if err := sweep(address, prefix); err != nil {
			t.Errorf("remove the test's streams: %v", err)
		}
	})
	return strings.TrimSuffix(address, "/") + "/?" + url.Values{"prefix": {prefix}}.Encode()
}

// Start starts a server with JetStream in this process, on a free port of 127.0.0.1 if the
// options have none. It ends with the test.
func Start(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	o.Host, o.JetStream, o.NoSigs, o.NoLog = "127.0.0.1", true, true, true
	o.MaxPayload = 8 << 20 // the suites publish more than the 1 MiB that is the default
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	if o.StoreDir == "" {
		o.StoreDir = t.TempDir()
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the NATS server in this process does not answer")
	}
	return s
}

// StartCluster starts servers that form a cluster, each as Start does, and waits until they have
// elected a leader.
func StartCluster(t testing.TB, size int) []*server.Server {
	t.Helper()
	var routes []*url.URL
	for range size {
		routes = append(routes, &url.URL{Scheme: "nats", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(FreePort(t)))})
	}
	var all []*server.Server
	for n, r := range routes {
		port, err := strconv.Atoi(r.Port())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Start(t, &server.Options{
			ServerName: "n" + strconv.Itoa(n), Routes: routes, Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port},
		}))
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	led := func(s *server.Server) bool { return s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == size }
	for deadline := time.Now().Add(time.Minute); !slices.ContainsFunc(all, led); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("the cluster of NATS servers has no leader within a minute")
		}
	}
	return all
}

// FreePort returns a port of 127.0.0.1 that was free a moment ago. It is below the range of
// outgoing ports: an outgoing connection could take such a port before a server listens there,
// or while a killed server is absent.
func FreePort(t testing.TB) int {
	t.Helper()
	const first, count, tries = 10_000, 20_000, 100
	for range tries {
		port := first + rand.IntN(count)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue // it is taken
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatal("no free port of 127.0.0.1 from 10000 on")
	return 0
}

// sweep deletes the streams whose names begin with the prefix, or with that of its bucket.
func sweep(address, prefix string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := nats.Connect(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	names := js.StreamNames(ctx)
	var ours []string
	for name := range names.Name() {
		if strings.HasPrefix(strings.TrimPrefix(name, "KV_"), prefix) {
			ours = append(ours, name)
		}
	}
	if err := names.Err(); err != nil {
		return err
	}
	for _, name := range ours {
		if err := js.DeleteStream(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
