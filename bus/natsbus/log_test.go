package natsbus

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
)

// newLog returns a log with one topic of two partitions: lanes 0 and 1.
func newLog(t *testing.T) *store {
	t.Helper()
	return logAt(t, natstest.URL(t))
}

func logAt(t *testing.T, at string) *store {
	t.Helper()
	u, err := url.Parse(at)
	require.NoError(t, err)
	client, cfg, err := parse(u, Config{})
	require.NoError(t, err)
	l, d, err := open(client, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	require.NoError(t, d.Ready(t.Context()))
	_, err = l.Ensure(t.Context(), logsub.Topic{Name: "topic", Partitions: 2})
	require.NoError(t, err)
	return l
}

func (s *store) put(t *testing.T, lane, n int) {
	t.Helper()
	var entries []log.Entry
	for i := range n {
		entries = append(entries, log.Entry{Lane: lane, Topic: "topic", MessageID: fmt.Sprint(i), Payload: []byte("x")})
	}
	require.NoError(t, s.append(t.Context(), entries))
}

func (s *store) all(t *testing.T, lane int) []log.Entry {
	t.Helper()
	entries, _, err := s.Read(t.Context(), lane, log.Position{}, 5000)
	require.NoError(t, err)
	return entries
}

func (s *store) take(t *testing.T, group, holder string, ttl time.Duration) log.Lease {
	t.Helper()
	lease, err := s.Lease(t.Context(), log.Cursor{Consumer: group}, holder, ttl)
	require.NoError(t, err)
	return lease
}

// lapsed waits until another holder gets the lease, by the server's clock.
func (s *store) lapsed(t *testing.T, c log.Cursor, holder string) log.Lease {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		lease, err := s.Lease(t.Context(), c, holder, time.Minute)
		if err == nil {
			return lease
		}
		require.ErrorIs(t, err, log.ErrLeaseHeld)
		<-tick.C
	}
}

// Batches of several processes in flight at once stay separate: accepted messages are
// stored, once, each batch in its order.
func TestBatchesAtOnce(t *testing.T) {
	const processes, batches = 4, 60
	at := natstest.URL(t)
	var publishers sync.WaitGroup
	want := make([][]string, processes)
	var last *store
	for p := range processes {
		l := logAt(t, at)
		last = l
		publishers.Go(func() {
			for b := range batches {
				var entries []log.Entry
				for i := range 1 + (b+p)%7 {
					entries = append(entries, log.Entry{Topic: "topic", MessageID: fmt.Sprintf("%d-%d-%d", p, b, i), Payload: make([]byte, 1000)})
				}
				if err := l.append(t.Context(), entries); err != nil {
					t.Errorf("process %d, batch %d: %v", p, b, err)
					return
				}
				for _, e := range entries {
					want[p] = append(want[p], e.MessageID)
				}
			}
		})
	}
	publishers.Wait()
	got := make([][]string, processes)
	for after := (log.Position{}); ; {
		entries, next, err := last.Read(t.Context(), 0, after, 500)
		require.NoError(t, err)
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			p := int(e.MessageID[0] - '0')
			got[p] = append(got[p], e.MessageID)
		}
		after = next
	}
	require.Equal(t, want, got)
}

// An unfinished batch, as after a failover, is remembered by the server for some seconds.
// The next batch is not taken for its rest: accepted messages are stored.
func TestUnfinishedBatch(t *testing.T) {
	l := newLog(t)
	entry := func(id string) log.Entry { return log.Entry{Topic: "topic", MessageID: id} }
	require.ErrorIs(t, l.send(t.Context(), []*nats.Msg{l.message(entry("first")), {}}), nats.ErrBadSubject)
	require.NoError(t, l.append(t.Context(), []log.Entry{entry("next")}))
	var got []string
	for _, e := range l.all(t, 0) {
		got = append(got, e.MessageID)
	}
	require.Equal(t, []string{"first", "next"}, got)
}

