package redisgate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/frontgate/frontgatetest"
	"github.com/millrace-go/millrace/queue/frontgate/redisgate"
)

func TestMain(m *testing.M) {
	redis.SetLogger(redistest.Silence{})
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, url string, cfg redisdb.Config) redis.UniversalClient {
	t.Helper()
	client, err := redisdb.Open(url, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

var servers = redistest.Servers

func newStore(t testing.TB, client redis.UniversalClient, prefix string) driver.Store {
	t.Helper()
	s, err := redisgate.New(client, redisgate.Config{Prefix: prefix})
	require.NoError(t, err)
	return s
}

// moment is a clock that stands still.
type moment struct {
	mu  sync.Mutex
	now time.Time
}

func (m *moment) get() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *moment) move(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

// harness is two stores with one clock, each with a pool of its own. The scripts
// are the real ones, except for the time.
func harness(t *testing.T, connect func(t testing.TB) redis.UniversalClient) frontgatetest.Harness {
	t.Helper()
	client := connect(t)
	m := &moment{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	prefix := redistest.Prefix(t, client)
	s, peer := newStore(t, client, prefix), newStore(t, connect(t), prefix)
	redisgate.Clocked(s, m.get)
	redisgate.Clocked(peer, m.get)
	return frontgatetest.Harness{Store: s, Peer: peer, Move: m.move, Lose: func(ctx context.Context) error {
		events, err := s.Events(ctx)
		if err != nil {
			return err
		}
		for _, event := range events {
			if err := client.Del(ctx, redisgate.Key(s, event)).Err(); err != nil {
				return err
			}
		}
		return client.Del(ctx, redisgate.Registry(s)).Err()
	}}
}

func TestConformance(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			frontgatetest.Run(t, func(t *testing.T) frontgatetest.Harness { return harness(t, connect) })
		})
	}
}

// Expiry goes by the server's clock, which a test cannot move: TestExpiry has it.
// This test notices a case that drops out of the suite.
func TestNotApplicable(t *testing.T) {
	require.Equal(t, []string{"members-for-a-day", "kept-after-off"}, frontgatetest.Suite().NotApplicable(harness(t, servers["redis"])))
}

func TestExpiry(t *testing.T) {
	client := servers["redis"](t)
	s := newStore(t, client, redistest.Prefix(t, client))
	ctx, key := t.Context(), redisgate.Key(s, "show-1")
	turn := func(on bool) {
		t.Helper()
		_, err := s.Switch(ctx, "show-1", on)
		require.NoError(t, err)
	}
	forever := func(when string) {
		t.Helper()
		if left := client.PTTL(ctx, key).Val(); left != -1 {
			t.Errorf("%s the counters are kept for %s", when, left)
		}
	}
	turn(true)
	forever("while on")
	_, err := s.Assign(ctx, "show-1", 3)
	require.NoError(t, err)
	_, err = s.Advance(ctx, "show-1", 1, time.Second)
	require.NoError(t, err)
	forever("after calls")
	turn(false)
	first := client.PTTL(ctx, key).Val()
	if first <= driver.Kept-time.Minute || first > driver.Kept {
		t.Errorf("while off the counters are kept for %s", first)
	}
	// A read does not renew the expiry.
	require.NoError(t, client.PExpire(ctx, key, time.Hour).Err())
	turn(false)
	_, err = s.State(ctx, "show-1")
	require.NoError(t, err)
	if left := client.PTTL(ctx, key).Val(); left > time.Hour {
		t.Errorf("a call of a gate that is off renewed its time to %s", left)
	}
	turn(true)
	forever("on again")
}

// A lost list of events comes back while the gate is on, and expired events leave
// the list.
func TestListHeals(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			client := connect(t)
			s := newStore(t, client, redistest.Prefix(t, client))
			ctx := t.Context()
			_, err := s.Switch(ctx, "show-1", true)
			require.NoError(t, err)
			require.NoError(t, client.Del(ctx, redisgate.Registry(s)).Err())
			_, err = s.State(ctx, "show-1")
			require.NoError(t, err)
			if events, err := s.Events(ctx); err != nil || !slices.Equal(events, []string{"show-1"}) {
				t.Errorf("after a loss of the list: %q, %v", events, err)
			}
			require.NoError(t, client.Del(ctx, redisgate.Key(s, "show-1")).Err())
			if events, err := s.Events(ctx); err != nil || len(events) != 0 {
				t.Errorf("after a loss of the counters: %q, %v", events, err)
			}
			assert.EqualValues(t, 0, client.SCard(ctx, redisgate.Registry(s)).Val(), "events without counters are listed")
		})
	}
}

// A million positions take no more than one.
func TestMemory(t *testing.T) {
	client := servers["redis"](t)
	s := newStore(t, client, redistest.Prefix(t, client))
	ctx := t.Context()
	_, err := s.Switch(ctx, "show-1", true)
	require.NoError(t, err)
	used := func() (all int64) {
		for _, key := range []string{redisgate.Key(s, "show-1"), redisgate.Registry(s)} {
			all += client.MemoryUsage(ctx, key).Val()
		}
		return all
	}
	const people = 1_000_000
	before := int64(0)
	for given := 0; given < people; given += driver.MaxAssign {
		_, err := s.Assign(ctx, "show-1", driver.MaxAssign)
		require.NoError(t, err)
		if given == 0 {
			before = used()
		}
	}
	_, err = s.Advance(ctx, "show-1", people, time.Second)
	require.NoError(t, err)
	after := used()
	t.Logf("two keys of %d B at %d positions, %d B at %d", before, driver.MaxAssign, after, people)
	if before == 0 || after > before+100 {
		t.Errorf("they took %d B at first and take %d B", before, after)
	}
	state, err := s.State(ctx, "show-1")
	require.NoError(t, err)
	const members = 100_000
	asks := make([]driver.Ask, driver.MaxAssign)
	for given := int64(0); given < members; given += driver.MaxAssign {
		for i := range asks {
			asks[i] = driver.Ask{Member: fmt.Sprintf("%022d", given+int64(i)), Position: given + int64(i) + 1} // as long as a hash
		}
		_, err := s.Keep(ctx, "show-1", state.Epoch, asks)
		require.NoError(t, err)
	}
	key := fmt.Sprintf("%s:%d", redisgate.Key(s, "show-1"), state.Epoch)
	head := client.MemoryUsage(ctx, key).Val() / members
	t.Logf("%d B for each member", head)
	if left := client.PTTL(ctx, key).Val(); head == 0 || head >= 120 || left <= driver.Kept-time.Minute || left > driver.Kept {
		t.Errorf("a member takes %d B, for %s", head, left)
	}
}

func TestNew(t *testing.T) {
	if _, err := redisgate.New(nil, redisgate.Config{}); err == nil {
		t.Error("a nil client was accepted")
	}
	for _, o := range []redis.UniversalOptions{{}, {ContextTimeoutEnabled: true, MaxRetries: 2}, {IsClusterMode: true}} {
		o.Addrs = []string{"127.0.0.1:1"}
		c := redis.NewUniversalClient(&o)
		if _, err := redisgate.New(c, redisgate.Config{}); err == nil {
			t.Errorf("a client with %+v was accepted", o)
		}
		c.Close()
	}
	client := open(t, "redis://127.0.0.1:1", redisdb.Config{})
	for _, bad := range []string{"{a}", "a}", strings.Repeat("a", 201)} {
		if _, err := redisgate.New(client, redisgate.Config{Prefix: bad}); err == nil {
			t.Errorf("the prefix %q was accepted", bad)
		}
	}
}
