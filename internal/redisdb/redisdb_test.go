package redisdb_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	goleak.VerifyTestMain(m)
}

// silence drops the client's own log lines about absent servers.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func open(t *testing.T, url string, cfg redisdb.Config) redis.UniversalClient {
	t.Helper()
	c, err := redisdb.Open(url, cfg)
	require.NoErrorf(t, err, "%s", url)
	t.Cleanup(func() {
		assert.NoError(t, c.Close())
	})
	return c
}

func TestURLs(t *testing.T) {
	single := open(t, "redis://app:p%40ss@host/2", redisdb.Config{}).(*redis.Client).Options()
	if single.Addr != "host:6379" || single.Username != "app" || single.Password != "p@ss" || single.DB != 2 || single.TLSConfig != nil {
		t.Errorf("got %s, user %s, database %d, TLS %v", single.Addr, single.Username, single.DB, single.TLSConfig)
	}
	if single.MaxRetries > 0 || !single.ContextTimeoutEnabled || single.ReadTimeout != 5*time.Second {
		t.Errorf("retries %d, context's timeouts %t, read timeout %s", single.MaxRetries, single.ContextTimeoutEnabled, single.ReadTimeout)
	}
	secure := open(t, "rediss://[::1]:6380", redisdb.Config{}).(*redis.Client).Options()
	if secure.Addr != "[::1]:6380" || secure.TLSConfig == nil {
		t.Errorf("got %s, TLS %v", secure.Addr, secure.TLSConfig)
	}
	for url, want := range map[string][]string{
		"redis://a,b:2/":                  {"a:6379", "b:2"},
		"redis://a:1/?cluster=true":       {"a:1"},
		"rediss://u:p@a:1,b:2/0":          {"a:1", "b:2"},
		"redis://a:1,b:2/0?cluster=false": {"a:1", "b:2"},
	} {
		c, ok := open(t, url, redisdb.Config{}).(*redis.ClusterClient)
		if !ok || !slices.Equal(c.Options().Addrs, want) {
			t.Errorf("%s: a cluster: %t, want %v", url, ok, want)
		}
		if every := c.Options().ClusterStateReloadInterval; every > 5*time.Second {
			t.Errorf("%s: a new master is looked for every %s", url, every)
		}
	}
	behind := open(t, "rediss://app:p%40ss@a,b:2/3?master=m&cluster=false&sentinel_user=u&sentinel_password=w", redisdb.Config{}).(*redis.Client).Options()
	if behind.Username != "app" || behind.Password != "p@ss" || behind.DB != 3 || behind.TLSConfig == nil {
		t.Errorf("behind Sentinels: user %s, database %d, TLS %v", behind.Username, behind.DB, behind.TLSConfig)
	}
	if behind.MaxRetries > 0 || !behind.ContextTimeoutEnabled || behind.ReadTimeout != 5*time.Second {
		t.Errorf("behind Sentinels: retries %d, context's timeouts %t, read timeout %s", behind.MaxRetries, behind.ContextTimeoutEnabled, behind.ReadTimeout)
	}
}

