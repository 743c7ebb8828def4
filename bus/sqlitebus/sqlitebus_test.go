package sqlitebus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/sourcetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

func openBus(t testing.TB, cfg sqlitebus.Config, url string) *bus.Bus {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	b, err := bus.Open(context.Background(), url, sqlitebus.Scheme(cfg))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close(), "close")
	})
	return b
}

var (
	publish   = sourcetest.Publish
	subscribe = sourcetest.Subscribe
	receive   = sourcetest.Receive
)

func keyed(key, payload string) *message.Message {
	m := message.NewMessage(payload, []byte(payload))
	m.Metadata.Set(event.KeyHeader, key)
	return m
}

func TestPartitionsCannotChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	b := openBus(t, sqlitebus.Config{Partitions: 4}, "sqlite://"+path)
	publish(t, b, "made", keyed("k", "1"))
	for _, tc := range []struct {
		topic      string
		partitions int
		ok         bool
	}{
		{"made", 0, true}, {"made", 4, true}, {"made", 5, false},
		{"declared", 7, true}, {"declared", 0, true}, {"declared", 4, false},
	} {
		err := b.Declare(t.Context(), bus.Topic{Name: tc.topic, Partitions: tc.partitions})
		assert.Equalf(t, tc.ok, (err == nil), "declare %s with %d partitions: %v, want ok", tc.topic, tc.partitions, err)
		if err != nil && (fault.Of(err) != fault.Permanent || !strings.Contains(err.Error(), tc.topic)) {
			t.Errorf("the error is %v (%v)", err, fault.Of(err))
		}
	}
	// Another process with another default uses the topic unchanged.
	other := openBus(t, sqlitebus.Config{Partitions: 2}, "sqlite://"+path)
	publish(t, other, "made", keyed("k", "2"))
	if got, err := b.Browse(t.Context(), "made", 10); err != nil || len(got) != 2 {
		t.Errorf("browse found %d messages (%v), want 2", len(got), err)
	}
}

// Topics created by several processes at once get lanes of their own.
func TestTopicsDoNotMix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	var buses []*bus.Bus
	for range 3 {
		buses = append(buses, openBus(t, sqlitebus.Config{}, "sqlite://"+path+"?synchronous=normal"))
	}
	var wg sync.WaitGroup
	for i, b := range buses {
		for n := range 8 {
			wg.Go(func() {
				topic := fmt.Sprint("topic ", n)
				assert.NoError(t, b.Publisher().Publish(topic, keyed(fmt.Sprint(i), topic)))
			})
		}
	}
	wg.Wait()
	for n := range 8 {
		topic := fmt.Sprint("topic ", n)
		got, err := buses[0].Browse(t.Context(), topic, 100)
		if err != nil || len(got) != 3 {
			t.Errorf("%s has %d messages (%v), want 3", topic, len(got), err)
		}
		for _, m := range got {
			if string(m.Payload) != topic {
				t.Errorf("%s has a message of %s", topic, m.Payload)
			}
		}
	}
}

// Messages of another process arrive by the watcher, long before the fallback interval.
func TestOtherProcessWakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	a := openBus(t, sqlitebus.Config{}, "sqlite://"+path+"?synchronous=normal")
	b := openBus(t, sqlitebus.Config{}, "sqlite://"+path+"?synchronous=normal")
	ch := subscribe(t, b, "group", "topic", 10)
	publish(t, a, "topic", keyed("k", "0"))
	receive(t, ch).Ack()
	var took []time.Duration
	const rounds = 9
	for range rounds {
		publish(t, a, "topic", keyed("k", "x"))
		published := time.Now()
		receive(t, ch).Ack()
		took = append(took, time.Since(published))
	}
	slices.Sort(took)
	if median := took[rounds/2]; median > 300*time.Millisecond {
		t.Errorf("a message of another process took %v, the median of %v", median, took)
	}
}

