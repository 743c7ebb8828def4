package redisbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// newLog returns a log with one topic of one partition, which is lane 0.
func newLog(t *testing.T) (*store, string) {
	t.Helper()
	client, err := redisdb.Open(servicetest.Redis(t), redisdb.Config{})
	require.NoError(t, err)
	k := keys("t" + uuid.NewString() + ":")
	scripts, err := loadScripts()
	require.NoError(t, err)
	l := &store{client: client, keys: k, scripts: scripts, logger: slog.New(slog.DiscardHandler)}
	_, err = l.Ensure(t.Context(), logsub.Topic{Name: "topic", Partitions: 1})
	require.NoError(t, err)
	stream := k.stream("topic", 0, 1)
	t.Cleanup(func() {
		ctx := context.Background()
		names, err := client.Keys(ctx, "*"+string(k)+"*").Result()
		if err == nil && len(names) > 0 {
			err = client.Unlink(ctx, names...).Err()
		}
		assert.NoError(t, errors.Join(err, client.Close()), "clear the test's keys")
	})
	return l, stream
}

func (s *store) put(t *testing.T, n int) {
	t.Helper()
	var entries []log.Entry
	for i := range n {
		entries = append(entries, log.Entry{MessageID: fmt.Sprint(i), Payload: []byte("x")})
	}
	require.NoError(t, s.append(t.Context(), entries))
}

func (s *store) take(t *testing.T, group, holder string, ttl time.Duration) log.Lease {
	t.Helper()
	lease, err := s.Lease(t.Context(), log.Cursor{Consumer: group}, holder, ttl)
	require.NoError(t, err)
	return lease
}

// A stream that was lost, as by FLUSHALL, begins behind the last message of the previous
// one, also within the same millisecond. Otherwise readers of the previous stream would
// skip the first messages of the new one, and receive them after later ones.
func TestNewStreamBeginsBehindTheOld(t *testing.T) {
	l, stream := newLog(t)
	id := func(all []redis.XMessage, err error) (ms, seq uint64) {
		t.Helper()
		if err != nil || len(all) != 1 {
			t.Fatalf("%d messages (%v), want 1", len(all), err)
		}
		_, err = fmt.Sscanf(all[0].ID, "%d-%d", &ms, &seq)
		require.NoError(t, err)
		return ms, seq
	}
	for range 200 {
		l.put(t, 1)
		// A stream that has just begun has ids of the next millisecond itself.
		for begun := time.Now(); time.Since(begun) < 2*time.Millisecond; {
			runtime.Gosched()
		}
		l.put(t, 3)
		lastMS, lastSeq := id(l.client.XRevRangeN(t.Context(), stream, "+", "-", 1).Result())
		require.NoError(t, l.client.Del(t.Context(), stream).Err())
		l.put(t, 3)
		if ms, seq := id(l.client.XRangeN(t.Context(), stream, "-", "+", 1).Result()); ms < lastMS || ms == lastMS && seq <= lastSeq {
			t.Fatalf("the new stream begins at %d-%d, the old one ended at %d-%d", ms, seq, lastMS, lastSeq)
		}
	}
}

// A holder whose lease ran out moves nothing and ends nothing, also when the next holder is
// gone again, or has the same name.
func TestFencing(t *testing.T) {
	l, stream := newLog(t)
	l.put(t, 10)
	read := func(p log.Position, n int) log.Position {
		t.Helper()
		entries, _, err := l.Read(t.Context(), 0, p, n)
		if err != nil || len(entries) != n {
			t.Fatalf("read %d entries (%v), want %d", len(entries), err, n)
		}
		return entries[n-1].Position
	}
	old := l.take(t, "group", "a", time.Minute)
	if _, err := l.Lease(t.Context(), old.Cursor, "b", time.Minute); !errors.Is(err, log.ErrLeaseHeld) {
		t.Errorf("leasing what is held: %v", err)
	}
	for _, next := range []string{"a", "b"} {
		name := old.Holder + " and then " + next
		lapsed(t, l, stream)
		lease := l.take(t, "group", next, time.Minute)
		if lease.Token <= old.Token {
			t.Errorf("%s: token %d after %d", name, lease.Token, old.Token)
		}
		place := read(lease.Position, 2)
		require.NoError(t, l.Advance(t.Context(), lease, place, time.Minute))
		for what, err := range map[string]error{
			"advance": l.Advance(t.Context(), old, read(old.Position, 1), time.Minute),
			"renew":   l.Renew(t.Context(), time.Minute, old),
		} {
			assert.ErrorIsf(t, err, log.ErrLeaseLost, "%s: %s with a lost lease", name, what)
		}
		assert.NoErrorf(t, l.Release(t.Context(), old), "%s: release of a lost lease", name)
		assert.NoErrorf(t, l.Renew(t.Context(), time.Minute, lease), "%s: the holder's lease was ended by another", name)
		old = lease
	}
	lapsed(t, l, stream)
	lease := l.take(t, "group", "c", time.Minute)
	if want := read(log.Position{}, 4); lease.Position.From != want.From || lease.Position.ID != 4 {
		t.Errorf("the group stands at %+v, want %+v", lease.Position, want)
	}
	// The lease is free: writes of its old holders have no effect.
	require.NoError(t, l.Release(t.Context(), lease))
	assert.ErrorIs(t, l.Renew(t.Context(), time.Minute, lease), log.ErrLeaseLost, "renewing a released lease")
}

