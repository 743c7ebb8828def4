package txbustest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/intx"
	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
	"github.com/millrace-go/millrace/internal/sourcetest"
	"github.com/millrace-go/millrace/sqltx"
)

// Handlers checks that handlers find the transaction: by Watermill's way and by sqltx, on the
// application's pool. Their publishes are part of it, and hooks run after it.
func Handlers(t *testing.T, tr Transport) {
	url := tr.TxURL(t)
	app := tr.app(t, url)
	b := tr.Open(t, url, logbustest.Settings{DB: app})
	hooked := make(chan error, 1)
	stop := runner(t, b, bus.Consumer{Topic: "topic", Group: "group", Handler: func(m *message.Message) error {
		ctx := m.Context()
		raw, ok := wmsql.TxFromContext(ctx)
		if !ok {
			t.Error("Watermill's TxFromContext finds nothing")
		}
		if tx, ok := sqltx.On(ctx, app); !ok || tx != raw {
			t.Errorf("sqltx.On found %v (%t), want the transaction of the message", tx, ok)
		}
		if tx, ok := intx.From(ctx); !ok || tx != raw {
			t.Errorf("intx.From found %v (%t), want the transaction of the message", tx, ok)
		}
		if err := tr.note(ctx, raw, m); err != nil {
			return err
		}
		answer := logbustest.Keyed("k", "answer")
		answer.SetContext(ctx)
		if err := b.Publisher().Publish("answers", answer); err != nil {
			return err
		}
		if got := logbustest.Payloads(t, b, "answers"); len(got) != 0 {
			t.Errorf("before the commit the topic holds %q", got)
		}
		if !sqltx.AfterCommit(ctx, func() {
			var err error
			if n := len(done(t, app)); n != 1 {
				err = fmt.Errorf("%d rows are there when the hook runs, want 1", n)
			}
			hooked <- err
		}) {
			t.Error("AfterCommit was refused")
		}
		return nil
	}})
	sourcetest.Publish(t, b, "topic", logbustest.Keyed("k", "1"))
	select {
	case err := <-hooked:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the hook did not run within 20s")
	}
	if got := logbustest.Payloads(t, b, "answers"); len(got) != 1 {
		t.Errorf("after the commit the topic holds %q", got)
	}
	stop()

	// A pool of another database is not used.
	other := tr.app(t, tr.TxURL(t))
	elsewhere := tr.Open(t, url, logbustest.Settings{DB: other})
	found := make(chan bool, 1)
	runner(t, elsewhere, bus.Consumer{Topic: "topic", Group: "other", Handler: func(m *message.Message) error {
		_, ok := sqltx.On(m.Context(), other)
		found <- ok
		return nil
	}})
	if <-found {
		t.Error("a message came in a transaction on another database")
	}
}

// CloseRollsBack closes an instance whose handler has written and hangs.
func CloseRollsBack(t *testing.T, tr Transport) {
	url := tr.TxURL(t)
	app := tr.app(t, url)
	b := tr.Open(t, url, logbustest.Settings{DB: app})
	sourcetest.Publish(t, b, "topic", logbustest.Keyed("k", "1"))
	sub := sourcetest.Subscriber(b.Driver(), "group", 1)
	ch, err := sub.Subscribe(context.WithoutCancel(t.Context()), "topic")
	if err != nil {
		t.Fatal(err)
	}
	m := sourcetest.Receive(t, ch)
	tx, _ := wmsql.TxFromContext(m.Context())
	if err := tr.note(m.Context(), tx, m); err != nil {
		t.Fatal(err)
	}
	if err := sub.Close(); err != nil {
		t.Fatal(err)
	}
	if m.Context().Err() == nil {
		t.Error("the message's context lives on")
	}
	if m.Ack(); len(done(t, app)) != 0 {
		t.Error("what the handler wrote was committed without the offset")
	}
	logbustest.Expect(t, sourcetest.Subscribe(t, b, "group", "topic", 1), "1")
}

