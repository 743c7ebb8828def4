package pgbus_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"testing"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sourcetest"
	"github.com/millrace-go/millrace/sqltx"
)

// Behind a pooler nothing wakes a reader: messages arrive at the poll interval, and the log says
// what to set.
func TestBehindAPooler(t *testing.T) {
	url := servicetest.PgBouncerURL(t)
	said := make(told, 16)
	reader := transport.Open(t, url+"&poll=50ms", logbustest.Settings{Logger: slog.New(slog.NewTextHandler(said, nil))})
	writer := transport.Open(t, url, logbustest.Settings{})
	ch := sourcetest.Subscribe(t, reader, "group", "orders", 16)
	for n := range 3 {
		m := message.NewMessage(fmt.Sprint(n), nil)
		require.NoError(t, writer.Publisher().Publish("orders", m))
		got := sourcetest.Receive(t, ch)
		if got.Ack(); got.UUID != m.UUID {
			t.Errorf("got %s, want %s", got.UUID, m.UUID)
		}
	}
	assert.Contains(t, <-said, "for wake-ups give a URL that leads to the server itself", "the log")
}

// told are the lines of a log.
type told chan string

func (c told) Write(p []byte) (int, error) {
	select {
	case c <- string(p):
	default: // enough is known
	}
	return len(p), nil
}

// A group reads a backlog of 200,000 messages at the same rate as one of 1,000. The bound is
// generous, since machines are shared; a reader that sorts its backlog exceeds it by far.
func TestBacklogDoesNotSlowReading(t *testing.T) {
	const few, many, rounds = 1000, 200_000, 20
	url := servicetest.PostgresURL(t)
	db := transport.App(t, url, 2)
	b := transport.Open(t, url, logbustest.Settings{})
	for _, topic := range []string{"few", "many"} {
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 3, Groups: []string{"group"}}))
	}
	fill := func(topic string, n int) {
		t.Helper()
		const insert = `INSERT INTO bus_messages (lane, topic, message_id, message_key, headers, payload)
			SELECT t.first_lane + i % 3, t.name, i, 'key' || i % 1000, '', decode(repeat('ab', 200), 'hex')
			FROM bus_topics AS t, generate_series(1, $2::integer) AS i WHERE t.name = $1`
		_, err := db.Exec(insert, topic, n)
		require.NoError(t, err)
		if _, err := db.Exec(`SELECT pg_notify('millrace_bus_messages', '')`); err != nil { // wakes every reader
			t.Fatal(err)
		}
	}
	drain := func(ch <-chan *message.Message, n int) time.Duration {
		t.Helper()
		started := time.Now()
		for range n {
			sourcetest.Receive(t, ch).Ack()
		}
		return time.Since(started)
	}
	for range many / 20_000 {
		fill("many", 20_000)
	}
	small, big := sourcetest.Subscribe(t, b, "group", "few", 1024), sourcetest.Subscribe(t, b, "group", "many", 1024)
	measure := func() (ratio float64) {
		t.Helper()
		var ofFew time.Duration
		for range rounds {
			fill("few", few)
			ofFew += drain(small, few)
		}
		ofMany := drain(big, rounds*few)
		ratio = float64(ofMany) / float64(ofFew)
		t.Logf("%d messages: %v out of 1,000 at a time, %v out of 200,000: ratio %.2f", rounds*few, ofFew, ofMany, ratio)
		return ratio
	}
	// Other load on the machine may hit one of the two measurements, but not three times.
	ratio := measure()
	for again := 2; ratio > 4 && again > 0; again-- {
		ratio = measure()
	}
	if ratio > 4 {
		t.Errorf("reading from a backlog of %d takes %.1f times as long as from %d", many, ratio, few)
	}
}

// foreign opens two transactions that have written, one elsewhere and one that has published,
// and leaves them open.
func foreign(t *testing.T, db *sql.DB, b *bus.Bus) (end func() error) {
	t.Helper()
	_, err := db.Exec(`CREATE TABLE elsewhere (n integer)`)
	require.NoError(t, err)
	open, release := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- sqltx.Do(context.WithoutCancel(t.Context()), db, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `INSERT INTO elsewhere VALUES (1)`); err != nil {
				return err
			}
			m := logbustest.Keyed("k", "late")
			m.SetContext(ctx)
			if err := b.Publisher().Publish("topic", m); err != nil {
				return err
			}
			close(open)
			<-release
			return nil
		})
	}()
	select {
	case <-open:
	case err := <-ended:
		t.Fatal(err)
	}
	return func() error { close(release); return <-ended }
}

// While a transaction that has written is open, messages of others flow, also those of its own
// key; its own message is delivered once it has committed.
func TestOpenTransactionDelaysNobody(t *testing.T) {
	url := servicetest.PostgresURL(t)
	db := transport.App(t, url, 4)
	b := transport.Open(t, url, logbustest.Settings{DB: db})
	ch := sourcetest.Subscribe(t, b, "group", "topic", 64)
	end := foreign(t, db, b)
	started := time.Now()
	n := 0
	for ; time.Since(started) < 2*time.Second; n++ {
		sourcetest.Publish(t, b, "topic", logbustest.Keyed("k", fmt.Sprint(n)))
		logbustest.Expect(t, ch, fmt.Sprint(n))
	}
	t.Logf("%d messages in %v beside an open transaction", n, time.Since(started))
	require.NoError(t, end())
	logbustest.Expect(t, ch, "late")
}