// A holder whose lease ran out moves nothing and ends nothing, also when the next holder is
// gone again, or has the same name. Its last write does not matter.
func TestFencing(t *testing.T) {
	l := newLog(t)
	l.put(t, 0, 10)
	entries := l.all(t, 0)
	old := l.take(t, "group", "a", 30*time.Millisecond)
	for n, next := range []string{"b", "b", "a"} {
		var lease log.Lease
		if next == old.Holder {
			lease = l.take(t, "group", next, time.Minute)
		} else {
			lease = l.lapsed(t, old.Cursor, next)
		}
		require.Greater(t, lease.Token, old.Token)
		_, err := l.Lease(t.Context(), old.Cursor, "c", time.Minute)
		require.ErrorIs(t, err, log.ErrLeaseHeld)
		place := entries[n+1].Position
		require.NoError(t, l.Advance(t.Context(), lease, place, time.Minute))
		require.ErrorIs(t, l.Advance(t.Context(), old, entries[0].Position, time.Minute), log.ErrLeaseLost)
		require.ErrorIs(t, l.Renew(t.Context(), time.Minute, old), log.ErrLeaseLost)
		require.NoError(t, l.Release(t.Context(), old))
		require.NoError(t, l.Advance(t.Context(), lease, place, time.Minute), "an Advance may be repeated")
		// The lease expires, unless the next holder has the same name.
		require.NoError(t, l.Renew(t.Context(), 30*time.Millisecond, lease))
		old = lease
	}
	require.NoError(t, l.Release(t.Context(), old))
	require.ErrorIs(t, l.Renew(t.Context(), time.Minute, old), log.ErrLeaseLost)
	require.Equal(t, entries[3].Position, l.take(t, "group", "d", time.Minute).Position)
}

// A write whose answer was lost has taken effect: its holder continues under the revision
// of that write, and is not taken for another.
func TestLostAnswerLosesNoLease(t *testing.T) {
	l := newLog(t)
	l.put(t, 0, 5)
	entries := l.all(t, 0)
	lease := l.take(t, "group", "me", time.Minute)
	before, _ := l.held.Load(lease.Cursor)
	require.NoError(t, l.Advance(t.Context(), lease, entries[1].Position, time.Minute))
	l.held.Store(lease.Cursor, before) // as if the answer had not come
	require.NoError(t, l.Advance(t.Context(), lease, entries[2].Position, time.Minute))
	require.Equal(t, entries[2].Position, l.take(t, "group", "me", time.Minute).Position)
}

// A stream that was deleted and created again counts from 1 again: a cursor of the old
// stream is before the first message.
func TestNewStreamIsReadFromItsBeginning(t *testing.T) {
	l := newLog(t)
	l.put(t, 0, 5)
	lease := l.take(t, "group", "me", time.Minute)
	require.NoError(t, l.Advance(t.Context(), lease, l.all(t, 0)[4].Position, time.Minute))
	require.NoError(t, l.Stopped(t.Context(), lease.Cursor, "what was done behind the cursor"))
	require.NoError(t, l.js.DeleteStream(t.Context(), l.stream("topic")))
	l.put(t, 0, 2) // makes it
	require.Zero(t, l.take(t, "group", "me", time.Minute).Position)
	starts, err := l.Started(t.Context(), []log.Cursor{lease.Cursor})
	require.NoError(t, err)
	require.Equal(t, []logsub.Start{{Starts: 1}}, starts)
	require.Len(t, l.all(t, 0), 2)
}

// One of many members that want a free lease gets it, also where the bucket has replicas.
func TestLeaseRush(t *testing.T) {
	rush(t, newLog(t))
	rush(t, logAt(t, natstest.StartCluster(t, 3)[0].ClientURL()+"/?replicas=3"))
}

func rush(t *testing.T, l *store) {
	t.Helper()
	const rivals = 16
	got := make(chan error, rivals)
	for n := range rivals {
		go func() {
			_, err := l.Lease(context.WithoutCancel(t.Context()), log.Cursor{Consumer: "group"}, fmt.Sprint(n), time.Minute)
			got <- err
		}()
	}
	holders := 0
	for range rivals {
		if err := <-got; err == nil {
			holders++
		} else {
			require.ErrorIs(t, err, log.ErrLeaseHeld)
		}
	}
	require.Equal(t, 1, holders)
}

