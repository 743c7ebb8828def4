package cli_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// shards is not the default, as an application may choose.
const shards = 3

type box interface {
	driver.Store
	driver.Parking
	driver.Inspector
	Migrate(ctx context.Context) error
}

// store makes an application's store.
func (p place) store(t *testing.T, db *sql.DB, kind string) box {
	t.Helper()
	var b box
	var err error
	switch p.name + " " + kind {
	case "sqlite cursor":
		b, err = sqliteoutbox.New(db, sqliteoutbox.Config{Shards: shards})
	case "sqlite status":
		b, err = sqliteoutbox.New(db, sqliteoutbox.Config{Status: true, Shards: shards})
	case "postgres cursor":
		b, err = pgoutbox.New(db, pgoutbox.Config{Shards: shards})
	case "postgres status":
		b, err = pgoutbox.New(db, pgoutbox.Config{Status: true, Shards: shards})
	case "mariadb cursor", "mysql cursor":
		b, err = mysqloutbox.New(db, mysqloutbox.Config{Shards: shards})
	case "mariadb status", "mysql status":
		b, err = mysqloutbox.New(db, mysqloutbox.Config{Status: true, Shards: shards})
	}
	if err == nil {
		err = b.Migrate(t.Context())
	}
	require.NoError(t, err)
	return b
}

// picky refuses messages of the topic "poison", and accepts the rest.
type picky struct{}

func (picky) Publish(topic string, _ ...*message.Message) error {
	if topic == "poison" {
		return fault.MarkPermanent(errors.New("refused \x1b[31mfor ever"))
	}
	return nil
}
func (picky) Close() error { return nil }

