package kafkabus_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
)

// transactional returns another program's producer, which publishes in transactions.
func transactional(t *testing.T, url, topic string) *kgo.Client {
	t.Helper()
	theirs, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(strings.Trim(strings.TrimPrefix(url, "kafka://"), "/"), ",")...),
		kgo.DefaultProduceTopic(topic), kgo.TransactionalID(name("transaction")),
	)
	require.NoError(t, err)
	t.Cleanup(theirs.Close)
	return theirs
}

// produce begins a transaction with some messages.
func produce(t *testing.T, theirs *kgo.Client, payloads ...string) {
	t.Helper()
	require.NoError(t, theirs.BeginTransaction())
	for _, p := range payloads {
		require.NoError(t, theirs.ProduceSync(t.Context(), kgo.StringRecord(p)).FirstErr())
	}
}

func finish(t *testing.T, theirs *kgo.Client, end kgo.TransactionEndTry) {
	t.Helper()
	require.NoError(t, theirs.EndTransaction(t.Context(), end))
}

// Browse and Pending show the messages that a consumer receives: no records of aborted or
// open transactions, and no markers, even if few messages lie behind many of these.
func TestCommittedMessagesAreShown(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		b, topic, group := openBus(t, kafkabus.Config{}, url), name("topic"), name("group")
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 1, Groups: []string{group}}))
		theirs := transactional(t, url, topic)
		produce(t, theirs, "aborted", "aborted", "aborted")
		finish(t, theirs, kgo.TryAbort)
		produce(t, theirs, "one", "two")
		finish(t, theirs, kgo.TryCommit)
		for range 20 {
			produce(t, theirs, "aborted")
			finish(t, theirs, kgo.TryAbort)
		}
		publish(t, b, topic, keyed("k", "three"))
		produce(t, theirs, "four")

		shown := func(all []*message.Message, err error) string {
			t.Helper()
			require.NoError(t, err)
			var payloads []string
			for _, m := range all {
				payloads = append(payloads, string(m.Payload))
			}
			return strings.Join(payloads, " ")
		}
		newest := func(limit int) string { t.Helper(); return shown(b.Browse(t.Context(), topic, limit)) }
		oldest := func(limit int) string { t.Helper(); return shown(b.Pending(t.Context(), topic, group, limit)) }
		for _, tc := range []struct{ what, got, want string }{
			{"Browse 10", newest(10), "one two three"}, {"Browse 2", newest(2), "two three"}, {"Browse 1", newest(1), "three"},
			{"Pending 10", oldest(10), "one two three"}, {"Pending 2", oldest(2), "one two"},
		} {
			assert.Equalf(t, tc.want, tc.got, "%s while a transaction is open", tc.what)
		}
		finish(t, theirs, kgo.TryCommit)
		// A group whose offset is inside of an aborted transaction.
		offsets := kadm.Offsets{}
		offsets.AddOffset(topic, 0, 1, -1)
		require.NoError(t, kadm.NewClient(theirs).CommitAllOffsets(t.Context(), group, offsets))
		assert.Equal(t, "two three four", newest(3), "Browse 3 of committed messages")
		assert.Equal(t, "one two three four", oldest(10), "Pending from an aborted transaction")
	})
}

// A group that has handled all messages has no lag, also if transactions have left markers
// at the end of the partition. An open transaction counts, because it blocks later records.
func TestLagPassesOverMarkers(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		b, topic, group := openBus(t, kafkabus.Config{}, url), name("topic"), name("group")
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 1, Groups: []string{group}}))
		theirs := transactional(t, url, topic)
		lag := func(what string, want int) {
			t.Helper()
			all, err := b.Lag(t.Context())
			require.NoError(t, err)
			i := slices.IndexFunc(all, func(l bus.Lag) bool { return l.Topic == topic && l.Group == group })
			if i < 0 || all[i].Messages != want || want == 0 && !all[i].Oldest.IsZero() {
				t.Errorf("%s: lag is %+v, want %d", what, all, want)
			}
		}
		consume := func(payloads ...string) {
			t.Helper()
			sub := subscriber(t, b, group, 10)
			expect(t, subscribe(t, sub, topic), payloads...)
			require.NoError(t, sub.Close())
		}
		produce(t, theirs, "one", "two")
		finish(t, theirs, kgo.TryCommit)
		consume("one", "two")
		lag("behind a committed transaction", 0)
		produce(t, theirs, "aborted", "aborted", "aborted")
		lag("with an open transaction", 3)
		finish(t, theirs, kgo.TryAbort)
		lag("behind an aborted transaction", 0)
		publish(t, b, topic, keyed("k", "three"))
		lag("with a message behind all that", 1)
		consume("three")
		lag("after that message", 0)
	})
}
