package txbustest

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"testing"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
	"github.com/millrace-go/millrace/internal/sqlrows"
)

// Transport is the transport under test.
type Transport struct {
	logbustest.Transport
	// Bind returns a statement with one placeholder, as $1 or ?.
	Bind func(statement string) string
	// Kill ends the connection of a transaction on the server.
	Kill func(ctx context.Context, admin *sql.DB, tx *sql.Tx) error
	// Schema and Offsets are Watermill SQL's own adapters, with a payload of
	// bytes.
	Schema  wmsql.SchemaAdapter
	Offsets wmsql.OffsetsAdapter
}

// TxURL returns the URL of a fresh database in mode=tx.
func (tr Transport) TxURL(t testing.TB) string { return inTx(tr.URL(t)) }

func inTx(url string) string {
	if strings.Contains(url, "?") {
		return url + "&mode=tx"
	}
	return url + "?mode=tx"
}

// app is an application's pool on the database of url, with a table of the handled messages.
func (tr Transport) app(t testing.TB, url string) *sql.DB {
	t.Helper()
	at, _, _ := strings.Cut(strings.Replace(url, "mode=tx", "", 1), "?mode")
	db := tr.App(t, strings.TrimRight(at, "?&"), 16)
	if _, err := db.Exec(`CREATE TABLE done (id VARCHAR(100) NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	return db
}

// note records in the transaction that a message was handled.
func (tr Transport) note(ctx context.Context, tx *sql.Tx, m *message.Message) error {
	_, err := tx.ExecContext(ctx, tr.Bind(`INSERT INTO done (id) VALUES (?)`), string(m.Payload))
	return err
}

// done returns how often each message is recorded.
func done(t testing.TB, db *sql.DB) map[string]int {
	t.Helper()
	out := map[string]int{}
	err := sqlrows.Each(context.Background(), db, func(rows *sql.Rows) error {
		var id string
		var n int
		err := rows.Scan(&id, &n)
		out[id] = n
		return err
	}, `SELECT id, COUNT(*) FROM done GROUP BY id`)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// runner runs consumers until stop, which returns Run's error.
func runner(t testing.TB, b *bus.Bus, consumers ...bus.Consumer) (stop func()) {
	t.Helper()
	r, err := bus.NewRunner(b, bus.RunnerConfig{DrainTimeout: 10 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range consumers {
		if err := r.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ran := make(chan error, 1)
	go func() { ran <- r.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("run: %v", err)
		}
	}
	t.Cleanup(stop)
	select {
	case <-r.Running():
	case err := <-ran:
		ran <- err
		stop()
		t.Fatal("the runner did not start")
	}
	return stop
}

// eventually polls until ok returns true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 30s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}
