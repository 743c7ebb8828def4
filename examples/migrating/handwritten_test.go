package migrating_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/migrating"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
)

// handWritten is a town whose old side is a handwritten outbox.
func handWritten(t *testing.T, postgres bool) (*town, migrating.HandWritten) {
	t.Helper()
	w := &town{turns: migrating.Switch{Postgres: postgres}, to: listen()}
	if postgres {
		w.db = servicetest.Postgres(t)
		store, err := pgoutbox.New(w.db, pgoutbox.Config{})
		require.NoError(t, err)
		w.store = store
		must(t, store.Migrate(t.Context()))
	} else {
		// The same as sqliteoutbox.Open, with a short busy timeout.
		db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "app.db")+"?_txlock=immediate&_pragma=busy_timeout(300)&_pragma=journal_mode(WAL)")
		must(t, err)
		db.SetMaxOpenConns(1)
		t.Cleanup(func() { db.Close() })
		store, err := sqliteoutbox.New(db, sqliteoutbox.Config{})
		require.NoError(t, err)
		w.db, w.store = db, store
		must(t, store.Migrate(t.Context()))
	}
	old := migrating.HandWritten{DB: w.db, Postgres: postgres}
	must(t, old.Make(t.Context()))
	must(t, w.found(t.Context()))
	w.old = func(ctx context.Context, tx *sql.Tx, m *message.Message) error { return old.Append(ctx, tx, orders, m) }
	return w, old
}

func must(t *testing.T, err error) {
	t.Helper()
	require.NoError(t, err)
}

// poll runs the old relay; stop ends it when no message waits on its side.
func (w *town) poll(ctx context.Context, old migrating.HandWritten) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		for {
			last := ctx.Err() != nil // nobody writes there any more
			n, err := old.Publish(context.WithoutCancel(ctx), w.to)
			if err != nil {
				done <- err
				return
			}
			if n > 0 {
				continue
			}
			if last {
				done <- nil
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() error { cancel(); return <-done }
}

func bothDatabases(t *testing.T, test func(t *testing.T, postgres bool)) {
	t.Run("sqlite", func(t *testing.T) { test(t, false) })
	t.Run("postgres", func(t *testing.T) { test(t, true) })
}

// some is how many events each part of a move sees.
const some = 100

// TestHandWritten moves from a handwritten outbox to package outbox, back, and again,
// while eight writers write.
func TestHandWritten(t *testing.T) {
	bothDatabases(t, func(t *testing.T, postgres bool) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		w, old := handWritten(t, postgres)
		stopWriters := w.writers(ctx)
		for range 2 {
			stopOld := w.poll(ctx, old)
			must(t, w.to.until(ctx, w.to.count()+some))
			must(t, w.turns.Turn(ctx, w.db, migrating.New))
			must(t, stopOld()) // it has published all that was on its side
			if n, err := old.Waiting(ctx); n > 0 || err != nil {
				t.Fatalf("%d messages wait on the side that nobody writes to (%v)", n, err)
			}
			stopNew, err := w.relay(ctx)
			must(t, err)
			must(t, w.to.until(ctx, w.to.count()+some))
			must(t, w.turns.Turn(ctx, w.db, migrating.Old)) // and back
			must(t, stopNew(true))
		}
		must(t, stopWriters())
		must(t, w.poll(ctx, old)())
		w.judge(t)
	})
}

func (w *town) judge(t *testing.T) {
	t.Helper()
	committed, err := w.committed(t.Context())
	must(t, err)
	for _, wrong := range w.to.judge(committed) {
		t.Error(wrong)
	}
	t.Logf("%d events of %d keys", w.to.count(), len(committed))
}

// TestRelayTooEarlyBreaksTheOrder leaves out a step of the move: the new relay
// starts while the old side is not empty.
func TestRelayTooEarlyBreaksTheOrder(t *testing.T) {
	w, old := handWritten(t, false)
	ctx := t.Context()
	must(t, w.write(ctx, "order-1"))
	must(t, w.turns.Turn(ctx, w.db, migrating.New))
	must(t, w.write(ctx, "order-1"))
	stop, err := w.relay(ctx)
	must(t, err)
	must(t, stop(true))
	must(t, w.poll(ctx, old)())
	committed, err := w.committed(ctx)
	must(t, err)
	if wrong := w.to.judge(committed); len(wrong) == 0 || !strings.Contains(strings.Join(wrong, "\n"), "2 came after 0") {
		t.Errorf("without the wait the order should break, and the judge says %q", wrong)
	}
}

// TestSideReadTooEarlyLosesEvents: a writer asks for its side before its transaction,
// and the switch does not wait for it.
func TestSideReadTooEarlyLosesEvents(t *testing.T) {
	w, old := handWritten(t, false)
	ctx := t.Context()
	var side migrating.Side
	must(t, w.db.QueryRowContext(ctx, `SELECT side FROM outbox_switch`).Scan(&side))
	must(t, w.turns.Turn(ctx, w.db, migrating.New))
	must(t, w.poll(ctx, old)()) // the old relay ends for good
	tx, err := w.db.BeginTx(ctx, nil)
	must(t, err)
	must(t, w.move(ctx, tx, "order-1", side))
	must(t, tx.Commit())
	stop, err := w.relay(ctx)
	must(t, err)
	must(t, stop(true))
	committed, err := w.committed(ctx)
	must(t, err)
	if wrong := w.to.judge(committed); len(wrong) != 1 || !strings.Contains(wrong[0], "0 was published last, 1 is committed") {
		t.Errorf("a side that is read too early should lose the event, and the judge says %q", wrong)
	}
}

// TestTurnWaits: Turn waits for a transaction that was told the old side.
func TestTurnWaits(t *testing.T) {
	bothDatabases(t, func(t *testing.T, postgres bool) {
		w, _ := handWritten(t, postgres)
		w.db.SetMaxOpenConns(4)
		tx, err := w.db.BeginTx(t.Context(), nil)
		must(t, err)
		side, err := w.turns.Side(t.Context(), tx)
		must(t, err)
		short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		require.Errorf(t, w.turns.Turn(short, w.db, migrating.New), "the switch turned beside a transaction of the %s side", side)
		must(t, tx.Commit())
		must(t, w.turns.Turn(t.Context(), w.db, migrating.New))
		tx, err = w.db.BeginTx(t.Context(), nil)
		must(t, err)
		defer tx.Rollback()
		if side, err := w.turns.Side(t.Context(), tx); side != migrating.New || err != nil {
			t.Errorf("after the switch transactions are told %q (%v)", side, err)
		}
	})
}