// appendTo appends n events of different keys.
func appendTo(t *testing.T, db *sql.DB, b box, topic string, n int) {
	t.Helper()
	o, err := outbox.New(b, outbox.Config{Topic: topic})
	require.NoError(t, err)
	err = sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
		for i := range n {
			e, err := event.New("SeatHeld", "/test", i)
			if err != nil {
				return err
			}
			e.AggregateID = fmt.Sprint(topic, i)
			if err := o.Append(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = o.Close(t.Context())
	}
	require.NoError(t, err)
}

// park runs a relay that parks n events and publishes others, until none waits.
func park(t *testing.T, db *sql.DB, b box, n int) {
	t.Helper()
	appendTo(t, db, b, "poison", n)
	appendTo(t, db, b, "orders", 4*n) // so that the relay sees that others are published
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	counts := func(ctx context.Context) (waiting, parked int) {
		shards, err := b.Stats(ctx)
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		for _, s := range shards {
			waiting, parked = waiting+s.Backlog, parked+s.Parked
		}
		return waiting, parked
	}
	quick := outbox.Backoff{Initial: time.Millisecond, Max: time.Millisecond}
	relay, err := outbox.NewRelay(b, picky{}, outbox.RelayConfig{
		Ordering: outbox.ByKey, MaxAge: time.Millisecond, MaxRetries: 1, Retry: quick, Pause: quick, Interval: 50 * time.Millisecond,
		DeadLetter: func(string) string { return "" }, Logger: slog.New(slog.DiscardHandler),
		Hooks: outbox.Hooks{Round: func(int, time.Duration, int) {
			if waiting, parked := counts(ctx); waiting == 0 && parked == n {
				cancel()
			}
		}},
	})
	require.NoError(t, err)
	require.NoError(t, relay.Run(ctx))
	if waiting, parked := counts(t.Context()); waiting != 0 || parked != n {
		t.Fatalf("%d events wait and %d were parked, want 0 and %d", waiting, parked, n)
	}
}

type shard struct {
	Kind                            string
	Backlog, Aside, Failing, Parked int
	Oldest                          *time.Time
}

func sum(t *testing.T, r run) (backlog, parked, n int) {
	t.Helper()
	for _, s := range read[[]shard](t, r) {
		backlog, parked, n = backlog+s.Backlog, parked+s.Parked, n+1
	}
	return backlog, parked, n
}

func TestOutbox(t *testing.T) {
	eachDatabase(t, func(t *testing.T, p place) {
		db := p.open(t)
		tool(t, "outbox", "status", "--db", p.url).want(t, 1, "has no outbox", "migrate up")
		for _, kind := range []string{"cursor", "status"} {
			b := p.store(t, db, kind)
			at := []string{"--db", p.url, "--kind", kind}
			status := func() run { return tool(t, append([]string{"outbox", "status", "--json"}, at...)...).want(t, 0) }
			if backlog, parked, n := sum(t, status()); backlog != 0 || parked != 0 || n != shards {
				t.Errorf("%s: an empty outbox has %d waiting, %d parked in %d shards", kind, backlog, parked, n)
			}
			tool(t, append([]string{"outbox", "failed"}, at...)...).want(t, 0, "no events were given up")
			park(t, db, b, 5)
			appendTo(t, db, b, "orders", 7)
			if backlog, parked, _ := sum(t, status()); backlog != 7 || parked != 5 {
				t.Errorf("%s: %d wait and %d are parked, want 7 and 5", kind, backlog, parked)
			}
			tool(t, append([]string{"outbox", "status"}, at...)...).want(t, 0, "BACKLOG", kind)

			type failed struct {
				More   bool
				Events []struct {
					ID    int64
					Topic string
				}
			}
			page := read[failed](t, tool(t, append([]string{"outbox", "failed", "--limit", "2", "--json"}, at...)...).want(t, 0))
			if len(page.Events) != 2 || !page.More || page.Events[0].Topic != "poison" {
				t.Fatalf("%s: the first page is %+v", kind, page)
			}
			last := strconv.FormatInt(page.Events[1].ID, 10)
			shown := tool(t, append([]string{"outbox", "failed", "--limit", "2"}, at...)...).want(t, 0, "poison", "--after "+last)
			assert.NotContainsf(t, shown.out, "\x1b", "%s: an error commands the terminal: %q", kind, shown.out)
			rest := read[failed](t, tool(t, append([]string{"outbox", "failed", "--after", last, "--json"}, at...)...).want(t, 0))
			if len(rest.Events) != 3 || rest.More {
				t.Errorf("%s: the rest is %+v", kind, rest)
			}

			tool(t, append([]string{"outbox", "retry"}, at...)...).want(t, 2, "--all")
			tool(t, append([]string{"outbox", "retry", last, "--all"}, at...)...).want(t, 2)
			tool(t, append([]string{"outbox", "retry", "x"}, at...)...).want(t, 2, `"x" is no id`)
			tool(t, append([]string{"outbox", "retry", "--all"}, at...)...).want(t, 2, "--yes")
			tool(t, append([]string{"outbox", "retry", last, "999999"}, at...)...).want(t, 1, "1 event given back", "1 of the 2 ids")
			if backlog, parked, _ := sum(t, status()); backlog != 8 || parked != 4 {
				t.Errorf("%s: after one retry %d wait and %d are parked, want 8 and 4", kind, backlog, parked)
			}
			tool(t, append([]string{"outbox", "retry", "--all", "--yes"}, at...)...).want(t, 0, "4 events given back")
			if backlog, parked, _ := sum(t, status()); backlog != 12 || parked != 0 {
				t.Errorf("%s: after all retries %d wait and %d are parked, want 12 and 0", kind, backlog, parked)
			}
			tool(t, append([]string{"outbox", "retry", "--all"}, at...)...).want(t, 0, "no events were given up")
		}
		// If both kinds exist, status shows both, and commands that change one require --kind.
		if _, _, n := sum(t, tool(t, "outbox", "status", "--json", "--db", p.url).want(t, 0)); n != 2*shards {
			t.Errorf("status shows %d shards of both kinds", n)
		}
		tool(t, "outbox", "failed", "--db", p.url).want(t, 2, "--kind")
		tool(t, "outbox", "status", "--db", p.url, "--kind", "queue").want(t, 2, "cursor or status")
	})
}

// Many events are retried in transactions of 500, each reported, in their order. Events
// that are parked meanwhile stay, and an interruption leaves the rest parked.
func TestOutboxRetryOfMany(t *testing.T) {
	eachDatabase(t, func(t *testing.T, p place) {
		const n = 1024
		db := p.open(t)
		park(t, db, p.store(t, db, "cursor"), 1)
		others := `shard, topic, message_id, message_key, headers, payload, created_at, attempts, last_error, first_failed_at, failed_at`
		for have := 1; have < n; have *= 2 {
			_, err := db.Exec(fmt.Sprintf(`INSERT INTO outbox_failed (id, %s) SELECT id + %d, %s FROM outbox_failed`, others, have, others))
			require.NoError(t, err)
		}
		at := []string{"--db", p.url, "--json"}
		parked := func() int {
			_, parked, _ := sum(t, tool(t, append([]string{"outbox", "status"}, at...)...).want(t, 0))
			return parked
		}

		// A person at a terminal answers, sees the first step, and presses Ctrl-C.
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		watch := writer(func(line []byte) {
			if strings.Contains(string(line), "500 of 1024 given back") {
				cancel()
			}
		})
		stopped := toolWith(ctx, cli.Streams{In: strings.NewReader("y\n"), Asks: true, Err: watch}, append([]string{"outbox", "retry", "--all"}, at...)...).
			want(t, 130, "the rest is parked", "interrupted")
		type outcome struct {
			Asked, Retried int
			Missing        []int64
			Error          string
		}
		first := read[outcome](t, stopped)
		if left := parked(); first.Retried < 500 || first.Retried > 1000 || first.Asked != n || first.Error == "" || left != n-first.Retried {
			t.Errorf("%+v, and %d are parked", first, left)
		}
		assert.NotContainsf(t, stopped.out, "given back", "progress on the standard output: %s", stopped.out)
		rest := read[outcome](t, tool(t, append([]string{"outbox", "retry", "--all", "--yes"}, at...)...).want(t, 0))
		if rest.Retried != n-first.Retried || rest.Missing == nil || parked() != 0 {
			t.Errorf("the rest: %+v, and %d are parked", rest, parked())
		}
		missing := read[outcome](t, tool(t, append([]string{"outbox", "retry", "999998", "999999", "999998"}, at...)...).want(t, 1, "2 of the 2 ids"))
		if missing.Asked != 2 || len(missing.Missing) != 2 || missing.Missing[0] != 999998 {
			t.Errorf("of ids that are not there: %+v", missing)
		}
	})
}

func TestOutboxRebase(t *testing.T) {
	eachDatabase(t, func(t *testing.T, p place) {
		db := p.open(t)
		b := p.store(t, db, "cursor")
		appendTo(t, db, b, "orders", 3)
		at := []string{"outbox", "rebase", "--db", p.url}
		tool(t, at...).want(t, 2, "--since")
		tool(t, append(at, "--since", "yesterday")...).want(t, 2, "2026-03-01T19:00:00Z")
		tool(t, append(at, "--since", "1h")...).want(t, 2, "--yes")
		tool(t, append(at, "--since", "1h", "--yes")...).want(t, 0, "relays go on")
		if backlog, _, _ := sum(t, tool(t, "outbox", "status", "--json", "--db", p.url).want(t, 0)); backlog != 3 {
			t.Errorf("%d events wait after the rebase, want 3", backlog)
		}
	})
}

func TestDebezium(t *testing.T) {
	got := tool(t, "outbox", "debezium", "--db", "postgres://app:geheim@db.example:5433/shop?search_path=sales").want(t, 0,
		"database.hostname=db.example", "database.port=5433", "database.dbname=shop", "table.include.list=sales.outbox_messages",
		"database.user=debezium", "PostgresConnector")
	assert.NotContains(t, got.out, "geheim", "the password is printed")
	tool(t, "outbox", "debezium", "--connector", "mariadb", "--host", "h", "--database", "d", "--kind", "status", "--format", "json").want(t, 0,
		`"connector.class": "io.debezium.connector.mariadb.MariaDbConnector"`, `"table.include.list": "d.outbox_events"`)
	tool(t, "outbox", "debezium", "--db", "mysql://u:p@h/d", "--host", "inside").want(t, 0, "database.hostname=inside", "MySqlConnector")
	tool(t, "outbox", "debezium", "--db", "sqlite://a.db").want(t, 2, "Debezium reads")
	tool(t, "outbox", "debezium").want(t, 2, "--connector")
	tool(t, "outbox", "debezium", "--connector", "postgres", "--format", "xml").want(t, 2, "properties or json")
}
