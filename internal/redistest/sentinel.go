package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
)

// StartSentinel starts a Sentinel of the test's own, which watches no master yet, and ends with
// the test. Options are those of redis-server.
func StartSentinel(t testing.TB, options ...string) *Server {
	t.Helper()
	// A Sentinel writes its state into its configuration file.
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, []string{file, "--sentinel"}, options...)
}

// Watch makes Sentinels watch a master under a name, and returns when each sees the master, its
// replicas and the other Sentinels. A master that is silent for half a second is replaced, when
// most of the Sentinels agree.
func Watch(t testing.TB, name string, master *Server, replicas int, sentinels ...*Server) {
	t.Helper()
	host, port, err := net.SplitHostPort(master.Address)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sentinels {
		c := s.sentinel(t)
		for _, err := range []error{
			c.Monitor(t.Context(), name, host, port, fmt.Sprint(len(sentinels)/2+1)).Err(),
			c.Set(t.Context(), name, "down-after-milliseconds", "500").Err(),
			// A failed failover is retried after twice that time.
			c.Set(t.Context(), name, "failover-timeout", "3000").Err(),
		} {
			if err != nil {
				t.Fatalf("have the Sentinel %s watch: %v", s.Address, err)
			}
		}
	}
	for _, s := range sentinels {
		c := s.sentinel(t)
		Eventually(t, "the Sentinel "+s.Address+" knows the others", func() error {
			state, err := c.Master(t.Context(), name).Result()
			want := map[string]string{"flags": "master", "num-slaves": fmt.Sprint(replicas), "num-other-sentinels": fmt.Sprint(len(sentinels) - 1)}
			for field, value := range want {
				if err == nil && state[field] != value {
					err = fmt.Errorf("%s is %q, want %q", field, state[field], value)
				}
			}
			return err
		})
	}
}

// sentinel opens a client, which is closed at the end of the test.
func (s *Server) sentinel(t testing.TB) *redis.SentinelClient {
	t.Helper()
	c := redis.NewSentinelClient(&redis.Options{Addr: s.Address, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close the client of a Sentinel: %v", err)
		}
	})
	return c
}
