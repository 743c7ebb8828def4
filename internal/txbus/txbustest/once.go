package txbustest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
	"github.com/millrace-go/millrace/internal/sourcetest"
	"github.com/millrace-go/millrace/sqltx"
)

// ExactlyOnce has a handler that writes, and then fails in some way the first times.
func ExactlyOnce(t *testing.T, tr Transport) {
	url := tr.TxURL(t)
	app := tr.app(t, url)
	b := tr.Open(t, url, logbustest.Settings{DB: app})
	var mu sync.Mutex
	tries := map[string]int{}
	const each = 4
	wrong := map[string]func(ctx context.Context, tx *sql.Tx) error{
		"fine":    func(context.Context, *sql.Tx) error { return nil },
		"failing": func(context.Context, *sql.Tx) error { return errors.New("third party timed out") },
		"panic":   func(context.Context, *sql.Tx) error { panic("a bug") },
		"swallows": func(ctx context.Context, _ *sql.Tx) error {
			//nolint:errcheck // that is the point
			sqltx.Do(ctx, app, func(context.Context, *sql.Tx) error { return errors.New("swallowed") })
			return nil
		},
		"statement": func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `SELECT nothing FROM nowhere`)
			return err
		},
		"killed": func(ctx context.Context, tx *sql.Tx) error {
			if err := tr.Kill(ctx, app, tx); err != nil {
				t.Errorf("kill a connection: %v", err)
			}
			_, err := tx.ExecContext(ctx, `SELECT 1`)
			return err
		},
		"killed and silent": func(ctx context.Context, tx *sql.Tx) error {
			if err := tr.Kill(ctx, app, tx); err != nil {
				t.Errorf("kill a connection: %v", err)
			}
			return nil
		},
	}
	handle := func(m *message.Message) error {
		id := string(m.Payload)
		return sqltx.Do(m.Context(), app, func(ctx context.Context, tx *sql.Tx) error {
			if err := tr.note(ctx, tx, m); err != nil {
				return err
			}
			mu.Lock()
			tries[id]++
			first := tries[id] <= 2
			mu.Unlock()
			var kind string
			var n int
			if _, err := fmt.Sscanf(id, "%q %d", &kind, &n); err != nil {
				t.Error(err)
			}
			if first {
				return wrong[kind](ctx, tx)
			}
			return nil
		})
	}
	stop := runner(t, b, bus.Consumer{
		Topic: "topic", Group: "group", Handler: handle,
		Retry: bus.RetryPolicy{
			MaxRetries: 5, Backoff: bus.Backoff{Initial: time.Millisecond, Max: time.Millisecond},
			Probe: bus.Backoff{Initial: time.Millisecond, Max: time.Millisecond},
		},
	})
	for n := range each {
		for kind := range wrong {
			sourcetest.Publish(t, b, "topic", logbustest.Keyed(kind, fmt.Sprintf("%q %d", kind, n)))
		}
	}
	all := each * len(wrong)
	eventually(t, "all are handled", func() bool {
		lag, err := b.Lag(t.Context())
		return err == nil && len(done(t, app)) == all && lagOf(lag) == 0
	})
	stop()
	for id, n := range done(t, app) {
		if n != 1 {
			t.Errorf("%s was written down %d times, after %d tries", id, n, tries[id])
		}
	}
	if got := logbustest.Payloads(t, b, "topic.DLT"); len(got) > 0 {
		t.Errorf("dead letters: %q", got)
	}
	for id, n := range tries {
		if n > 1 {
			return // it did fail at least once
		}
		_ = id
	}
	t.Error("nothing went wrong, so nothing is proven")
}

// Conflict has a handler whose write conflicts with a commit behind its transaction's snapshot. app
// is a pool whose transactions keep the snapshot of their first statement.
func Conflict(t *testing.T, tr Transport, url string, app *sql.DB) {
	b := tr.Open(t, inTx(url), logbustest.Settings{DB: app})
	others := tr.app(t, url)
	if _, err := others.Exec(`INSERT INTO done (id) VALUES ('0')`); err != nil {
		t.Fatal(err)
	}
	runs := 0
	runner(t, b, bus.Consumer{
		Topic: "topic", Group: "group", Retry: bus.FixedRetry(time.Millisecond, 2),
		Handler: func(m *message.Message) error {
			return sqltx.Do(m.Context(), app, func(ctx context.Context, tx *sql.Tx) error {
				if runs++; runs == 1 {
					if _, err := others.Exec(`UPDATE done SET id = '1'`); err != nil {
						return err
					}
				}
				_, err := tx.ExecContext(ctx, `UPDATE done SET id = '2'`)
				return err
			})
		},
	})
	sourcetest.Publish(t, b, "topic", logbustest.Keyed("k", "1"))
	eventually(t, "the message is settled", func() bool {
		lag, err := b.Lag(t.Context())
		return err == nil && lagOf(lag) == 0
	})
	if got := logbustest.Payloads(t, b, "topic.DLT"); len(got) > 0 || done(t, app)["2"] != 1 {
		t.Errorf("after %d runs the rows are %v, and the dead letters %q", runs, done(t, app), got)
	}
}

func lagOf(all []bus.Lag) (n int) {
	for _, l := range all {
		if l.Topic == "topic" {
			n += l.Messages
		}
	}
	return n
}