// Cursors that move together are independent: a lost lease does not stop the others.
func TestCursorsMoveTogether(t *testing.T) {
	l := newLog(t)
	l.put(t, 0, 5)
	entries := l.all(t, 0)
	var leases []log.Lease
	for _, group := range []string{"a", "b", "c"} {
		leases = append(leases, l.take(t, group, "me", time.Minute))
	}
	move := func(p log.Position) error {
		return l.writes.Begin(t.Context(), func(ctx context.Context) error {
			for _, lease := range leases {
				if err := l.Advance(ctx, lease, p, time.Minute); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, move(entries[1].Position))
	require.NoError(t, l.Release(t.Context(), leases[1]))
	require.ErrorIs(t, move(entries[3].Position), log.ErrLeaseLost)
	for group, want := range map[string]int{"a": 1, "b": 3, "c": 1, "new": 5} {
		n, oldest, err := l.Backlog(t.Context(), log.Cursor{Consumer: group}, 2, 100)
		require.NoError(t, err)
		require.Equal(t, want, n, group)
		require.WithinDuration(t, time.Now(), oldest, time.Minute)
	}
}

// The traces of crashes are kept with the cursor until it moves. Once the group is deleted, a late
// writer does not bring the cursor back.
func TestStarts(t *testing.T) {
	l := newLog(t)
	l.put(t, 0, 5)
	c := log.Cursor{Consumer: "group"}
	started := func() logsub.Start {
		t.Helper()
		all, err := l.Started(t.Context(), []log.Cursor{c})
		require.NoError(t, err)
		return all[0]
	}
	l.take(t, "group", "me", 0)
	started()
	require.NoError(t, l.Alone(t.Context(), c, "message", 1))
	lease := l.lapsed(t, c, "next") // me has crashed
	require.Equal(t, logsub.Start{Starts: 2, Message: "message", Times: 1}, started())
	require.NoError(t, l.Alone(t.Context(), c, "", 0))
	require.NoError(t, l.writes.Begin(t.Context(), func(ctx context.Context) error {
		return errors.Join(l.Stopped(ctx, c, "done"), l.Release(ctx, lease))
	}))
	lease = l.take(t, "group", "third", time.Minute)
	require.Equal(t, logsub.Start{Starts: 1, Done: "done"}, started())
	require.NoError(t, l.Advance(t.Context(), lease, l.all(t, 0)[0].Position, time.Minute))
	require.Equal(t, logsub.Start{Starts: 1}, started())
	topic, _ := l.lanes.Topic("topic")
	require.NoError(t, l.Forget(t.Context(), topic, []log.Lease{lease}))
	require.ErrorIs(t, l.Stopped(t.Context(), c, "late"), log.ErrLeaseLost)
	require.NoError(t, l.Release(t.Context(), lease))
	kept, err := list[cursor](t.Context(), l, l.cursor("topic", "*", "*"), mostRead)
	require.NoError(t, err)
	require.Empty(t, kept)
}

// Prune deletes only old messages that every group has done, and none of other partitions.
func TestPrune(t *testing.T) {
	l := newLog(t)
	l.put(t, 0, 20)
	l.put(t, 1, 5)
	l.put(t, 0, 20)
	later := time.Now().Add(time.Hour)
	prune := func(before time.Time, want int) {
		t.Helper()
		n, err := l.Prune(t.Context(), 0, before, 500)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	entries := l.all(t, 0)
	a, b := l.take(t, "a", "me", time.Minute), l.take(t, "b", "me", time.Minute)
	prune(later, 0) // no group has done anything
	require.NoError(t, l.Advance(t.Context(), a, entries[39].Position, time.Minute))
	prune(later, 0) // b has not
	require.NoError(t, l.Advance(t.Context(), b, entries[29].Position, time.Minute))
	prune(time.Now().Add(-time.Hour), 0) // too young
	prune(entries[10].CreatedAt, 10)
	prune(later, 20)
	prune(later, 0)
	require.Len(t, l.all(t, 0), 10)
	require.Len(t, l.all(t, 1), 5)
	n, err := l.Prune(t.Context(), 1, later, 500) // no group reads it: age alone decides
	require.NoError(t, err)
	require.Equal(t, 5, n)
}

// Members are listed in the order they joined, without the dead, which leave no keys.
func TestMembers(t *testing.T) {
	l := newLog(t)
	d := l
	named := func(id string) logsub.Member { return logsub.Member{Topic: "topic", Group: "g.*", ID: id} }
	beat := func(ttl time.Duration, ids ...string) {
		t.Helper()
		for _, id := range ids {
			require.NoError(t, d.Beat(t.Context(), ttl, []logsub.Member{named(id)}))
		}
	}
	members := func() []string {
		t.Helper()
		all, err := d.Members(t.Context(), "topic", "g.*")
		require.NoError(t, err)
		return all
	}
	require.Empty(t, members())
	beat(time.Minute, "z", "y", "x", "w")
	beat(time.Minute, "w", "z")
	require.Equal(t, []string{"z", "y", "x", "w"}, members())
	beat(time.Millisecond, "y")
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for len(members()) == 4 {
		<-tick.C
	}
	require.NoError(t, d.Leave(t.Context(), named("x")))
	beat(time.Minute, "y") // it is back, as the newest
	require.Equal(t, []string{"z", "w", "y"}, members())
	kept, err := list[member](t.Context(), l, "$KV."+string(l.names)+".member.>", mostRead)
	require.NoError(t, err)
	require.Len(t, kept, 3)
}

// TestLastMemberDies: no other member's beat shows that the last one has died.
func TestLastMemberDies(t *testing.T) {
	d := newLog(t)
	live := func() bool {
		t.Helper()
		members, err := d.Members(t.Context(), "topic", "g")
		require.NoError(t, err)
		return len(members) > 0
	}
	require.False(t, live())
	m := logsub.Member{Topic: "topic", Group: "g", ID: "x"}
	require.NoError(t, d.Beat(t.Context(), time.Minute, []logsub.Member{m}))
	require.True(t, live())
	require.NoError(t, d.Beat(t.Context(), time.Millisecond, []logsub.Member{m}))
	require.Eventually(t, func() bool { return !live() }, time.Minute, time.Millisecond)
}

// A batch of any size is read back whole and in order, beyond the limits of one request.
func TestLargeBatches(t *testing.T) {
	l := newLog(t)
	var entries []log.Entry
	for i := range 2500 {
		entries = append(entries, log.Entry{Lane: i % 2, Topic: "topic", MessageID: fmt.Sprint(i), Payload: make([]byte, 8<<10)})
	}
	require.NoError(t, l.append(t.Context(), entries))
	for lane := range 2 {
		var all []log.Entry
		for more := l.all(t, lane); len(more) > 0; {
			all = append(all, more...)
			var err error
			more, _, err = l.Read(t.Context(), lane, all[len(all)-1].Position, 5000)
			require.NoError(t, err)
		}
		require.Len(t, all, 1250)
		for i, e := range all {
			require.Equal(t, fmt.Sprint(2*i+lane), e.MessageID)
		}
	}
	for lane, want := range [][]string{{"2494", "2496", "2498"}, {"2495", "2497", "2499"}} {
		newest, err := l.newest(t.Context(), lane, 3)
		require.NoError(t, err)
		var ids []string
		for _, e := range newest {
			ids = append(ids, e.MessageID)
		}
		require.Subset(t, ids, want)
	}
}

// A request ends with its connection, and the cause is not the caller's.
func TestRequestEndsWithItsConnection(t *testing.T) {
	l := newLog(t)
	err := l.do(t.Context(), func(ctx context.Context) error {
		l.mu.Lock()
		broke := l.broke
		l.mu.Unlock()
		broke()
		<-ctx.Done()
		return ctx.Err()
	})
	require.ErrorIs(t, err, errDisconnected)
	require.Equal(t, fault.Infrastructure, fault.Of(err))
	require.False(t, errors.Is(err, context.Canceled))
}