func TestURLErrors(t *testing.T) {
	for url, want := range map[string]string{
		"redis://:secret@":                 "names no host",
		"redis://:secret@h:1/x":            `"x"`,
		"redis://:secret@h:1/-1":           `"-1"`,
		"redis://:secret@h:1/?db=3":        `"db"`,
		"redis://:secret@h:1/?cluster=huh": `"cluster"`,
		"redis://:secret@h:1,i:1/4":        "database 4",
		"redis://:secret@,h/":              "empty host",
		"redis://:secret@h/#1":             "%23",
		"redis://:sec%ret@h/":              "percent-encode",
		"http://:secret@h/":                "neither redis nor rediss",
		"redis://:secret@h/?cluster=1;2":   "malformed",

		"redis://:secret@h,i/?master=":                                     `"master" is empty`,
		"redis://:secret@h,i/?master=m&cluster=true":                       "both master= and cluster=true",
		"redis://:secret@h,i/?master=m&master=n":                           `"master" is given 2 times`,
		"redis://:secret@h,i/?sentinel_password=sec":                       "no master=",
		"redis://:secret@h,i/?sentinel_user=u":                             "no master=",
		"redis://:secret@h,i/?master=m&sentinel_user=u":                    "no sentinel_password=",
		"redis://:secret@h,i/?master=m&sentinel_password=":                 `"sentinel_password" is empty`,
		"redis://:secret@h,i/?master=m&sentinel_user=&sentinel_password=s": `"sentinel_user" is empty`,
		"redis://:secret@h,,i/?master=m&sentinel_password=secret":          "empty host",
		"redis://:secret@h,i/x?master=m&sentinel_password=secret":          `"x"`,
	} {
		c, err := redisdb.Open(url, redisdb.Config{})
		if err == nil {
			c.Close()
			t.Errorf("%s was opened", url)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sec") {
			t.Errorf("%s: %v; want it to say %s", url, err, want)
		}
	}
	for _, cfg := range []redisdb.Config{{Timeout: -1}, {PoolSize: -1}} {
		if c, err := redisdb.Open("redis://h/", cfg); err == nil {
			c.Close()
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

// A call to a silent server ends with the context, or after the timeout.
func TestDeadline(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	url := "redis://" + l.Addr().String() + "/"
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	patient := open(t, url, redisdb.Config{Timeout: time.Minute})
	if err := patient.Ping(ctx).Err(); fault.Of(err, redisdb.Classify) != fault.Infrastructure {
		t.Errorf("beyond the context's deadline: %v is %v", err, fault.Of(err, redisdb.Classify))
	}
	hasty := open(t, url, redisdb.Config{Timeout: 50 * time.Millisecond})
	if err := hasty.Ping(t.Context()).Err(); fault.Of(err, redisdb.Classify) != fault.Infrastructure {
		t.Errorf("beyond the timeout: %v is %v", err, fault.Of(err, redisdb.Classify))
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("both took %s", took)
	}
}

type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

func TestClassify(t *testing.T) {
	wrapped := func(err error) error { return fmt.Errorf("publish: %w", err) }
	for _, tc := range []struct {
		err  error
		want fault.Class
	}{
		{nil, fault.Unclassified},
		{redis.Nil, fault.Unclassified},
		{errors.New("something"), fault.Unclassified},
		{wrapped(context.Canceled), fault.Unclassified},
		{wrapped(context.DeadlineExceeded), fault.Infrastructure},
		{wrapped(io.EOF), fault.Infrastructure},
		{wrapped(&net.OpError{Op: "dial", Err: errors.New("refused")}), fault.Infrastructure},
		{wrapped(&tls.CertificateVerificationError{Err: errors.New("expired")}), fault.Infrastructure},
		{wrapped(redis.ErrClosed), fault.Infrastructure},
		{wrapped(redis.ErrPoolTimeout), fault.Infrastructure},
		{wrapped(answer("LOADING Redis is loading the dataset in memory")), fault.Infrastructure},
		{wrapped(answer("READONLY You can't write against a read only replica.")), fault.Infrastructure},
		{wrapped(answer("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.")), fault.Infrastructure},
		{wrapped(answer("NOREPLICAS Not enough good replicas to write.")), fault.Infrastructure},
		{wrapped(redisdb.ErrNoMaster), fault.Infrastructure},
		{wrapped(answer("CLUSTERDOWN The cluster is down")), fault.Infrastructure},
		{wrapped(answer("OOM command not allowed when used memory > 'maxmemory'.")), fault.Infrastructure},
		{wrapped(answer("NOAUTH Authentication required.")), fault.Infrastructure},
		{wrapped(answer("ERR max number of clients reached")), fault.Infrastructure},
		{wrapped(answer("BUSYGROUP Consumer Group name already exists")), fault.Unclassified},
		{wrapped(answer("WRONGTYPE Operation against a key holding the wrong kind of value")), fault.Permanent},
		{wrapped(answer("CROSSSLOT Keys in request don't hash to the same slot")), fault.Permanent},
		{wrapped(answer("ERR syntax error")), fault.Unclassified},
	} {
		if got := redisdb.Classify(tc.err); got != tc.want {
			t.Errorf("%v is %v, want %v", tc.err, got, tc.want)
		}
	}
}

func TestForbidden(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("publish: %w", answer("NOPERM User box has no permissions to run the 'publish' command")), true},
		{answer("ERR The user executing the script can't run this command or subcommand script: 1"), true},
		{answer("ERR The user executing the script can't access at least one of the keys mentioned in the command"), true},
		{answer("No permissions to access a key"), true},
		{answer("ERR ACL failure in script: User box has no permissions to run the 'set' command"), true},
		{answer("WRONGTYPE Operation against a key holding the wrong kind of value"), false},
		{errors.New("NOPERM, and no answer of a server"), false},
		{nil, false},
	} {
		assert.Equalf(t, tc.want, redisdb.Forbidden(tc.err), "%v", tc.err)
	}
}

// The same classes from a real server, which has its own error texts.
func TestClassifyAnswers(t *testing.T) {
	c := open(t, servicetest.Redis(t), redisdb.Config{})
	key := "t" + rand(t)
	defer c.Del(context.Background(), key)
	require.NoError(t, c.Set(t.Context(), key, "x", time.Minute).Err())
	if err := c.XLen(t.Context(), key).Err(); redisdb.Classify(err) != fault.Permanent {
		t.Errorf("%v is %v, want permanent", err, redisdb.Classify(err))
	}
	script := redis.NewScript(`return redis.call('XLEN', KEYS[1])`)
	if err := script.Run(t.Context(), c, []string{key}).Err(); redisdb.Classify(err) != fault.Permanent {
		t.Errorf("in a script: %v is %v, want permanent", err, redisdb.Classify(err))
	}
}

func rand(t *testing.T) string {
	return strings.ReplaceAll(t.Name(), "/", "") + time.Now().Format("150405.000000000")
}