// SecondInstance starts an instance while a handler of the first one works: it joins and publishes
// at once, and a group of its own reads.
func SecondInstance(t *testing.T, tr Transport) {
	url := tr.TxURL(t)
	b := tr.Open(t, url, logbustest.Settings{})
	sourcetest.Publish(t, b, "topic", logbustest.Keyed("k", "1"))
	atWork := sourcetest.Receive(t, sourcetest.Subscribe(t, b, "group", "topic", 1))
	second := tr.Open(t, url, logbustest.Settings{})
	sourcetest.Publish(t, second, "topic", logbustest.Keyed("k", "2"))
	sourcetest.Subscribe(t, second, "group", "topic", 1)
	other := sourcetest.Subscribe(t, second, "other", "topic", 1)
	logbustest.Expect(t, other, "1")
	logbustest.Expect(t, other, "2")
	if atWork.Context().Err() != nil {
		t.Error("the first instance's handler has lost its transaction")
	}
}

// SerialGroups runs two instances of a group: never two handlers at a time, and
// the order of all messages holds.
func SerialGroups(t *testing.T, tr Transport) {
	url := tr.TxURL(t)
	app := tr.app(t, url)
	var at, most atomic.Int32
	var mu sync.Mutex
	var order []string
	by := map[int]int{}
	const n = 60
	consumer := func(instance int) bus.Consumer {
		return bus.Consumer{Topic: "topic", Group: "group", Handler: func(m *message.Message) error {
			most.Store(max(most.Load(), at.Add(1)))
			defer at.Add(-1)
			<-time.After(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			order = append(order, string(m.Payload))
			by[instance]++
			return nil
		}}
	}
	var buses []*bus.Bus
	for i := range 2 {
		b := tr.Open(t, url, logbustest.Settings{DB: app})
		buses = append(buses, b)
		runner(t, b, consumer(i))
	}
	var want []string
	for i := range n {
		payload := fmt.Sprint(i)
		want = append(want, payload)
		sourcetest.Publish(t, buses[0], "topic", logbustest.Keyed(fmt.Sprint("key", i%5), payload))
	}
	eventually(t, "all are handled", func() bool { mu.Lock(); defer mu.Unlock(); return len(order) >= n })
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(order, want) || most.Load() != 1 {
		t.Errorf("%d handlers were at work at once, in the order %v", most.Load(), order)
	}
	t.Logf("instances handled %v", by)
}

// Poison has a message that always fails: it becomes a dead letter, its handler's writes are
// undone, and the rest arrives in order. So does one whose metadata only another writer can read.
func Poison(t *testing.T, tr Transport) {
	url := tr.TxURL(t)
	app := tr.app(t, url)
	b := tr.Open(t, url, logbustest.Settings{DB: app})
	var want []string
	for i := range 6 {
		m := logbustest.Keyed("k", fmt.Sprint(i))
		sourcetest.Publish(t, b, "topic", m)
		if i == 1 {
			if _, err := app.Exec(`UPDATE watermill_topic SET metadata = '{"count": 1}' WHERE uuid = '` + m.UUID + `'`); err != nil {
				t.Fatal(err)
			}
		}
		if i != 2 && i != 4 {
			want = append(want, fmt.Sprint(i))
		}
	}
	var mu sync.Mutex
	var order []string
	runner(t, b, bus.Consumer{
		Topic: "topic", Group: "group", Retry: bus.FixedRetry(time.Millisecond, 2),
		Handler: func(m *message.Message) error {
			return sqltx.Do(m.Context(), app, func(ctx context.Context, tx *sql.Tx) error {
				if err := tr.note(ctx, tx, m); err != nil {
					return err
				}
				switch string(m.Payload) {
				case "2":
					return errors.New("poison")
				case "4":
					return fault.MarkPermanent(errors.New("invalid"))
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, string(m.Payload))
				return nil
			})
		},
	})
	eventually(t, "all are handled", func() bool { return len(done(t, app)) == len(want) })
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(order, want) {
		t.Errorf("handled %v, want %v", order, want)
	}
	if got := logbustest.Payloads(t, b, "topic.DLT"); !slices.Equal(got, []string{"2", "4"}) {
		t.Errorf("dead letters are %v, want 2 and 4", got)
	}
}

// ConcurrentWriters is logbustest's in this mode. Its foreign transactions are those of the
// writers.
func ConcurrentWriters(t *testing.T, tr Transport, w logbustest.Writers) {
	plain := tr.URL
	tr.URL = func(t testing.TB) string { return inTx(plain(t)) }
	open := tr.OpenDB
	tr.OpenDB = func(url string) (*sql.DB, error) {
		return open(strings.TrimRight(strings.Replace(url, "mode=tx", "", 1), "?&"))
	}
	logbustest.ConcurrentWriters(t, tr.Transport, w)
}

// Watermill checks that Watermill SQL's own publisher and subscriber, with their default tables,
// work with this one's.
func Watermill(t *testing.T, tr Transport) {
	url := tr.TxURL(t)
	app := tr.app(t, url)
	pub, err := wmsql.NewPublisher(app, wmsql.PublisherConfig{SchemaAdapter: tr.Schema, AutoInitializeSchema: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pub.Close() //nolint:errcheck // it returns nil
	if err := pub.Publish("topic", logbustest.Keyed("k", "theirs")); err != nil {
		t.Fatal(err)
	}
	b := tr.Open(t, url, logbustest.Settings{DB: app})
	sourcetest.Publish(t, b, "topic", logbustest.Keyed("k", "ours"))
	ours := sourcetest.Subscribe(t, b, "group", "topic", 1)
	logbustest.Expect(t, ours, "theirs")
	logbustest.Expect(t, ours, "ours")

	sub, err := wmsql.NewSubscriber(app, wmsql.SubscriberConfig{
		ConsumerGroup: "theirs", SchemaAdapter: tr.Schema, OffsetsAdapter: tr.Offsets, InitializeSchema: true,
		PollInterval: 10 * time.Millisecond,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close() //nolint:errcheck // it returns nil
	theirs, err := sub.Subscribe(t.Context(), "topic")
	if err != nil {
		t.Fatal(err)
	}
	logbustest.Expect(t, theirs, "theirs")
	logbustest.Expect(t, theirs, "ours")
}

// Names checks the names that are refused.
func Names(t *testing.T, tr Transport) {
	b := tr.Open(t, tr.TxURL(t), logbustest.Settings{})
	for _, topic := range []string{"a b", `a"; DROP TABLE done; --`, "a`b", strings.Repeat("x", 53), "offsets_x", "é"} {
		for what, err := range map[string]error{
			"publish": b.Driver().Publisher().Publish(topic, logbustest.Keyed("k", "1")),
			"declare": b.Driver().Declare(t.Context(), bus.Topic{Name: topic}),
		} {
			if fault.Of(err) != fault.Permanent || !strings.Contains(err.Error(), "mode=tx") {
				t.Errorf("%s %q: %v (%v)", what, topic, err, fault.Of(err))
			}
		}
	}
	for _, bad := range []*message.Message{
		message.NewMessage(strings.Repeat("x", 37), nil), message.NewMessage("\xff", nil),
		{UUID: "1", Metadata: message.Metadata{"x": "\xff"}},
	} {
		if err := b.Driver().Publisher().Publish("topic", bad); fault.Of(err) != fault.Permanent {
			t.Errorf("%q: %v (%v), want permanent", bad.UUID, err, fault.Of(err))
		}
	}
	// The longest names of topics that differ at their end have their own tables.
	for _, end := range []string{"a", "b"} {
		topic := strings.Repeat("x", 51) + end
		sourcetest.Publish(t, b, topic, logbustest.Keyed("k", end))
		// So do groups whose names a collation can take for the same.
		for _, group := range []string{"group", "Group", "group ", "gröup"} {
			logbustest.Expect(t, sourcetest.Subscribe(t, b, group, topic, 1), end)
		}
	}
}
