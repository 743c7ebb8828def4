package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

func newEvent(t testing.TB, key string) event.Event {
	t.Helper()
	e, err := outboxtest.NewEvent(key, 1)
	require.NoError(t, err)
	return e
}

func TestAppendNeedsATransaction(t *testing.T) {
	b := newBench(t, 1)
	type pool struct{ *sql.DB } // like sqlx.DB and bun.DB
	n := b.counted()
	for name, tx := range map[string]sqltx.Execer{
		"nil": nil, "*sql.DB": &sql.DB{}, "a nil *sql.Tx": (*sql.Tx)(nil), "*sql.Conn": &sql.Conn{},
		"*outbox_test.pool": &pool{&sql.DB{}}, "outbox_test.pool": pool{&sql.DB{}},
	} {
		for what, err := range map[string]error{
			"Append": b.box.Append(t.Context(), tx, newEvent(t, "a")), "AppendTo": b.box.AppendTo(t.Context(), tx, "topic", newEvent(t, "a")),
		} {
			if !errors.Is(err, driver.ErrNoTransaction) || !strings.Contains(err.Error(), "got "+name) && !strings.Contains(err.Error(), "got a "+name) {
				t.Errorf("%s to %s returned %v, want ErrNoTransaction and its name", what, name, err)
			}
		}
	}
	assert.EqualValues(t, 0, n["append"].Load(), "the store was asked all the same")
}

func TestAppendOfNothing(t *testing.T) {
	b := newBench(t, 1)
	n := b.counted()
	err := b.store.Do(t.Context(), func(ctx context.Context, tx sqltx.Execer) error { return b.box.Append(ctx, tx) })
	if err != nil || n["append"].Load() != 0 {
		t.Errorf("appending nothing returned %v after %d statements, want neither", err, n["append"].Load())
	}
}

func TestTopics(t *testing.T) {
	store := outboxtest.NewMemory(1)
	lost := errors.New("no such route")
	routed, err := outbox.New(store, outbox.Config{Route: func(e event.Event) (string, error) {
		switch e.Key() {
		case "nowhere":
			return "", nil
		case "fails":
			return "", lost
		}
		return "topic-of-" + e.Key(), nil
	}})
	require.NoError(t, err)
	bare, err := outbox.New(store, outbox.Config{})
	require.NoError(t, err)
	err = store.Do(t.Context(), func(ctx context.Context, tx sqltx.Execer) error {
		bad := newEvent(t, "nowhere")
		if err := routed.Append(ctx, tx, newEvent(t, "fine"), bad); !says(err, "outbox: no topic") ||
			!strings.Contains(err.Error(), bad.ID) || !strings.Contains(err.Error(), "event 2 of 2") {
			t.Errorf("an event without a topic returned %v, want that it has none and its name", err)
		}
		assert.ErrorIs(t, routed.Append(ctx, tx, newEvent(t, "fails")), lost, "a failing route")
		if err := bare.Append(ctx, tx, newEvent(t, "a")); !says(err, "outbox: no topic") {
			t.Errorf("Append without Topic and Route returned %v, want that it has none", err)
		}
		return errors.Join(routed.Append(ctx, tx, newEvent(t, "a")), bare.AppendTo(ctx, tx, "given", newEvent(t, "b")))
	})
	require.NoError(t, err)
	pub := &outboxtest.Publisher{}
	r, err := outbox.NewRelay(store, pub, outbox.RelayConfig{})
	require.NoError(t, err)
	require.NoError(t, r.Drain(t.Context()))
	got := map[string]string{}
	for _, p := range pub.Published() {
		got[p.Event.Key()] = p.Topic
	}
	if len(got) != 2 || got["a"] != "topic-of-a" || got["b"] != "given" {
		t.Errorf("topics %v, want a to topic-of-a and b to given", got)
	}
}

func TestConfigIsChecked(t *testing.T) {
	store := outboxtest.NewMemory(1)
	pub := &outboxtest.Publisher{}
	route := func(event.Event) (string, error) { return "", nil }
	for _, c := range []outbox.Config{{Topic: "t", Route: route}, {NotifyTimeout: -1}, {NotifyInTransaction: true}} {
		if _, err := outbox.New(store, c); err == nil {
			t.Errorf("New accepted %+v", c)
		}
	}
	if _, err := outbox.New(nil, outbox.Config{}); err == nil {
		t.Error("New accepted no store")
	}
	for name, c := range map[string]outbox.RelayConfig{
		"Ordering": {Ordering: 7}, "Interval": {Interval: time.Millisecond}, "MinBatch": {MinBatch: 10_000},
		"MaxBatch": {MaxBatch: -1}, "Lanes": {Lanes: -1}, "Chunk": {Chunk: -1}, "MaxAside": {MaxAside: -1},
		"MaxShards": {MaxShards: -1}, "LeaseTTL": {LeaseTTL: time.Millisecond}, "Retry": {Retry: outbox.Backoff{Jitter: 2}},
		"Pause": {Pause: outbox.Backoff{Initial: -1}}, "PruneChunk": {PruneChunk: -1}, "PruneInterval": {PruneInterval: -1},
		"ShutdownTimeout": {ShutdownTimeout: -1}, "MaxBatchBytes": {MaxBatchBytes: -1},
	} {
		if _, err := outbox.NewRelay(store, pub, c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("NewRelay with a wrong %s returned %v, want an error that names it", name, err)
		}
	}
	if _, err := outbox.NewRelay(nil, pub, outbox.RelayConfig{}); err == nil {
		t.Error("NewRelay accepted no store")
	}
	if _, err := outbox.NewRelay(store, nil, outbox.RelayConfig{}); err == nil {
		t.Error("NewRelay accepted no publisher")
	}
	_, err := outbox.NewRelay(store, pub, outbox.RelayConfig{})
	assert.NoError(t, err, "NewRelay refused the zero configuration")
}

