package kafkabus_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/bus/kafkabus"
)

// The messages of a partition that is started for the third time without progress are
// handled alone, and the commit names the message at work when its processes died. A window
// without a death ends the suspicion, and progress clears its traces.
func TestStartsWithoutProgress(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		g := newCrashing(t, url, 20)
		for n, want := range []struct {
			alone  bool
			deaths int
		}{{}, {}, {true, 0}, {true, 1}, {true, 2}} {
			s, die := g.start(t, kafkabus.Config{})
			d := next(t, s).(driver.Suspected)
			deaths := 0
			alone := d.Alone()
			if alone {
				var err error
				deaths, err = d.Begin(t.Context())
				require.NoError(t, err)
			}
			die()
			if alone != want.alone || deaths != want.deaths {
				t.Fatalf("start %d: alone %t after %d deaths, want %t after %d", n+1, alone, deaths, want.alone, want.deaths)
			}
		}
		s, _ := g.start(t, kafkabus.Config{CommitInterval: 10 * time.Millisecond})
		for n := range 8 {
			d := next(t, s)
			suspect := d.(driver.Suspected)
			require.True(t, suspect.Alone(), "message %d", n)
			deaths, err := suspect.Begin(t.Context())
			require.NoError(t, err)
			if n > 0 {
				require.Zero(t, deaths, "message %d", n)
			}
			require.NoError(t, suspect.End(t.Context()))
			d.Done()
		}
		d := next(t, s)
		require.False(t, d.(driver.Suspected).Alone(), "the suspicion has no end")
		d.Done()
		require.Eventually(t, func() bool {
			at := g.commit(t, 0)
			return at.At == 9 && at.Metadata == ""
		}, 20*time.Second, 20*time.Millisecond)
	})
}

// The message at work stays noted while messages before it are finished without a handler,
// for example because they are obsolete.
func TestSuspectsStayNoted(t *testing.T) {
	t.Parallel()
	g := newCrashing(t, urlOf(fake(t)), 3)
	for range 3 {
		s, die := g.start(t, kafkabus.Config{})
		next(t, s)
		if d := next(t, s).(driver.Suspected); d.Alone() {
			_, err := d.Begin(t.Context())
			require.NoError(t, err)
		}
		die()
	}
	s, _ := g.start(t, kafkabus.Config{CommitInterval: 10 * time.Millisecond})
	next(t, s).Done()
	require.Eventually(t, func() bool { return g.commit(t, 0).At == 1 }, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, "millrace/2:0,1,1:", g.commit(t, 0).Metadata)
	deaths, err := next(t, s).(driver.Suspected).Begin(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, deaths)
}

// A death behind progress is a first start again. After it, messages done behind a gap are
// still noted while nothing has been committed since.
func TestProgressEndsTheCount(t *testing.T) {
	t.Parallel()
	g := newCrashing(t, urlOf(fake(t)), 20)
	for round := range 4 {
		s, die := g.start(t, kafkabus.Config{CommitInterval: 10 * time.Millisecond})
		d := next(t, s)
		require.False(t, d.(driver.Suspected).Alone(), "round %d", round)
		d.Done()
		require.Eventually(t, func() bool { return g.commit(t, 0).At == int64(round)+1 }, 20*time.Second, 10*time.Millisecond)
		die()
	}
	s, _ := g.start(t, kafkabus.Config{})
	next(t, s)
	next(t, s).Done() // 5, behind the gap at 4
	require.NoError(t, s.Close())
	for range 2 {
		s, die := g.start(t, kafkabus.Config{})
		require.Equal(t, "4", string(next(t, s).Message().Payload))
		require.Equal(t, "6", string(next(t, s).Message().Payload))
		die()
	}
}

// Orderly stops are no crashes, with progress or without, and also while a message is
// handled alone.
func TestOrderlyStopsAreNoCrashes(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		g := newCrashing(t, url, 3)
		for range 4 {
			s, _ := g.start(t, kafkabus.Config{})
			require.False(t, next(t, s).(driver.Suspected).Alone())
			require.NoError(t, s.Close())
		}
		for range 3 {
			s, die := g.start(t, kafkabus.Config{})
			next(t, s)
			die()
		}
		for range 3 {
			s, _ := g.start(t, kafkabus.Config{})
			d := next(t, s).(driver.Suspected)
			if d.Alone() {
				deaths, err := d.Begin(t.Context())
				require.NoError(t, err)
				require.Zero(t, deaths)
			}
			require.NoError(t, s.Close())
		}
		require.Empty(t, g.commit(t, 0).Metadata)
	})
}

// The death of an idle process is no evidence against later messages, also in a partition
// beside a busy one.
func TestIdleStartsDoNotCount(t *testing.T) {
	t.Parallel()
	g := crashing{urlOf(fake(t)), name("topic"), name("group")}
	b := openBus(t, kafkabus.Config{}, g.url)
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: g.topic, Partitions: 2, Groups: []string{g.group}}))
	publish(t, b, g.topic, keyed("k", "busy"))
	for range 2 {
		s, die := g.start(t, kafkabus.Config{})
		next(t, s)
		die()
	}
	require.ElementsMatch(t, []string{"millrace/2:2,0,0:", ""}, []string{g.commit(t, 0).Metadata, g.commit(t, 1).Metadata})
}