// The same in mode=tx. Its control is Watermill SQL with its own adapters, on the same tables:
// it delivers no messages while the transaction is open.
func TestTxOpenTransactionDelaysNobody(t *testing.T) {
	url := servicetest.PostgresURL(t)
	db := transport.App(t, url, 8)
	b := transport.Open(t, url+"&mode=tx&poll=10ms", logbustest.Settings{DB: db})
	ch := sourcetest.Subscribe(t, b, "group", "topic", 1)
	control, err := wmsql.NewSubscriber(db, wmsql.SubscriberConfig{
		ConsumerGroup: "control", PollInterval: 10 * time.Millisecond, InitializeSchema: true,
		SchemaAdapter: txTransport.Schema, OffsetsAdapter: txTransport.Offsets,
	}, nil)
	require.NoError(t, err)
	defer control.Close() //nolint:errcheck // it returns nil
	stalled, err := control.Subscribe(t.Context(), "topic")
	require.NoError(t, err)
	sourcetest.Publish(t, b, "topic", logbustest.Keyed("k", "before"))
	logbustest.Expect(t, stalled, "before")
	logbustest.Expect(t, ch, "before")
	end := foreign(t, db, b)
	for n := range 20 {
		sourcetest.Publish(t, b, "topic", logbustest.Keyed("k", fmt.Sprint(n)))
		logbustest.Expect(t, ch, fmt.Sprint(n))
	}
	select {
	case m := <-stalled:
		t.Errorf("%s came to Watermill SQL's own subscriber: the control proves nothing", m.Payload)
	case <-time.After(300 * time.Millisecond):
	}
	require.NoError(t, end())
	logbustest.Expect(t, ch, "late")
	logbustest.Expect(t, stalled, "late") // its transaction began first
}

// Any number of messages is announced at most once a tick.
func TestNotificationsAreFew(t *testing.T) {
	url := servicetest.PostgresURL(t)
	b := transport.Open(t, url, logbustest.Settings{})
	const n = 2000
	heard := listen(t, url)
	started := time.Now()
	done := make(chan error, 16)
	for w := range 16 {
		go func() {
			var err error
			for i := 0; i < n/16 && err == nil; i++ {
				err = b.Publisher().Publish("topic", logbustest.Keyed(fmt.Sprint(w), fmt.Sprint(i)))
			}
			done <- err
		}()
	}
	for range 16 {
		require.NoError(t, <-done)
	}
	took := time.Since(started)
	got := heard()
	most := int(took/(5*time.Millisecond)) + 3
	t.Logf("%d messages in %v: %d notifications", n, took, got)
	if got == 0 || got > most {
		t.Errorf("%d notifications for %d messages in %v, want 1 to %d", got, n, took, most)
	}
}

// A process of the previous release still reports that it is alive, but cannot take a partition
// any more: it gets none.
func TestMembersOfTheReleaseBefore(t *testing.T) {
	url := servicetest.PostgresURL(t)
	b := transport.Open(t, url, logbustest.Settings{})
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "orders", Partitions: 3, Groups: []string{"group"}}))
	const older = `INSERT INTO bus_members (topic, consumer, member, live_until) VALUES ('orders', 'group', 'older', now() + interval '1 hour')`
	_, err := transport.App(t, url, 1).Exec(older)
	require.NoError(t, err)
	messages := make([]*message.Message, 30)
	for i := range messages {
		messages[i] = message.NewMessage(fmt.Sprint(i), nil)
		messages[i].Metadata.Set(event.KeyHeader, fmt.Sprint("key", i))
	}
	require.NoError(t, b.Publisher().Publish("orders", messages...))
	ch := sourcetest.Subscribe(t, b, "group", "orders", 64)
	for range messages {
		sourcetest.Receive(t, ch).Ack()
	}
}

// The partitions of a group were leased and moved unequally often: the cursor of each is deleted by
// its own newest position.
func TestDeletedGroupWhosePartitionsDiffer(t *testing.T) {
	url := servicetest.PostgresURL(t)
	b, db := transport.Open(t, url, logbustest.Settings{}), transport.App(t, url, 2)
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "orders", Groups: []string{"group"}}))
	res, err := db.ExecContext(t.Context(), `UPDATE bus_cursors_progress SET lease_token = lease_token + lane, n = n + 100 * lane`)
	require.NoError(t, err)
	if n, err := res.RowsAffected(); err != nil || n < 2 {
		t.Fatalf("%d partitions have a cursor, %v; want some", n, err)
	}
	assert.NoError(t, b.DeleteGroup(t.Context(), "orders", "group"))
}
