package rediscoalesce_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func tryNew(client redis.UniversalClient, prefix string) error {
	_, err := rediscoalesce.New(client, rediscoalesce.Config{Prefix: prefix})
	return err
}

var ttl = driver.TTLs{High: 30 * time.Second, Low: time.Minute, Version: 45 * time.Minute}

// TestKeys: operators and dashboards read the keys: the test checks their names, values and
// TTLs.
func TestKeys(t *testing.T) {
	client := open(t, redistest.StartServer(t).URL())
	s := newStore(t, client, "")
	request := func(p driver.Priority, again bool) driver.Ticket {
		d, err := s.Request(t.Context(), "42", p, again, ttl)
		require.NoError(t, err)
		return d.Ticket
	}
	holds := func(key, want string, longest time.Duration) {
		t.Helper()
		left := client.PTTL(t.Context(), key).Val()
		if got := client.Get(t.Context(), key).Val(); got != want || left > longest || left < longest-20*time.Second {
			t.Errorf("%s holds %q for %v, want %q for %v", key, got, left, want, longest)
		}
	}
	version := func(t driver.Ticket) string { return strconv.FormatInt(t.Version, 10) }
	low := request(driver.Low, false)
	holds("upd:{42}:lock", "LOW:"+version(low), time.Minute)
	holds("upd:{42}:ver", version(low), 45*time.Minute)
	request(driver.Low, true)
	holds("upd:{42}:again", "LOW:"+version(low), time.Minute+time.Second)
	high := request(driver.High, false)
	holds("upd:{42}:lock", "HIGH:"+version(high), 30*time.Second)
	holds("upd:{42}:ver", version(high), 45*time.Minute)
	holds("upd:{42}:again", "LOW:"+version(high), 31*time.Second)
	_, err := s.Done(t.Context(), high, ttl)
	require.NoError(t, err)
	keys := client.Keys(t.Context(), "*").Val()
	slices.Sort(keys)
	assert.Equal(t, []string{"upd:{42}:lock", "upd:{42}:ver"}, keys, "a run that follows another")
	_, err = s.Request(t.Context(), "}%7D{", driver.Low, false, ttl)
	require.NoError(t, err)
	if client.Exists(t.Context(), "upd:{%7D%257D{}:lock").Val() != 1 {
		t.Errorf("an id with braces: %v", client.Keys(t.Context(), "*").Val())
	}
}

// TestSlots: every id has its three keys in one slot of a Cluster.
func TestSlots(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		client := open(t, url)
		if _, ok := client.(*redis.ClusterClient); !ok {
			t.Log("n/a: one server has no slots")
			return
		}
		for _, id := range []string{"42", "", "}", "{", "}{", "a}b", "{}", "%7D", "a}:lock"} {
			var slots []int64
			for _, key := range keysOf("upd:", id+"x") {
				slot, err := client.ClusterKeySlot(t.Context(), key).Result()
				require.NoError(t, err)
				slots = append(slots, slot)
			}
			if slots[0] != slots[1] || slots[1] != slots[2] {
				t.Errorf("the keys of %q are in the slots %v", id, slots)
			}
		}
	})
}

// TestCounters: the new version is above the lock's even if only the counter was lost, and
// above a counter that is ahead of the clock.
func TestCounters(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		client := open(t, url)
		p := redistest.Prefix(t, client)
		s := newStore(t, client, p)
		ahead := time.Now().Add(time.Hour).UnixMicro()
		require.NoError(t, client.Set(t.Context(), p+"{42}:ver", ahead, time.Hour).Err())
		low, err := s.Request(t.Context(), "42", driver.Low, false, ttl)
		if err != nil || low.Ticket.Version != ahead+1 {
			t.Fatalf("%v, %v; want the version %d", low, err, ahead+1)
		}
		require.NoError(t, client.Del(t.Context(), p+"{42}:ver").Err())
		high, err := s.Request(t.Context(), "42", driver.High, false, ttl)
		if err != nil || high.Ticket.Version != ahead+2 {
			t.Fatalf("%v, %v; want the version %d", high, err, ahead+2)
		}
		require.NoError(t, client.Del(t.Context(), p+"{42}:ver").Err())
		if ok, err := s.Extend(t.Context(), high.Ticket, ttl); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if v, known, err := s.Current(t.Context(), "42"); v != ahead+2 || !known || err != nil {
			t.Errorf("an extension leaves the version %d, %v, %v; want %d", v, known, err, ahead+2)
		}
	})
}

// TestForeignKeys: text that is not a ticket counts as no lock; a key of another type is a
// permanent error.
func TestForeignKeys(t *testing.T) {
	for _, url := range []string{servicetest.Redis(t), "redis://" + servicetest.RedisCluster(t)} {
		client := open(t, url)
		p := redistest.Prefix(t, client)
		s := newStore(t, client, p)
		ctx := t.Context()
		require.NoError(t, errors.Join(client.Set(ctx, p+"{a}:lock", "something", time.Hour).Err(),
			client.HSet(ctx, p+"{b}:lock", "f", "v").Err(), client.HSet(ctx, p+"{c}:ver", "f", "v").Err()))
		if d, err := s.Request(ctx, "a", driver.Low, false, ttl); err != nil || d.Outcome != driver.Published {
			t.Errorf("over text: %v, %v", d.Outcome, err)
		}
		for _, id := range []string{"b", "c"} {
			if _, err := s.Request(ctx, id, driver.Low, false, ttl); redisdb.Classify(err) != fault.Permanent {
				t.Errorf("%s, of another type: %v (%v), want a permanent error", id, err, redisdb.Classify(err))
			}
		}
	}
}

// TestScriptsAreLoadedAgain: a server that lost its scripts, for example after a restart, gets
// them again.
func TestScriptsAreLoadedAgain(t *testing.T) {
	client := open(t, redistest.StartServer(t).URL())
	s := newStore(t, client, "")
	for _, id := range []string{"a", "b"} {
		require.NoError(t, client.ScriptFlush(t.Context()).Err())
		d, err := s.Request(context.Background(), id, driver.High, false, ttl)
		if err != nil || !d.Mine() {
			t.Fatal(d, err)
		}
		if released, err := s.Release(t.Context(), d.Ticket); !released || err != nil {
			t.Error(released, err)
		}
	}
}
