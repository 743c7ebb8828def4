package migrating_test

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/pgbus"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

// statements are the SQL blocks of a page.
func statements(t *testing.T, page string) (out []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	must(t, err)
	for _, part := range strings.Split(string(text), "```sql\n")[1:] {
		block, _, ok := strings.Cut(part, "```")
		require.Truef(t, ok, "%s has an SQL block that does not end", page)
		out = append(out, block)
	}
	return out
}

// TestRunbookSQL runs the SQL of docs/operating.md on PostgreSQL. A block for
// another server, or for a standby, names it in a second word behind sql.
func TestRunbookSQL(t *testing.T) {
	db := withBus(t, servicetest.PostgresURL(t), nil)
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	must(t, err)
	must(t, store.Migrate(t.Context()))
	blocks := statements(t, "operating.md")
	if len(blocks) < 5 {
		t.Fatalf("docs/operating.md has %d SQL blocks", len(blocks))
	}
	for _, block := range blocks {
		if _, err := db.ExecContext(t.Context(), block); err != nil {
			t.Errorf("%v\n%s", err, block)
		}
	}
}

// TestMigratingSQL compares the queries of docs/migrating.md with those of the
// tests.
func TestMigratingSQL(t *testing.T) {
	plain := func(s string) string {
		return strings.Join(strings.Fields(strings.TrimSuffix(strings.TrimSpace(s), ";")), " ")
	}
	var seen []string
	for _, block := range statements(t, "migrating.md") {
		seen = append(seen, plain(block))
	}
	for _, want := range []string{undelivered, "SELECT count(*) FROM old_outbox WHERE published_at IS NULL"} {
		assert.Containsf(t, strings.Join(seen, "\n"), plain(want), "docs/migrating.md does not show\n%s", want)
	}
}

// withBus opens postgres:// with a topic and a group, and hands it to use.
func withBus(t *testing.T, url string, use func(*bus.Bus)) *sql.DB {
	t.Helper()
	db, err := pgdb.Open(url)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	b, err := bus.Open(t.Context(), url, pgbus.Scheme(pgbus.Config{DB: db, Logger: slog.New(slog.DiscardHandler)}))
	must(t, err)
	defer b.Close()
	must(t, b.Declare(t.Context(), bus.Topic{Name: "orders", Groups: []string{group}}))
	if use != nil {
		use(b)
	}
	return db
}

// read returns the messages of the group once it has n of them.
func read(t *testing.T, b *bus.Bus, n int) (payloads []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	runner, err := bus.NewRunner(b, bus.RunnerConfig{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	must(t, runner.Add(bus.Consumer{Topic: "orders", Group: group, Concurrency: 1, Handler: func(m *message.Message) error {
		if payloads = append(payloads, string(m.Payload)); len(payloads) == n {
			cancel()
		}
		return nil
	}}))
	must(t, runner.Run(ctx))
	return payloads
}

// TestRestoredBus follows docs/operating.md after a dump of the transport's tables
// was restored on another server: a group that was refused receives all stored
// messages, and the new ones.
func TestRestoredBus(t *testing.T) {
	url := servicetest.PostgresURL(t)
	publish := func(b *bus.Bus, id string) {
		must(t, b.Publisher().Publish("orders", message.NewMessage(id, []byte(id))))
	}
	db := withBus(t, url, func(b *bus.Bus) {
		publish(b, "handled")
		require.Len(t, read(t, b, 1), 1, "the group")
		publish(b, "unread")
	})
	// The tables after the restore: another system id, transaction ids of the future.
	for _, s := range []string{`UPDATE bus_cursors SET system_id = system_id + 1`, `UPDATE bus_messages SET xid = '90000000000000'`} {
		_, err := db.ExecContext(t.Context(), s)
		must(t, err)
	}
	var repair string
	for _, block := range statements(t, "operating.md") {
		if strings.Contains(block, "DELETE FROM bus_cursors") {
			repair = block
		}
	}
	if repair == "" {
		t.Fatal("docs/operating.md does not say how to restore the transport")
	}
	_, err := db.ExecContext(t.Context(), repair)
	must(t, err)
	var foreign int // rows that would never be old enough to be pruned
	must(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM bus_messages WHERE xid > pg_current_xact_id()`).Scan(&foreign))
	if foreign > 0 {
		t.Errorf("%d rows have transaction ids of the other server", foreign)
	}
	withBus(t, url, func(b *bus.Bus) {
		publish(b, "new")
		if got := strings.Join(read(t, b, 3), " "); !strings.HasPrefix(got, "handled unread") || !strings.HasSuffix(got, "new") {
			t.Errorf("the group got %q, want all that is there", got)
		}
	})
}
