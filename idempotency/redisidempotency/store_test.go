package redisidempotency_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/idempotencytest"
	"github.com/millrace-go/millrace/idempotency/redisidempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/tcpproxy/proxytest"
	"github.com/millrace-go/millrace/sqltx"
)

func record(key string) driver.Record { return driver.Record{Key: key, Group: "g"} }

func nothing(context.Context) error { return nil }

// TestTTL: a handled key is a plain value with a TTL; while it is being handled it expires with
// the lease, so that a crash does not block it for a week.
func TestTTL(t *testing.T) {
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		p := redistest.Prefix(t, client)
		s := newStore(t, client, redisidempotency.Config{Prefix: p})
		ttl := func(key string) time.Duration { return client.PTTL(t.Context(), p+key).Val() }
		_, err := s.Once(t.Context(), record("g:1"), func(context.Context) error {
			if got := ttl("g:1"); got <= 0 || got > 30*time.Second {
				t.Errorf("during the handler the key expires in %v", got)
			}
			return nil
		})
		require.NoError(t, errors.Join(err, s.Mark(t.Context(), []string{"g:2", "g:3"})))
		for _, key := range []string{"g:1", "g:2", "g:3"} {
			if got := ttl(key); got < 7*24*time.Hour-time.Minute || got > 7*24*time.Hour || client.Get(t.Context(), p+key).Val() != "1" {
				t.Errorf("%s expires in %v with %q, want a week", key, got, client.Get(t.Context(), p+key).Val())
			}
		}
		known, err := s.Known(t.Context(), []string{"g:0", "g:3", "g:1", "g:0"})
		if !slices.Equal(known, []bool{false, true, true, false}) || err != nil {
			t.Errorf("Known = %v, %v", known, err)
		}
		l := newLeases(t, client, redisidempotency.Config{Prefix: p + "l:", TTL: time.Hour})
		_, err = l.Claim(t.Context(), record("k"), time.Minute)
		require.NoError(t, err)
		if got := ttl("l:k"); got <= 59*time.Minute || got > time.Hour {
			t.Errorf("a lease is kept for %v, want an hour", got)
		}
		if _, err := l.Claim(t.Context(), record("k"), 2*time.Hour); err == nil || !strings.Contains(err.Error(), "Config.TTL") {
			t.Errorf("a lease beyond the TTL: %v", err)
		}
	})
}

// TestLeaseRunsOut: another call takes the key after the lease ran out; the end of the first
// call fails and does not change the other's key.
func TestLeaseRunsOut(t *testing.T) {
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		p := redistest.Prefix(t, client)
		s := newStore(t, client, redisidempotency.Config{Prefix: p})
		for _, result := range []error{nil, errFailed} {
			fresh, err := s.Once(t.Context(), record("g:1"), func(ctx context.Context) error {
				// As if the key had expired while this process was stopped.
				assert.NoError(t, client.Set(ctx, p+"g:1", "another", 0).Err())
				return result
			})
			want := result
			if want == nil {
				want = driver.ErrLeaseLost
			}
			if fresh || !errors.Is(err, want) {
				t.Errorf("a handler that returned %v: %v, %v; want %v", result, fresh, err, want)
			}
			if got := client.Get(t.Context(), p+"g:1").Val(); got != "another" {
				t.Errorf("the other's key is %q now", got)
			}
			client.Del(t.Context(), p+"g:1")
		}
	})
}

var errFailed = errors.New("the handler failed")

// TestCrash: a crashed worker blocks its key until the lease ends.
func TestCrash(t *testing.T) {
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		p := redistest.Prefix(t, client)
		s := newStore(t, client, redisidempotency.Config{Prefix: p, Lease: 3 * time.Second})
		began := time.Now()
		require.NoError(t, client.Set(t.Context(), p+"g:1", "crashed", 200*time.Millisecond).Err())
		var waited time.Duration
		fresh, err := s.Once(t.Context(), record("g:1"), func(ctx context.Context) error {
			waited = time.Since(began)
			return renewed(ctx, client, p+"g:1")
		})
		if !fresh || err != nil || waited < 190*time.Millisecond {
			t.Errorf("%v, %v after %v; want the effect after the lease", fresh, err, waited)
		}
	})
}

