package redisdb_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/redistest"
)

// If Sentinels do not name the master, it is an outage, with an error that names the master and
// the setting to correct. It is never the answer that a key does not exist.
func TestNoMaster(t *testing.T) {
	master, sentinel := redistest.StartServer(t), redistest.StartSentinel(t)
	redistest.Watch(t, "here", master, 0, sentinel)
	locked := redistest.StartSentinel(t)
	require.NoError(t, redistest.Open(t, locked.URL()).Do(t.Context(), "ACL", "SETUSER", "default", "resetpass", ">pa55").Err())
	for hosts, want := range map[string]string{
		sentinel.Address + "/?master=elsewhere":                       `none of them knows "elsewhere"; correct master=`,
		"127.0.0.1:1,127.0.0.1:2/?master=here":                        "check the hosts",
		"127.0.0.1:1," + sentinel.Address + "/?master=elsewhere":      `none of them knows "elsewhere"; correct master=`,
		master.Address + "/?master=here":                              "unknown command",
		locked.Address + "/?master=here":                              "NOAUTH",
		locked.Address + "/?master=here&sentinel_password=hunter2":    "WRONGPASS",
		locked.Address + "/?master=elsewhere&sentinel_password=pa55":  `none of them knows "elsewhere"`,
		sentinel.Address + "/?master=elsewhere&sentinel_password=s3c": `none of them knows "elsewhere"`,
	} {
		c := open(t, "redis://:hunter2@"+hosts, redisdb.Config{})
		for call, err := range map[string]error{
			"a command":    c.Get(t.Context(), "key").Err(),
			"a pipeline":   pipelined(t, c),
			"a connection": c.(*redis.Client).Conn().Get(t.Context(), "key").Err(),
			"a channel":    c.Subscribe(t.Context(), "channel").Ping(t.Context()),
		} {
			require.ErrorIs(t, err, redisdb.ErrNoMaster, "%s: %s", hosts, call)
			require.NotErrorIs(t, err, redis.Nil, "%s: %s", hosts, call)
			require.ErrorContains(t, err, want, "%s: %s", hosts, call)
			require.NotContains(t, err.Error(), "hunter2")
			require.Equal(t, fault.Infrastructure, redisdb.Classify(err), "%s: %s: %v", hosts, call, err)
		}
	}
}

func pipelined(t *testing.T, c redis.UniversalClient) error {
	_, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error { return p.Get(t.Context(), "key").Err() })
	return err
}

// The same with a client that an application made.
func TestClassifyNoMaster(t *testing.T) {
	sentinel := redistest.StartSentinel(t)
	for _, address := range []string{sentinel.Address, "127.0.0.1:1", redistest.StartServer(t).Address} {
		c := redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: "elsewhere", SentinelAddrs: []string{address}, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
		})
		err := c.Get(t.Context(), "key").Err()
		require.Equal(t, fault.Infrastructure, redisdb.Classify(fmt.Errorf("get: %w", err)), "%v", err)
		require.NoError(t, c.Close())
	}
}

// The error of an absent master names the master's own address.
func TestMasterAway(t *testing.T) {
	master, sentinel := redistest.StartServer(t), redistest.StartSentinel(t)
	redistest.Watch(t, "here", master, 0, sentinel)
	master.Kill()
	err := open(t, "redis://"+sentinel.Address+"/?master=here", redisdb.Config{}).Ping(t.Context()).Err()
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.ErrorContains(t, err, master.Address)
	require.NotErrorIs(t, err, redisdb.ErrNoMaster)
	require.Equal(t, fault.Infrastructure, redisdb.Classify(err))
}

// The machine of the Sentinel that a client asked has lost its power: no answer arrives, not
// even a refused connection. The client asks another Sentinel, within its timeouts.
func TestSilentSentinel(t *testing.T) {
	master := redistest.StartServer(t)
	sentinels := []*redistest.Server{redistest.StartSentinel(t, "--tcp-backlog", "1"), redistest.StartSentinel(t, "--tcp-backlog", "1")}
	redistest.Watch(t, "here", master, 0, sentinels...)
	c := open(t, "redis://"+sentinels[0].Address+","+sentinels[1].Address+"/?master=here", redisdb.Config{Timeout: 400 * time.Millisecond})
	held := c.(*redis.Client).Conn()
	defer held.Close()
	require.NoError(t, held.Ping(t.Context()).Err())
	asked := sentinels[0]
	redistest.Until(t, "one of the Sentinels was asked", func() bool {
		for _, asked = range sentinels {
			if listens(t, asked) {
				return true
			}
		}
		return false
	})
	// As it does with connections that are idle for a long time.
	require.NoError(t, redistest.Open(t, asked.URL()).Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal").Err())
	asked.Stop()
	defer asked.Signal(syscall.SIGCONT)
	crowd(t, asked.Address)
	require.NoError(t, c.Ping(t.Context()).Err(), "a second connection")
}

// crowd makes connections that a stopped server does not accept, until the kernel no longer
// answers them.
func crowd(t *testing.T, address string) {
	t.Helper()
	for range 50 {
		conn, err := net.DialTimeout("tcp", address, 300*time.Millisecond)
		if err != nil {
			return
		}
		defer conn.Close()
	}
	t.Fatalf("%s goes on to accept connections", address)
}

// listens reports whether a client other than Sentinels is subscribed to a Sentinel's messages.
func listens(t *testing.T, sentinel *redistest.Server) bool {
	t.Helper()
	c := redistest.Open(t, sentinel.URL())
	list, err := c.(*redis.Client).ClientList(t.Context()).Result()
	require.NoError(t, err)
	return strings.Contains(list, " sub=2 ")
}

// A context's deadline ends a call whose Sentinel is silent, and so does the timeout.
func TestDeadlineOfSentinel(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	url := "redis://" + l.Addr().String() + "/?master=here"
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = open(t, url, redisdb.Config{Timeout: time.Minute}).Ping(ctx).Err()
	require.True(t, errors.Is(err, context.DeadlineExceeded) && redisdb.Classify(err) == fault.Infrastructure, "%v", err)
	err = open(t, url, redisdb.Config{Timeout: 50 * time.Millisecond}).Ping(t.Context()).Err()
	require.ErrorIs(t, err, redisdb.ErrNoMaster)
	require.Equal(t, fault.Infrastructure, redisdb.Classify(err), "%v", err)
}
