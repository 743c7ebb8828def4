package rediscounter_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/counter/countertest"
	"github.com/millrace-go/millrace/counter/rediscounter"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redistest"
)

func TestConformance(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			countertest.RunStore(t, func(t *testing.T) countertest.StoreHarness {
				client := connect(t)
				prefix := redistest.Prefix(t, client)
				return countertest.StoreHarness{Store: newStore(t, client, prefix), Peer: newStore(t, connect(t), prefix)}
			})
		})
	}
}

// keysAt returns all keys with a prefix, without the prefix.
func keysAt(t *testing.T, client redis.UniversalClient, prefix string) []string {
	t.Helper()
	keys, err := client.(*redis.Client).Keys(t.Context(), prefix+"*").Result()
	require.NoError(t, err)
	for i := range keys {
		keys[i] = strings.TrimPrefix(keys[i], prefix)
	}
	slices.Sort(keys)
	return keys
}

// TestKeys: the names are a contract, because other programs may add as well.
func TestKeys(t *testing.T) {
	client := servers["redis"](t)
	prefix := redistest.Prefix(t, client)
	s, ctx := newStore(t, client, prefix), t.Context()
	require.NoError(t, s.Add(ctx, "comment", "post-1", 5))
	keys := keysAt(t, client, prefix)
	if len(keys) != 2 || !strings.HasPrefix(keys[0], "count:comment:delta:{comment:") || !strings.HasSuffix(keys[0], "}:post-1") {
		t.Fatalf("keys %q", keys)
	}
	tag := strings.TrimSuffix(strings.TrimPrefix(keys[0], "count:comment:delta:"), ":post-1")
	assert.Equalf(t, "count:comment:keys:"+tag, keys[1], "keys %q", keys)
	if n, err := client.Get(ctx, prefix+keys[0]).Int(); n != 5 || err != nil {
		t.Errorf("the delta is %d (%v)", n, err)
	}
	taken, err := s.Take(ctx, "comment", 10)
	if err != nil || len(taken) != 1 {
		t.Fatalf("taken %v (%v)", taken, err)
	}
	want := []string{"count:comment:aside:" + tag + ":" + taken[0].ID, "count:comment:asides:" + tag}
	if keys := keysAt(t, client, prefix); !slices.Equal(keys, want) {
		t.Errorf("keys aside %q, want %q", keys, want)
	}
	require.NoError(t, s.Forget(ctx, "comment", []string{taken[0].ID}))
	for _, n := range []int64{1, -1} {
		require.NoError(t, s.Add(ctx, "comment", "post-1", n))
	}
	if keys := keysAt(t, client, prefix); len(keys) > 0 {
		t.Errorf("keys stay: %q", keys)
	}
}

// TestForeignValue: a foreign value in the place of a delta blocks no other key, and is not
// changed.
func TestForeignValue(t *testing.T) {
	client := servers["redis"](t)
	for name, put := range map[string]func(ctx context.Context, key string) error{
		"a list":     func(ctx context.Context, key string) error { return client.LPush(ctx, key, "x").Err() },
		"a text":     func(ctx context.Context, key string) error { return client.Set(ctx, key, "x", 0).Err() },
		"a fraction": func(ctx context.Context, key string) error { return client.Set(ctx, key, "1.5", 0).Err() },
		"too large": func(ctx context.Context, key string) error {
			return client.Set(ctx, key, strings.Repeat("9", 30), 0).Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			prefix := redistest.Prefix(t, client)
			s, ctx := newStore(t, client, prefix), t.Context()
			// Many keys, so that some are in the same part, and one at a time.
			for i := range 64 {
				require.NoError(t, s.Add(ctx, "comment", fmt.Sprint("post-", i), 1))
			}
			var foreign string
			for _, key := range keysAt(t, client, prefix) {
				if strings.HasSuffix(key, ":post-7") {
					foreign = prefix + key
				}
			}
			require.NoError(t, client.Del(ctx, foreign).Err())
			require.NoError(t, put(ctx, foreign))
			if got, err := s.Pending(ctx, "comment", []string{"post-6", "post-7"}); err != nil || got["post-6"] != 1 {
				t.Errorf("pending beside it: %v (%v)", got, err)
			}
			sum := int64(0)
			for {
				taken, err := s.Take(ctx, "comment", 1)
				require.NoError(t, err)
				if len(taken) == 0 {
					break
				}
				for _, b := range taken {
					for _, d := range b.Deltas {
						sum += d.N
					}
				}
			}
			assert.EqualValues(t, 63, sum, "taken")
			if n, err := client.Exists(ctx, foreign).Result(); n != 1 || err != nil {
				t.Errorf("what was foreign is gone (%v)", err)
			}
		})
	}
}

