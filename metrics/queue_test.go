package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/metrics/promtest"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/token"
)

func newRoom(t testing.TB) *queue.Room { return newRoomWith(t, queue.Config{Threshold: 2}) }

func newRoomWith(t testing.TB, cfg queue.Config) *queue.Room {
	t.Helper()
	store, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	keys, err := token.NewRing(strings.Repeat("s", 32))
	require.NoError(t, err)
	cfg.Timeout, cfg.Logger = time.Minute, slog.New(slog.DiscardHandler)
	room, err := queue.New(store, keys, cfg)
	require.NoError(t, err)
	return room
}

// queueScrape returns each series with its value.
func queueScrape(t testing.TB, room *queue.Room, cfg metrics.QueueConfig) map[string]float64 {
	t.Helper()
	c, err := metrics.NewQueue(room, cfg)
	require.NoError(t, err)
	return promtest.Read(t, c)
}

func TestQueueEverySeriesFromTheStart(t *testing.T) {
	got := queueScrape(t, newRoom(t), metrics.QueueConfig{Events: []string{"show-1", "show-1"}})
	want := map[string]float64{"millrace_queue_threshold show-1": 2, "millrace_queue_stock show-1": -1}
	for _, name := range []string{
		"polls_total snapshot", "polls_total store", "polls_total refused", "foreign_tickets_total", "store_calls_total",
		"store_errors_total", "snapshot_refreshes_total", "beats_total sent", "beats_total lost", "admitted_total",
		"notices_total published", "notices_total dropped", "panics_total", "events", "stock_calls_total answered", "stock_calls_total failed", "held_by_stock show-1",
		"waiting show-1", "active show-1", "returning show-1", "entitled show-1", "paused show-1", "settling_seconds show-1", "servers show-1", "joined_total show-1",
		"entered_total show-1", "no_shows_total show-1", "expired_total show-1", "departed_total show-1", "swept_total show-1",
		"returned_total show-1",
	} {
		want["millrace_queue_"+name] = 0
	}
	for name, value := range want {
		if is, ok := got[name]; !ok || is != value {
			t.Errorf("%s is %v, there: %v; want %v", name, is, ok, value)
		}
	}
	assert.Len(t, got, len(want), "series")
}

type notices struct{}

func (notices) Counts() (published, dropped int64) { return 7, 3 }

func TestQueueCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newRoom(t)
		ctx := context.Background()
		check := func(user, ticket string) queue.Place {
			t.Helper()
			place, err := room.Check(ctx, "show-1", queue.Visitor{User: user, Ticket: ticket})
			require.NoError(t, err)
			return place
		}
		for _, user := range []string{"a", "b", "c", "d", "e"} {
			check(user, "")
		}
		last := check("e", "forged").Ticket
		_, err := room.SetThreshold(ctx, "show-1", 3)
		require.NoError(t, err)
		running, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- room.Run(running) }()
		synctest.Wait() // c is let in
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, room.Leave(ctx, "show-1", "d"))
		_, err = room.Pause(ctx, "show-1")
		require.NoError(t, err)
		time.Sleep(time.Second)
		check("e", last)
		check("e", last)
		got := queueScrape(t, room, metrics.QueueConfig{Notices: notices{}})
		for name, want := range map[string]float64{
			"millrace_queue_waiting show-1": 2, "millrace_queue_active show-1": 2, "millrace_queue_entitled show-1": 1, "millrace_queue_threshold show-1": 3,
			"millrace_queue_paused show-1": 1, "millrace_queue_joined_total show-1": 5, "millrace_queue_entered_total show-1": 2, "millrace_queue_departed_total show-1": 1,
			"millrace_queue_admitted_total": 1, "millrace_queue_polls_total snapshot": 2, "millrace_queue_polls_total store": 7, "millrace_queue_foreign_tickets_total": 1,
			"millrace_queue_snapshot_refreshes_total": 1, "millrace_queue_beats_total sent": 1, "millrace_queue_events": 1, "millrace_queue_store_errors_total": 0,
			"millrace_queue_notices_total published": 7, "millrace_queue_notices_total dropped": 3,
		} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
	})
}

func TestQueueStock(t *testing.T) {
	var fail atomic.Bool
	synctest.Test(t, func(t *testing.T) {
		room := newRoomWith(t, queue.Config{Threshold: 2, Stock: func(context.Context, string) (int, error) {
			if fail.Load() {
				return 0, errors.New("away")
			}
			return 1, nil
		}})
		for _, user := range []string{"a", "b"} {
			_, err := room.Check(t.Context(), "show-1", queue.Visitor{User: user})
			require.NoError(t, err)
		}
		fail.Store(true)
		_, err := room.Check(t.Context(), "show-2", queue.Visitor{User: "a"})
		require.NoError(t, err)
		got := queueScrape(t, room, metrics.QueueConfig{})
		for name, want := range map[string]float64{
			"millrace_queue_stock show-1": 1, "millrace_queue_held_by_stock show-1": 1, "millrace_queue_stock show-2": -1, "millrace_queue_held_by_stock show-2": 0,
			"millrace_queue_stock_calls_total answered": 1, "millrace_queue_stock_calls_total failed": 1,
		} {
			if is, ok := got[name]; !ok || is != want {
				t.Errorf("%s is %v, there: %v; want %v", name, is, ok, want)
			}
		}
	})
}

func TestQueueEventsAreBounded(t *testing.T) {
	room := newRoom(t)
	ctx := context.Background()
	for i := range 50 {
		_, err := room.Heartbeat(ctx, fmt.Sprintf("made-up-%02d", i), queue.Visitor{User: "x"})
		require.NoError(t, err)
	}
	_, err := room.Check(ctx, "show-7", queue.Visitor{User: "a"})
	require.NoError(t, err)
	got := queueScrape(t, room, metrics.QueueConfig{MaxEvents: 3, Events: []string{"show-1"}})
	shown := 0
	for name := range got {
		if strings.HasPrefix(name, "millrace_queue_waiting ") {
			shown++
		}
	}
	if shown != 3 || got["millrace_queue_events"] != 51 {
		t.Errorf("%d events shown of %v", shown, got["millrace_queue_events"])
	}
	for _, event := range []string{"show-1", "show-7", "made-up-00"} {
		if _, ok := got["millrace_queue_waiting "+event]; !ok {
			t.Errorf("%s is not shown", event)
		}
	}
}

func TestQueueConfig(t *testing.T) {
	if _, err := metrics.NewQueue(nil, metrics.QueueConfig{}); err == nil {
		t.Error("a nil room was taken")
	}
	if _, err := metrics.NewQueue(newRoom(t), metrics.QueueConfig{MaxEvents: -1}); err == nil || !strings.Contains(err.Error(), "Config.MaxEvents") {
		t.Errorf("%v", err)
	}
}

func ExampleNewQueue() {
	store, err := memqueue.New(memqueue.Config{})
	if err != nil {
		panic(err)
	}
	keys, err := token.NewRing("0123456789abcdef0123456789abcdef")
	if err != nil {
		panic(err)
	}
	room, err := queue.New(store, keys, queue.Config{})
	if err != nil {
		panic(err)
	}
	collector, err := metrics.NewQueue(room, metrics.QueueConfig{Events: []string{"show-1"}})
	if err != nil {
		panic(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	fmt.Println(len(families), err)
	// Output: 28 <nil>
}