// While another process holds the write lock, messages wait; afterwards they continue, and none
// is lost.
func TestLockedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	b := openBus(t, sqlitebus.Config{}, "sqlite://"+path+"?synchronous=normal")
	ch := subscribe(t, b, "group", "topic", 4)
	publish(t, b, "topic", keyed("k", "0"))
	receive(t, ch).Ack()

	blocker, err := sqlitedb.Open(path, sqlitedb.Config{})
	require.NoError(t, err)
	defer blocker.Close()
	tx, err := blocker.Begin()
	require.NoError(t, err)
	defer tx.Rollback()
	done := make(chan error, 5)
	for n := range 5 {
		go func() { done <- b.Publisher().Publish("topic", keyed(fmt.Sprint(n), "x")) }()
	}
	select {
	case err := <-done:
		t.Errorf("published beside another writer's transaction: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	require.NoError(t, tx.Rollback())
	for range 5 {
		assert.NoError(t, <-done)
		receive(t, ch).Ack()
	}
}

func TestErrorClasses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	b := openBus(t, sqlitebus.Config{}, "sqlite://"+path)
	pub := b.Driver().Publisher()
	bad := keyed("k", "1")
	bad.Metadata.Set("x", "\xff")
	if err := pub.Publish("topic", bad); fault.Of(err) != fault.Permanent {
		t.Errorf("metadata that is no text: %v (%v), want permanent", err, fault.Of(err))
	}
	publish(t, b, "topic", keyed("k", "1"))
	spoil, err := sqlitedb.Open(path, sqlitedb.Config{})
	require.NoError(t, err)
	defer spoil.Close()
	_, err = spoil.Exec(`CREATE TRIGGER full BEFORE INSERT ON bus_messages BEGIN SELECT raise(ABORT, 'refused'); END`)
	require.NoError(t, err)
	if err := pub.Publish("topic", keyed("k", "2")); fault.Of(err) != fault.Permanent {
		t.Errorf("a refused row: %v (%v), want permanent", err, fault.Of(err))
	}
	require.NoError(t, b.Close())
	assert.ErrorIs(t, pub.Publish("topic", keyed("k", "3")), bus.ErrClosed, "after Close")
	if _, err := b.Driver().Source(t.Context(), "topic", "group", 1); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("a source after Close: %v, want %v", err, bus.ErrClosed)
	}
}

// Many processes of one group share a file: every message is handled once, and each process
// releases its partitions in an orderly stop, for any number of simultaneous stops.
func TestManyPoolsOnOneFile(t *testing.T) {
	const pools, n = 50, 500
	url := "sqlite://" + filepath.Join(t.TempDir(), "bus.db") + "?synchronous=normal&partitions=20"
	var all []*bus.Bus
	for range pools {
		b, err := bus.Open(t.Context(), url, sqlitebus.Scheme(sqlitebus.Config{LeaseTTL: time.Minute}))
		require.NoError(t, err)
		all = append(all, b)
	}
	require.NoError(t, all[0].Declare(t.Context(), bus.Topic{Name: "topic", Groups: []string{"group"}}))
	handled := make(chan string, 2*n)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	for _, b := range all {
		r, err := bus.NewRunner(b, bus.RunnerConfig{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		err = r.Add(bus.Consumer{Topic: "topic", Group: "group", Handler: func(m *message.Message) error {
			handled <- string(m.Payload)
			return nil
		}})
		require.NoError(t, err)
		running.Go(func() {
			assert.NoError(t, errors.Join(r.Run(ctx), b.Close()), "stop")
		})
	}
	for i := range n {
		publish(t, all[i%pools], "topic", keyed(fmt.Sprint("key-", i%40), fmt.Sprint(i)))
	}
	seen := map[string]bool{}
	for limit := time.After(2 * time.Minute); len(seen) < n; {
		select {
		case id := <-handled:
			if seen[id] {
				t.Errorf("%s was handled twice", id)
			}
			seen[id] = true
		case <-limit:
			t.Fatalf("%d of %d messages were handled", len(seen), n)
		}
	}
	stop()
	running.Wait()
}
