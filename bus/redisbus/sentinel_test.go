package redisbus_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/certtest"
	"github.com/millrace-go/millrace/internal/redistest"
)

// The master is killed, and Sentinels promote its replica: no accepted message is lost, and
// order holds. WAIT counts any replica, so the master has only one, which then has every
// accepted message. That replica has one too, for the time after.
func TestSentinelFailover(t *testing.T) {
	master := startServer(t)
	next := startReplica(t, master)
	startReplica(t, next)
	sentinels := []*redistest.Server{redistest.StartSentinel(t), redistest.StartSentinel(t), redistest.StartSentinel(t)}
	redistest.Watch(t, "mymaster", master.Server, 1, sentinels...)

	url := fmt.Sprintf("redis://%s,%s,%s/0?master=mymaster&wait=1", sentinels[0].Address, sentinels[1].Address, sentinels[2].Address)
	from, to := open(t, redisbus.Config{}, url), open(t, redisbus.Config{}, url)
	x := startTraffic(t, from, to, 4)
	x.more(100)
	master.Kill()
	t.Logf("back after %v", x.recovered().Round(time.Millisecond))
	x.more(100)
	x.finish(from, to)
	require.Equal(t, "master", next.replication()["role"])
}

// startReplica starts a replica of a server, and returns when it has the server's data.
func startReplica(t *testing.T, of *server) *server {
	t.Helper()
	host, port, err := net.SplitHostPort(of.Address)
	require.NoError(t, err)
	r := startServer(t, "--replicaof", host+" "+port)
	redistest.Until(t, "replication", func() bool { return r.replication()["master_link_status"] == "up" })
	return r
}

// replication returns the fields of INFO replication.
func (s *server) replication() map[string]string {
	s.t.Helper()
	info, err := s.client.InfoMap(s.t.Context(), "replication").Result()
	require.NoError(s.t, err)
	return info["Replication"]
}

// Master and Sentinel each have a user with a password, and both speak TLS.
func TestSentinelTLSAndPasswords(t *testing.T) {
	cert := certtest.New(t, "127.0.0.1")
	master, address := secureServer(t, cert)
	asked, options := sealed(t, cert)
	sentinel := redistest.StartSentinel(t, options...)

	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	watcher := redistest.Open(t, sentinel.URL())
	for _, err := range []error{
		master.client.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">p@ss/w0rd", "~*", "&*", "+@all").Err(),
		watcher.Do(t.Context(), "SENTINEL", "MONITOR", "mymaster", host, port, 1).Err(),
		watcher.Do(t.Context(), "ACL", "SETUSER", "watch", "on", ">s3nt/inel", "&*", "+@all").Err(),
		watcher.Do(t.Context(), "ACL", "SETUSER", "default", "off").Err(),
	} {
		require.NoError(t, err)
	}
	cfg := redisbus.Config{TLS: &tls.Config{RootCAs: cert.Pool, MinVersion: tls.VersionTLS12}}
	url := "rediss://app:%s@" + asked + "/0?master=mymaster&sentinel_user=watch&sentinel_password=%s"
	b := open(t, cfg, fmt.Sprintf(url, "p%40ss%2Fw0rd", "s3nt%2Finel"))
	ch := subscribe(t, b, "group", "topic", 10)
	publish(t, b, "topic", keyed("k", "1"))
	receive(t, ch).Ack()

	for _, wrong := range []string{fmt.Sprintf(url, "p%40ss%2Fw0rd", "hunter2"), fmt.Sprintf(url, "hunter2", "s3nt%2Finel")} {
		err := open(t, cfg, wrong).Ping(t.Context())
		require.ErrorContains(t, err, "WRONGPASS")
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, err.Error(), "s3nt")
		require.Equal(t, fault.Infrastructure, fault.Of(err), "%v", err)
		require.Equal(t, strings.HasSuffix(wrong, "hunter2"), strings.Contains(err.Error(), "sentinel_password="), "%v", err)
	}
}

// Without a master Publish fails as an outage, with an error that names the correction.
func TestSentinelWithoutMaster(t *testing.T) {
	sentinel := redistest.StartSentinel(t)
	for hosts, want := range map[string]string{
		sentinel.Address: `none of them knows "elsewhere"; correct master=`,
		"127.0.0.1:1":    "check the hosts",
	} {
		b := open(t, redisbus.Config{}, "redis://user:hunter2@"+hosts+"/?master=elsewhere")
		for _, err := range []error{b.Ping(t.Context()), b.Publisher().Publish("topic", keyed("k", "1"))} {
			require.ErrorContains(t, err, want)
			require.NotErrorIs(t, err, redis.Nil)
			require.NotContains(t, err.Error(), "hunter2")
			require.Equal(t, fault.Infrastructure, fault.Of(err), "%v", err)
		}
	}
}