// A member that the group has removed is alive: its messages in flight are no suspects when
// it is back. It writes no notes for a partition that it has lost.
func TestLostPartitionsAreNoCrashes(t *testing.T) {
	t.Parallel()
	c := fake(t)
	b := openBus(t, kafkabus.Config{SessionTimeout: 6 * time.Second}, urlOf(c))
	g := newCrashing(t, urlOf(c), 1)
	s, err := b.Driver().Source(context.WithoutCancel(t.Context()), g.topic, g.group, 8)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() }) //nolint:errcheck // of partitions that were lost
	for range 4 {
		d := next(t, s)
		require.False(t, d.(driver.Suspected).Alone())
		throwOut(c, g.group)
		select {
		case <-d.Context().Done():
		case <-time.After(20 * time.Second):
			t.Fatal("the partition was not lost")
		}
		before := g.commit(t, 0)
		_, err := d.(driver.Suspected).Begin(t.Context())
		require.ErrorIs(t, err, driver.ErrRevoked)
		require.NoError(t, d.(driver.Suspected).End(t.Context()))
		require.Equal(t, before, g.commit(t, 0))
	}
	require.NoError(t, s.Close())
}

// Members that come and go are no crashes for the partitions that change hands, though no
// message of them is ever finished.
func TestHandOversAreNoCrashes(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		b := openBus(t, kafkabus.Config{HandOverTimeout: 100 * time.Millisecond}, url)
		topic, group := name("topic"), name("group")
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 2}))
		for k := range 20 { // on both partitions
			publish(t, b, topic, keyed(strconv.Itoa(k), "out"))
		}
		join := func() driver.Source {
			s, err := b.Driver().Source(context.WithoutCancel(t.Context()), topic, group, 40)
			require.NoError(t, err)
			return s
		}
		took := func(s driver.Source, n int) {
			for range n {
				require.False(t, next(t, s).(driver.Suspected).Alone())
			}
		}
		last := join()
		took(last, 20)
		for range 4 {
			s := join()
			took(s, 1) // a partition has moved
			require.NoError(t, last.Close())
			took(s, 19)
			last = s
		}
		require.NoError(t, last.Close())
	})
}

// A start that cannot be counted now is counted later, before the first message. If brokers
// accept no notes at all, messages are handled without counts.
func TestStartsThatAreNotCounted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  *kerr.Error
		want string
	}{
		"loading":  {kerr.CoordinatorLoadInProgress, "millrace/2:1,0,0:"},
		"joining":  {kerr.RebalanceInProgress, "millrace/2:1,0,0:"},
		"too long": {kerr.OffsetMetadataTooLarge, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fake(t)
			g := newCrashing(t, urlOf(c), 1)
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: tc.err, Count: 2})
			s, die := g.start(t, kafkabus.Config{})
			require.Equal(t, "0", string(next(t, s).Message().Payload))
			require.Equal(t, tc.want, g.commit(t, 0).Metadata)
			die()
		})
	}
}

// A commit beyond the end, as after an election that lost messages: the group gets all messages
// again, and other messages get the offsets of its note.
func TestNotesOfLostMessages(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		g := newCrashing(t, url, 3)
		b := openBus(t, kafkabus.Config{}, url)
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: g.topic, Groups: []string{g.group}}))
		g.client(t, func(c *kadm.Client) {
			_, err := c.CommitOffsets(t.Context(), g.group, kadm.Offsets{g.topic: {0: {Topic: g.topic, At: 5, LeaderEpoch: -1, Metadata: "millrace/1:" + kit.EncodeDone(5, []int64{6}, 100)}}})
			require.NoError(t, err)
		})
		lag, err := b.Lag(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3, lag[0].Messages)
		s, _ := g.start(t, kafkabus.Config{})
		for n := range 9 {
			if n > 2 {
				publish(t, b, g.topic, keyed("k", strconv.Itoa(n)))
			}
			d := next(t, s)
			require.Equal(t, strconv.Itoa(n), string(d.Message().Payload))
			d.Done()
		}
	})
}

// A consumer receives the messages of a topic that is deleted and created again.
func TestTopicMadeAgainUnderAConsumer(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		g := newCrashing(t, url, 3)
		s, _ := g.start(t, kafkabus.Config{})
		for range 3 {
			next(t, s).Done()
		}
		g.client(t, func(c *kadm.Client) {
			_, err := c.DeleteTopic(t.Context(), g.topic)
			require.NoError(t, err)
		})
		b := openBus(t, kafkabus.Config{}, url)
		require.Eventually(t, func() bool { return b.Declare(t.Context(), bus.Topic{Name: g.topic, Partitions: 1}) == nil }, 20*time.Second, 100*time.Millisecond)
		for n := range 2 {
			publish(t, b, g.topic, keyed("k", "new"+strconv.Itoa(n)))
		}
		for n := range 2 {
			d := next(t, s)
			require.Equal(t, "new"+strconv.Itoa(n), string(d.Message().Payload))
			d.Done()
		}
	})
}

// Brokers with less room for metadata than Kafka refuse the note of messages behind a gap. The
// acknowledgements before the gap are written without it.
func TestNotesThatAreRefused(t *testing.T) {
	t.Parallel()
	c := fake(t)
	g := newCrashing(t, urlOf(c), 3)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.OffsetMetadataTooLarge, Count: -1, When: func(r kmsg.Request) bool {
		at := r.(*kmsg.OffsetCommitRequest).Topics[0].Partitions[0].Metadata
		return at != nil && *at != ""
	}})
	s, _ := g.start(t, kafkabus.Config{CommitInterval: time.Hour})
	first, _, third := next(t, s), next(t, s), next(t, s)
	first.Done()
	third.Done()
	require.ErrorIs(t, s.Close(), kerr.OffsetMetadataTooLarge)
	require.EqualValues(t, 1, g.commit(t, 0).At)
}