// renewed returns when the lease of the key was extended.
func renewed(ctx context.Context, client redis.UniversalClient, key string) error {
	for last := time.Hour; ; {
		left, err := client.PTTL(ctx, key).Result()
		if err != nil || left > last {
			return err
		}
		last = left
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// TestRedisDown: without an answer the state of the key is unknown: alone the store refuses,
// and as a pre-check it is skipped.
func TestRedisDown(t *testing.T) {
	server := redistest.StartServer(t)
	client := open(t, server.URL())
	s := newStore(t, client, redisidempotency.Config{Lease: 100 * time.Millisecond})
	l := newLeases(t, client, redisidempotency.Config{})
	_, db := servicetest.SQLite(t)
	truth, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: sqltx.SQLite})
	require.NoError(t, err)
	require.NoError(t, truth.Migrate(t.Context()))
	skipped := 0
	layered, err := idempotency.NewLayered(s, truth, idempotency.LayeredConfig{Rest: time.Nanosecond, OnError: func(err error) {
		skipped++
		assert.Equalf(t, fault.Infrastructure, fault.Of(err), "the pre-check failed with %v", err)
	}})
	require.NoError(t, err)
	if fresh, err := layered.Once(t.Context(), record("g:1"), nothing); !fresh || err != nil {
		t.Fatalf("with Redis: %v, %v", fresh, err)
	}
	server.Kill()
	never := func(context.Context) error {
		t.Error("the handler ran")
		return nil
	}
	c := driver.Claim{Key: "k", Token: 1}
	_, once := s.Once(t.Context(), record("g:1"), never)
	_, seen := s.Seen(t.Context(), "g:1")
	_, known := s.Known(t.Context(), []string{"g:1"})
	_, claim := l.Claim(t.Context(), record("k"), time.Minute)
	for name, err := range map[string]error{
		"Once": once, "Seen": seen, "Known": known, "Mark": s.Mark(t.Context(), []string{"g:1"}), "Claim": claim,
		"Extend": l.Extend(t.Context(), c, time.Minute), "Complete": l.Complete(t.Context(), c, nil), "Release": l.Release(t.Context(), c),
	} {
		if fault.Of(err) != fault.Infrastructure || !strings.HasPrefix(err.Error(), "redisidempotency: ") {
			t.Errorf("%s without Redis: %v (%v), want infrastructure", name, err, fault.Of(err))
		}
	}
	for _, want := range []bool{false, true} {
		key := map[bool]string{false: "g:1", true: "g:2"}[want]
		if fresh, err := layered.Once(t.Context(), record(key), nothing); fresh != want || err != nil {
			t.Errorf("layered without Redis, %s: %v, %v; want the truth's answer %v", key, fresh, err, want)
		}
	}
	if skipped == 0 {
		t.Error("nobody was told that the pre-check failed")
	}
}

// TestRedisDiesInHandler: Redis becomes unreachable while a handler runs: the effect has
// happened and no key records it. That is an error, and the reason not to use Redis alone for
// money.
func TestRedisDiesInHandler(t *testing.T) {
	server := proxytest.Start(t, redistest.StartServer(t).Address)
	client := open(t, "redis://"+server.Addr())
	s := newStore(t, client, redisidempotency.Config{Lease: 100 * time.Millisecond})
	fresh, err := s.Once(t.Context(), record("g:1"), func(context.Context) error {
		server.Refuse(true)
		return nil
	})
	if fresh || fault.Of(err) != fault.Infrastructure {
		t.Errorf("%v, %v (%v); want an infrastructure error", fresh, err, fault.Of(err))
	}
	server.Refuse(false)
	// The client may first use connections that were cut.
	for deadline := time.Now().Add(time.Minute); client.Ping(t.Context()).Err() != nil; {
		require.False(t, time.Now().After(deadline), "the client does not find the server again")
		<-time.After(5 * time.Millisecond)
	}
	_, err = s.Once(t.Context(), record("g:2"), func(context.Context) error {
		server.Refuse(true)
		return errFailed
	})
	assert.ErrorIs(t, err, errFailed, "a failing handler:")
}

// TestLayeredConformance runs the suite on Redis before SQLite: together they keep the truth's
// guarantees.
func TestLayeredConformance(t *testing.T) {
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		idempotencytest.Run(t, func(t *testing.T) idempotencytest.Harness {
			_, db := servicetest.SQLite(t)
			truth, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: sqltx.SQLite})
			require.NoError(t, err)
			require.NoError(t, truth.Migrate(t.Context()))
			layered, err := idempotency.NewLayered(newStore(t, client, redisidempotency.Config{Prefix: redistest.Prefix(t, client)}), truth,
				idempotency.LayeredConfig{Timeout: time.Second})
			require.NoError(t, err)
			return idempotencytest.Harness{Store: layered, DB: db, Expires: true}
		})
	})
}

// TestScriptsAreLoadedAgain: a server that lost its scripts, for example after a restart, gets
// them again.
func TestScriptsAreLoadedAgain(t *testing.T) {
	client := open(t, redistest.StartServer(t).URL())
	l := newLeases(t, client, redisidempotency.Config{})
	for _, key := range []string{"a", "b"} {
		require.NoError(t, client.ScriptFlush(t.Context()).Err())
		c, err := l.Claim(t.Context(), record(key), time.Minute)
		if err != nil || c.State != driver.Claimed {
			t.Errorf("Claim: %v, %v", c.State, err)
		}
	}
}

func TestNewChecks(t *testing.T) {
	client := open(t, "redis://127.0.0.1:1")
	for want, cfg := range map[string]redisidempotency.Config{
		"Config.TTL": {TTL: time.Millisecond}, "Config.Lease": {Lease: -1},
	} {
		if _, err := redisidempotency.New(client, cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v) = %v, want an error about %s", cfg, err, want)
		}
	}
	if _, err := redisidempotency.NewLeases(client, redisidempotency.Config{TTL: -1}); err == nil || !strings.Contains(err.Error(), "Config.TTL") {
		t.Errorf("NewLeases = %v", err)
	}
	if _, err := redisidempotency.NewLeases(client, redisidempotency.Config{Lease: time.Minute}); err == nil || !strings.Contains(err.Error(), "Config.Lease") {
		t.Errorf("NewLeases with a Lease = %v", err)
	}
	_, err := redisidempotency.New(nil, redisidempotency.Config{})
	_, err2 := redisidempotency.NewLeases(nil, redisidempotency.Config{})
	if err == nil || err2 == nil {
		t.Error("a nil client was taken")
	}
}