// lapsed shortens the group's lease, and waits until it has expired.
func lapsed(t *testing.T, l *store, stream string) {
	t.Helper()
	require.NoError(t, l.client.PExpire(t.Context(), l.keys.lease(stream, "group"), time.Millisecond).Err())
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for l.client.Exists(t.Context(), l.keys.lease(stream, "group")).Val() == 1 {
		<-tick.C
	}
}

// Prune deletes only old messages that every group has done, consumers of XREADGROUP included.
func TestPrune(t *testing.T) {
	l, stream := newLog(t)
	l.put(t, 1000)
	all, _, err := l.Read(t.Context(), 0, log.Position{}, 1000)
	require.NoError(t, err)
	left := func() int64 { return l.client.XLen(t.Context(), stream).Val() }
	prune := func(before time.Time, limit, want int) {
		t.Helper()
		removed, err := l.Prune(t.Context(), 0, before, limit)
		if err != nil || removed != want {
			t.Errorf("pruned %d (%v), want %d", removed, err, want)
		}
	}
	a, b := l.take(t, "a", "me", time.Minute), l.take(t, "b", "me", time.Minute)
	advance := func(lease log.Lease, n int) {
		t.Helper()
		require.NoError(t, l.Advance(t.Context(), lease, all[n-1].Position, time.Minute))
	}
	later := time.Now().Add(time.Hour)
	prune(later, 500, 0) // no group has done anything
	advance(a, 1000)
	prune(later, 500, 0) // b has not
	advance(b, 650)
	prune(time.Now().Add(-time.Hour), 500, 0) // too young
	prune(later, 300, 300)                    // whole nodes of a hundred
	prune(later, 500, 300)
	prune(later, 500, 0)
	assert.EqualValues(t, 400, left(), "messages are")
	prune(later, 0, 49) // to the message: the newest that is done stays
	if n, _, err := l.Backlog(t.Context(), b.Cursor, 1, 1000); err != nil || n != 350 {
		t.Errorf("b is %d behind (%v), want 350", n, err)
	}
	// A foreign consumer has taken all and acknowledged all but one.
	require.NoError(t, l.client.XGroupCreate(t.Context(), stream, "foreign", "0").Err())
	read, err := l.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: "foreign", Consumer: "c", Streams: []string{stream, ">"}}).Result()
	require.NoError(t, err)
	var ids []string
	for _, m := range read[0].Messages {
		ids = append(ids, m.ID)
	}
	pending := ids[100]
	require.NoError(t, l.client.XAck(t.Context(), stream, "foreign", slices.DeleteFunc(ids, func(id string) bool { return id == pending })...).Err())
	advance(b, 1000)
	prune(later, 0, 100)
	first, err := l.client.XRangeN(t.Context(), stream, "-", "+", 1).Result()
	if err != nil || len(first) != 1 || first[0].ID != pending {
		t.Errorf("the first message left is %v (%v), want %s", first, err, pending)
	}
}

// Members are listed in the order they joined, without the dead.
func TestMembers(t *testing.T) {
	l, _ := newLog(t)
	member := func(id string) logsub.Member { return logsub.Member{Topic: "topic", Group: "group", ID: id} }
	beat := func(ttl time.Duration, ids ...string) {
		t.Helper()
		var all []logsub.Member
		for _, id := range ids {
			all = append(all, member(id))
		}
		require.NoError(t, l.Beat(t.Context(), ttl, all))
	}
	members := func() []string {
		t.Helper()
		all, err := l.Members(t.Context(), "topic", "group")
		require.NoError(t, err)
		return all
	}
	beat(time.Minute)
	beat(time.Minute, "z")
	beat(30*time.Millisecond, "y")
	beat(time.Minute, "x", "w")
	beat(time.Minute, "w", "z")
	if got := members(); !slices.Equal(got, []string{"z", "y", "x", "w"}) && !slices.Equal(got, []string{"z", "x", "w"}) {
		t.Errorf("members are %v", got)
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for slices.Contains(members(), "y") {
		<-tick.C
	}
	require.NoError(t, l.Leave(t.Context(), member("x")))
	beat(time.Minute, "y") // it is back, as the newest
	assert.Equal(t, []string{"z", "w", "y"}, members(), "members")
}
