package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/sqltx"
)

// A replay that is killed while it forgets keys has not moved its group; the same command
// completes the replay.
func TestKilledReplay(t *testing.T) {
	const n, topic, group = 10_000, "orders", "stats"
	path := filepath.Join(t.TempDir(), "app.db")
	b, err := bus.Open(t.Context(), "sqlite://"+path, sqlitebus.Scheme(sqlitebus.Config{Logger: slog.New(slog.DiscardHandler)}))
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}))
	db, err := sqlitedb.Open(path, sqlitedb.Config{})
	require.NoError(t, err)
	defer db.Close()
	store, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: sqltx.SQLite})
	if err == nil {
		err = store.Migrate(t.Context())
	}
	require.NoError(t, err)
	var messages []*message.Message
	var records []driver.Record
	var keys []string
	for i := range n {
		e, err := event.New("OrderPlaced", "/shop", i)
		require.NoError(t, err)
		m, err := event.Structured{}.Encode(e)
		require.NoError(t, err)
		key := group + ":" + e.ID
		messages, records, keys = append(messages, m), append(records, driver.Record{Key: key}), append(keys, key)
	}
	// The group has handled all messages.
	require.NoError(t, b.Publisher().Publish(topic, messages...))
	_, err = b.ResetGroup(t.Context(), topic, group, bus.Place{Latest: true}, false)
	require.NoError(t, err)
	_, err = store.OnceBatch(t.Context(), records, func(context.Context, []int) error { return nil })
	require.NoError(t, err)
	state := func() (recorded, lag int) {
		t.Helper()
		recorded, err := store.Recorded(t.Context(), keys)
		require.NoError(t, err)
		lags, err := b.Lag(t.Context())
		if err != nil || len(lags) != 1 {
			t.Fatalf("the lag is %v: %v", lags, err)
		}
		return recorded, lags[0].Messages
	}
	if recorded, lag := state(); recorded != n || lag != 0 {
		t.Fatalf("at the beginning %d keys and a lag of %d", recorded, lag)
	}

	// The transaction that deletes the key in the middle never ends.
	_, err = db.ExecContext(t.Context(), `CREATE TRIGGER stuck BEFORE DELETE ON event_handled WHEN old.idempotency_key = '`+keys[n/2+500]+`'
		BEGIN SELECT count(*) FROM (WITH RECURSIVE forever(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM forever) SELECT i FROM forever); END`)
	require.NoError(t, err)
	replay := []string{"replay", "--topic", topic, "--group", group, "--since", "1h", "--again", "--yes", "--bus", "sqlite://" + path, "--keys", "sqlite://" + path}
	cmd := millrace(replay...)
	require.NoError(t, cmd.Start())
	stop := context.AfterFunc(t.Context(), func() { _ = cmd.Process.Kill() }) // however the test ends
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for recorded := n; recorded > n/2; {
		select {
		case err := <-ended:
			t.Fatalf("it ended before it was killed: %v", err)
		case <-time.After(time.Millisecond):
		}
		recorded, _ = state()
	}
	require.NoError(t, cmd.Process.Kill())
	<-ended
	if recorded, lag := state(); recorded != n/2 || lag != 0 {
		t.Errorf("killed, it leaves %d keys and a lag of %d; want %d and a group that has not moved", recorded, lag, n/2)
	}
	_, err = db.ExecContext(t.Context(), `DROP TRIGGER stuck`)
	require.NoError(t, err)

	out, err := millrace(replay...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("the group gets %d messages again", n)) {
		t.Errorf("again: %v\n%s", err, out)
	}
	if recorded, lag := state(); recorded != 0 || lag != n {
		t.Errorf("at the end %d keys and a lag of %d, want 0 and %d", recorded, lag, n)
	}
}
