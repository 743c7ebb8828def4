package rediscoalesce_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/redistest"
)

// TestRedisDown: while a server hangs, or is down, every call is refused within its time, then
// at once by the breaker. When the server is back, the coalescer works again.
func TestRedisDown(t *testing.T) {
	const patience = 30 * time.Second // against a call without any bound, on a busy machine
	for name, tc := range map[string]struct {
		down func(t *testing.T, s *redistest.Server)
		up   func(t *testing.T, s *redistest.Server)
	}{
		"stopped": {
			func(t *testing.T, s *redistest.Server) { t.Helper(); s.Signal(syscall.SIGSTOP) },
			func(t *testing.T, s *redistest.Server) { t.Helper(); s.Signal(syscall.SIGCONT) },
		},
		"killed": {
			func(t *testing.T, s *redistest.Server) { t.Helper(); s.Kill() },
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := redistest.StartServer(t)
			client := open(t, s.URL())
			c := newCoalescer(t, newStore(t, client, ""), coalesce.Config{
				Timeout: 500 * time.Millisecond, HighTTL: 2 * time.Second, LowTTL: 2 * time.Second,
				BreakerCalls: 4, BreakerWindow: time.Hour, BreakerOpenFor: time.Second,
			})
			var ticket driver.Ticket
			// In the first call the server may still be slow to start.
			for ticket.Version == 0 {
				d, err := c.Request(t.Context(), "artist-7", driver.Low)
				if err != nil {
					t.Log(err)
				}
				ticket = d.Ticket
			}
			tc.down(t, s)
			published := false
			for name, call := range map[string]func() error{
				"Do": func() error {
					_, err := c.Do(t.Context(), "artist-8", driver.High, func(context.Context, int64) error { published = true; return nil })
					return err
				},
				"Release": func() error {
					_, err := c.Release(t.Context(), ticket.Key, ticket.Priority, ticket.Version)
					return err
				},
				"Done": func() error {
					_, _, err := c.Done(t.Context(), ticket.Key, ticket.Priority, ticket.Version)
					return err
				},
				"Extend":   func() error { _, err := c.Extend(t.Context(), ticket.Key, ticket.Priority, ticket.Version); return err },
				"Obsolete": func() error { _, err := c.Obsolete(t.Context(), ticket.Key, ticket.Version); return err },
			} {
				began := time.Now()
				err := call()
				if !errors.Is(err, coalesce.ErrUnavailable) || fault.Of(err) != fault.Infrastructure {
					t.Errorf("%s without Redis: %v (%v), want ErrUnavailable", name, err, fault.Of(err))
				}
				if took := time.Since(began); took > patience {
					t.Errorf("%s was refused after %v", name, took)
				}
			}
			assert.False(t, published, "something was published without Redis")
			if state := c.Stats().Breaker; state == "closed" {
				t.Error("the breaker is still closed")
			}
			if tc.up == nil {
				return
			}
			tc.up(t, s)
			// The coalescer recovers by itself. A refused request may have been executed late,
			// so the key may be locked until the TTL.
			for deadline := time.Now().Add(time.Minute); ; {
				d, err := c.Request(t.Context(), "artist-8", driver.High)
				if err == nil && d.Mine() {
					break
				}
				require.Falsef(t, time.Now().After(deadline), "Redis is back: %v, %v", d.Outcome, err)
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
}

// TestClusterDown: unreachable nodes of a Cluster have the same effect.
func TestClusterDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	l.Close()
	client, err := redisdb.Open("redis://"+address+"/?cluster=true", redisdb.Config{})
	require.NoError(t, err)
	defer client.Close()
	c := newCoalescer(t, newStore(t, client, ""), coalesce.Config{})
	for range 15 {
		_, err := c.Request(t.Context(), "artist-7", driver.Low)
		if !errors.Is(err, coalesce.ErrUnavailable) || fault.Of(err) != fault.Infrastructure {
			t.Fatalf("%v (%v), want ErrUnavailable", err, fault.Of(err))
		}
	}
	assert.Equal(t, "open", c.Stats().Breaker, "the breaker")
}

// TestNewChecks: a client that would wait for ever, or repeat calls, is refused; so is a prefix
// that breaks the hash tag.
func TestNewChecks(t *testing.T) {
	options := func(change func(o *redis.Options)) redis.UniversalClient {
		o := &redis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: true, MaxRetries: -1}
		change(o)
		client := redis.NewClient(o)
		t.Cleanup(func() { client.Close() })
		return client
	}
	patient := options(func(o *redis.Options) { o.ContextTimeoutEnabled = false })
	insistent := options(func(o *redis.Options) { o.MaxRetries = 0 })
	fine := options(func(*redis.Options) {})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer cluster.Close()
	for _, tc := range []struct {
		client redis.UniversalClient
		prefix string
		want   string
	}{
		{nil, "", "client is nil"}, {patient, "", "ContextTimeoutEnabled"}, {insistent, "", "MaxRetries"},
		{cluster, "", "ContextTimeoutEnabled"}, {fine, "a{b}", "brace"}, {fine, "}", "brace"},
	} {
		if err := tryNew(tc.client, tc.prefix); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want an error about %s", err, tc.want)
		}
	}
	assert.NoError(t, tryNew(fine, ""))
}
