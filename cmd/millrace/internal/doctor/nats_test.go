package doctor_test

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/natsbus"
	"github.com/millrace-go/millrace/cmd/millrace/internal/doctor"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
)

func TestNATSRefuses(t *testing.T) {
	s := natstest.Start(t, &server.Options{Username: "app", Password: "r1ght-w0rd"}).Addr().String()
	healthy(t, examine(t, doctor.Transport, "nats://app:r1ght-w0rd@"+s))
	want(t, examine(t, doctor.Transport, "nats://app:gehe1m-w0rt@"+s), doctor.Error, "authentication", "does not let this user in")
	want(t, examine(t, doctor.Transport, "nats://"+s), doctor.Error, "authentication", "does not let this user in")
	want(t, examine(t, doctor.Transport, "tls://app:r1ght-w0rd@"+s), doctor.Error, "tls", "does not speak TLS")
	want(t, examine(t, doctor.Transport, "nats://app:r1ght-w0rd@"+s+"/?partition=3"), doctor.Error, "url", `"partition"`)
	want(t, examine(t, doctor.Transport, "nats://"+s+"/?creds=/no/such/file"), doctor.Error, "url", `"creds"`)
	want(t, examine(t, doctor.Transport, "nats://127.0.0.1:1,"+s+"/?token=r1ght"), doctor.Warning, "reachable", "127.0.0.1:1")

	shop := server.NewAccount("shop")
	s = natstest.Start(t, &server.Options{Accounts: []*server.Account{shop}, Users: []*server.User{
		{Username: "off", Password: "w0rd", Account: shop},
		{Username: "bound", Password: "w0rd", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$JS.API.>"}}}},
	}}).Addr().String()
	want(t, examine(t, doctor.Transport, "nats://off:w0rd@"+s), doctor.Error, "jetstream", "off for this user's account")
	want(t, examineIn(t, time.Second, doctor.Transport, "nats://bound:w0rd@"+s), doctor.Error, "authentication", "may not use JetStream")

	core, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	require.NoError(t, err)
	core.Start()
	t.Cleanup(func() {
		core.Shutdown()
		core.WaitForShutdown()
	})
	require.True(t, core.ReadyForConnections(10*time.Second), "the server does not answer")
	want(t, examine(t, doctor.Transport, core.ClientURL()), doctor.Error, "jetstream", "off on the server")
}

// A server that is too old, by its greeting.
func TestNATSVersion(t *testing.T) {
	s := listener(t, func(c net.Conn) {
		defer c.Close()
		if _, err := c.Write([]byte(`INFO {"server_id":"x","version":"2.10.29","headers":true,"max_payload":1048576}` + "\r\n")); err != nil {
			return
		}
		for lines := bufio.NewScanner(c); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "PING") {
				if _, err := c.Write([]byte("PONG\r\n")); err != nil {
					return
				}
			}
		}
	})
	want(t, examine(t, doctor.Transport, "nats://"+s), doctor.Error, "version", "NATS 2.10.29 is too old")
}

// A topic of the transport needs copies in a cluster, all of them current.
func TestNATSCluster(t *testing.T) {
	servers := natstest.StartCluster(t, 3)
	var hosts []string
	for _, s := range servers {
		hosts = append(hosts, s.Addr().String())
	}
	at := "nats://" + strings.Join(hosts, ",")
	b, err := bus.Open(t.Context(), at, natsbus.Scheme(natsbus.Config{Replicas: 3}))
	require.NoError(t, err)
	defer b.Close()
	declare := func() error {
		return b.Declare(t.Context(), bus.Topic{Name: "orders"}, bus.Topic{Name: "mails", Replication: 1})
	}
	deadline := time.Now().Add(time.Minute)
	for err = declare(); err != nil; err = declare() { // a server may count as absent for a moment
		if fault.Of(err) != fault.Infrastructure || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	r := examine(t, doctor.Transport, at)
	want(t, r, doctor.OK, "version", `a server of the cluster "c"`)
	want(t, r, doctor.OK, "topics", "looked at: 3")
	want(t, r, doctor.Error, "replication", "millrace+mails: one copy only")
	if says(r, doctor.Error, "replication", "orders") || says(r, doctor.Error, "replication", "KV_") {
		t.Errorf("a stream with three copies is blamed: %+v", r)
	}
	conn, err := nats.Connect(at)
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	mails, err := js.Stream(t.Context(), "millrace+mails")
	require.NoError(t, err)
	for _, s := range servers {
		if s.Name() == mails.CachedInfo().Cluster.Leader {
			s.Shutdown()
			s.WaitForShutdown()
		}
	}
	// The others elect leaders, and notice after a while that a server is absent.
	for {
		r = examine(t, doctor.Transport, at)
		if says(r, doctor.Error, "partitions", "millrace+mails: no leader") && says(r, doctor.Warning, "partitions", "millrace+orders") {
			return
		}
		require.Falsef(t, time.Now().After(deadline), "a server is absent, and it says %+v", r)
	}
}
