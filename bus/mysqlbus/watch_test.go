package mysqlbus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// A process whose groups wait is told of messages that another process has published and a third
// has already read: reading gives positions, so no message without a position is left to show
// them.
func TestWatcher(t *testing.T) { servicetest.EachMySQL(t, testWatcher) }

func testWatcher(t *testing.T, server servicetest.MySQLServer) {
	url := server.URL(t)
	publisher := transport.Open(t, url, logbustest.Settings{})
	reader, waiting := transport.Open(t, url, logbustest.Settings{}), transport.Open(t, url, logbustest.Settings{})
	ours := sourcetest.Subscribe(t, waiting, "waiting", "topic", 10)
	quick := sourcetest.Subscribe(t, publisher, "quick", "topic", 10) // is woken within the process
	theirs := sourcetest.Subscribe(t, reader, "reader", "topic", 10)
	var took []time.Duration
	const rounds = 20
	for range rounds {
		sourcetest.Publish(t, publisher, "topic", logbustest.Keyed("k", "x"))
		published := time.Now()
		logbustest.Expect(t, quick, "x")
		logbustest.Expect(t, ours, "x")
		took = append(took, time.Since(published))
		logbustest.Expect(t, theirs, "x")
		<-time.After(20 * time.Millisecond)
	}
	median := logbustest.Median(took)
	t.Logf("it took %v, the median of %d", median, rounds)
	if median > 400*time.Millisecond { // the fallback interval is a second
		t.Errorf("a message that others have read already took %v, the median of %v", median, took)
	}
}

// A group's second process takes over partitions that the first releases, and the watcher tells
// it.
func TestWatcherSeesGroups(t *testing.T) { servicetest.EachMySQL(t, testWatcherSeesGroups) }

func testWatcherSeesGroups(t *testing.T, server servicetest.MySQLServer) {
	url := server.URL(t)
	a, b := transport.Open(t, url, logbustest.Settings{}), transport.Open(t, url, logbustest.Settings{})
	sub := sourcetest.Subscriber(a.Driver(), "group", 10)
	_, err := sub.Subscribe(t.Context(), "topic")
	require.NoError(t, err)
	ch := sourcetest.Subscribe(t, b, "group", "topic", 10)
	require.NoError(t, sub.Close())
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} { // of every partition
		sourcetest.Publish(t, b, "topic", logbustest.Keyed(key, "x"))
	}
	for range 6 {
		logbustest.Expect(t, ch, "x")
	}
}