// notifying is a store that reaches other processes.
type notifying struct {
	*outboxtest.Memory
	mu    sync.Mutex
	sent  []time.Time
	slow  time.Duration
	inner int
}

func (n *notifying) Notify(ctx context.Context) error {
	n.mu.Lock()
	n.sent = append(n.sent, time.Now())
	n.mu.Unlock()
	select {
	case <-time.After(n.slow):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *notifying) NotifyIn(context.Context, sqltx.Execer) error { n.inner++; return nil }

func (n *notifying) times() []time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sent
}

func TestNotifyIsDebounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &notifying{Memory: outboxtest.NewMemory(1)}
		box, err := outbox.New(store, outbox.Config{Topic: "t"})
		require.NoError(t, err)
		start := time.Now()
		box.Wake()
		synctest.Wait()
		if got := store.times(); len(got) != 1 || !got[0].Equal(start) {
			t.Errorf("the first wake-up was sent at %v, want at once", got)
		}
		var last time.Time
		for range 1000 { // for 100 ms
			box.Wake()
			last = time.Now()
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(time.Second)
		got := store.times()
		if n := len(got); n < 40 || n > 52 {
			t.Errorf("%d notifications in 100 ms, want about one per 2 ms", n)
		}
		assert.False(t, got[len(got)-1].Before(last), "the last wake-up of the burst was not sent")
		assert.NoError(t, box.Close(t.Context()))
	})
}

func TestCloseWaitsForNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &notifying{Memory: outboxtest.NewMemory(1), slow: 3 * time.Second}
		box, err := outbox.New(store, outbox.Config{Topic: "t"})
		require.NoError(t, err)
		box.Wake()
		synctest.Wait()
		box.Wake() // while the first one is in flight
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, box.Close(short), context.DeadlineExceeded, "Close with a short deadline")
		assert.NoError(t, box.Close(t.Context()))
		assert.Equal(t, 2, len(store.times()), "notifications were sent before Close returned, want both")
		box.Wake() // after Close no notification is started
		synctest.Wait()
		assert.Equal(t, 2, len(store.times()), "a wake-up after Close was sent")
	})
}

func TestNotifyTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &notifying{Memory: outboxtest.NewMemory(1), slow: time.Hour}
		box, err := outbox.New(store, outbox.Config{Topic: "t"})
		require.NoError(t, err)
		start := time.Now()
		box.Wake()
		assert.NoError(t, box.Close(t.Context()))
		assert.Equal(t, 5*time.Second, time.Since(start), "a hanging notification lasted")
	})
}

func TestNotifyInTransaction(t *testing.T) {
	store := &notifying{Memory: outboxtest.NewMemory(1)}
	box, err := outbox.New(store, outbox.Config{Topic: "t", NotifyInTransaction: true})
	require.NoError(t, err)
	err = store.Do(t.Context(), func(ctx context.Context, tx sqltx.Execer) error { return box.Append(ctx, tx, newEvent(t, "a")) })
	require.NoError(t, err)
	box.Wake()
	require.NoError(t, box.Close(t.Context()))
	if store.inner != 1 || len(store.times()) != 0 {
		t.Errorf("%d notifications in the transaction and %d beside it, want 1 and 0", store.inner, len(store.times()))
	}
}

func TestPublisherMayChangeMessages(t *testing.T) {
	b := newBench(t, 1)
	b.append("a", "a", "b")
	var seen []string
	pub := publisherFunc(func(_ string, msgs ...*message.Message) error {
		for _, m := range msgs {
			seen = append(seen, m.Metadata.Get(event.KeyHeader)+m.Metadata.Get("mine"))
			m.Metadata.Set("mine", "!")
		}
		return nil
	})
	r, err := outbox.NewRelay(b.store, pub, outbox.RelayConfig{Lanes: 1})
	require.NoError(t, err)
	require.NoError(t, r.Drain(t.Context()))
	assert.Equal(t, "a a b", strings.Join(seen, " "), "messages share their metadata")
}