// TestForeignBatch: ids that no store has assigned are not taken for batches, which could never
// be forgotten.
func TestForeignBatch(t *testing.T) {
	client := servers["redis"](t)
	prefix := redistest.Prefix(t, client)
	s, ctx := newStore(t, client, prefix), t.Context()
	for _, id := range []string{"x", "99-x", "01-x"} {
		require.NoError(t, client.SAdd(ctx, prefix+"count:comment:asides:{comment:00}", id).Err())
	}
	if aside, err := s.Aside(ctx, "comment"); err != nil || len(aside) > 0 {
		t.Errorf("aside %v (%v)", aside, err)
	}
}

// TestLargeSums exceeds Lua's exact numbers, in steps.
func TestLargeSums(t *testing.T) {
	client := servers["redis"](t)
	s, ctx := newStore(t, client, redistest.Prefix(t, client)), t.Context()
	for _, n := range []int64{1 << 54, 1, 1, 1, -2} {
		require.NoError(t, s.Add(ctx, "comment", "a", n))
	}
	taken, err := s.Take(ctx, "comment", 10)
	if err != nil || len(taken) != 1 || taken[0].Deltas[0].N != 1<<54+1 {
		t.Errorf("taken %v (%v)", taken, err)
	}
}

func TestLostRedis(t *testing.T) {
	client := open(t, redistest.StartServer(t).URL())
	s, ctx := newStore(t, client, ""), t.Context()
	for _, lose := range []func() error{
		func() error { return client.FlushAll(ctx).Err() },
		func() error { return client.ScriptFlush(ctx).Err() },
	} {
		require.NoError(t, s.Add(ctx, "comment", "a", 1))
		taken, err := s.Take(ctx, "comment", 10)
		if err != nil || len(taken) != 1 {
			t.Fatalf("taken %v (%v)", taken, err)
		}
		require.NoError(t, lose())
		assert.NoError(t, s.Forget(ctx, "comment", []string{taken[0].ID}), "forget what was lost")
		if aside, err := s.Aside(ctx, "comment"); err != nil || len(aside) > 0 {
			t.Errorf("aside %v (%v)", aside, err)
		}
	}
}

func TestAway(t *testing.T) {
	s, ctx := newStore(t, open(t, "redis://127.0.0.1:1"), ""), t.Context()
	_, taken := s.Take(ctx, "comment", 1)
	_, aside := s.Aside(ctx, "comment")
	_, pending := s.Pending(ctx, "comment", []string{"a"})
	for what, err := range map[string]error{
		"add": s.Add(ctx, "comment", "a", 1), "take": taken, "aside": aside, "pending": pending,
		"forget": s.Forget(ctx, "comment", []string{"00-a"}),
	} {
		if fault.Of(err) != fault.Infrastructure || !strings.HasPrefix(err.Error(), "rediscounter: ") {
			t.Errorf("%s: %v is %v", what, err, fault.Of(err))
		}
	}
}

func TestNewChecks(t *testing.T) {
	if _, err := rediscounter.New(nil, rediscounter.Config{}); err == nil || !strings.Contains(err.Error(), "nil") {
		t.Errorf("no client: %v", err)
	}
	retrying := redis.NewClient(&redis.Options{ContextTimeoutEnabled: true, MaxRetries: 3})
	defer retrying.Close() //nolint:errcheck // it never connected
	if _, err := rediscounter.New(retrying, rediscounter.Config{}); err == nil || !strings.Contains(err.Error(), "MaxRetries: -1") {
		t.Errorf("a client that repeats: %v", err)
	}
	client := open(t, "redis://127.0.0.1:1")
	for _, prefix := range []string{"{", "a b", "a\x00", strings.Repeat("x", 101)} {
		if _, err := rediscounter.New(client, rediscounter.Config{Prefix: prefix}); err == nil || !strings.Contains(err.Error(), "Config.Prefix") {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
}
