package sqlitebus_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/sqltx"
)

func openBus(t testing.TB, cfg sqlitebus.Config, url string) *bus.Bus {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	b, err := bus.NewOpener(sqlitebus.Scheme(cfg)).Open(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

func publish(t testing.TB, b *bus.Bus, topic string, messages ...*message.Message) {
	t.Helper()
	if err := b.Publisher().Publish(topic, messages...); err != nil {
		t.Fatal(err)
	}
}

func keyed(key, payload string) *message.Message {
	m := message.NewMessage(payload, []byte(payload))
	m.Metadata.Set(event.KeyHeader, key)
	return m
}

func subscribe(t testing.TB, b *bus.Bus, group, topic string, window int) <-chan *message.Message {
	t.Helper()
	sub, err := b.Driver().Subscriber(group, window)
	if err != nil {
		t.Fatal(err)
	}
	ch, err := sub.Subscribe(context.WithoutCancel(t.Context()), topic)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func receive(t testing.TB, ch <-chan *message.Message) *message.Message {
	t.Helper()
	select {
	case m, ok := <-ch:
		if !ok {
			t.Fatal("the channel is closed")
		}
		return m
	case <-time.After(10 * time.Second):
		t.Fatal("no message within 10s")
		return nil
	}
}

func TestURLs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.MkdirAll(filepath.Join(dir, "sub", "my dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	for url, file := range map[string]string{
		"sqlite://app.db":   "app.db",
		"sqlite://./dot.db": "dot.db",
		"sqlite://sub/app.db?partitions=5&retention=10m": "sub/app.db",
		"sqlite://" + dir + "/absolute.db":               "absolute.db",
		"sqlite://sub/my%20dir/a%3Fb%23c.db":             "sub/my dir/a?b#c.db",
		"sqlite://sub/normal.db?synchronous=normal":      "sub/normal.db",
	} {
		b := openBus(t, sqlitebus.Config{}, url)
		publish(t, b, "topic", keyed("k", "1"))
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestURLErrors(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "text.db"), bytes.Repeat([]byte("no database"), 500), 0o600); err != nil {
		t.Fatal(err)
	}
	o := bus.NewOpener(sqlitebus.Scheme(sqlitebus.Config{}))
	for url, want := range map[string]string{
		"sqlite://" + dir + "/a.db?partition=3":      `"partition"`,
		"sqlite://" + dir + "/a.db?partitions=none":  `"partitions"`,
		"sqlite://" + dir + "/a.db?partitions=0":     `"partitions"`,
		"sqlite://" + dir + "/a.db?partitions=99999": "Partitions",
		"sqlite://" + dir + "/a.db?retention=-1h":    `"retention"`,
		"sqlite://" + dir + "/a.db?synchronous=off":  `"synchronous"`,
		"sqlite://":                         "no file",
		"sqlite:///":                        "no file",
		"sqlite://user:secret@host/a.db":    "no user",
		"sqlite://" + dir + "/a.db#x":       "%23",
		"sqlite://" + dir + "/missing/a.db": "does not exist",
		"sqlite://" + dir:                   "folder",
		"sqlite://" + dir + "/text.db":      "not a SQLite database",
	} {
		b, err := o.Open(t.Context(), url)
		if err == nil {
			b.Close()
			t.Errorf("%s was opened", url)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want it to say %s", url, err, want)
		}
	}
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
		if (err == nil) != tc.ok {
			t.Errorf("declare %s with %d partitions: %v, want ok: %t", tc.topic, tc.partitions, err, tc.ok)
		}
		if err != nil && (fault.Of(err) != fault.Permanent || !strings.Contains(err.Error(), tc.topic)) {
			t.Errorf("the error is %v (%v)", err, fault.Of(err))
		}
	}
	// Another process with another default takes the topic as it is.
	other := openBus(t, sqlitebus.Config{Partitions: 2}, "sqlite://"+path)
	publish(t, other, "made", keyed("k", "2"))
	if got, err := b.Browse(t.Context(), "made", 10); err != nil || len(got) != 2 {
		t.Errorf("browse found %d messages (%v), want 2", len(got), err)
	}
}

// Topics made by several processes at once get lanes of their own.
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
				if err := b.Publisher().Publish(topic, keyed(fmt.Sprint(i), topic)); err != nil {
					t.Error(err)
				}
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

// What another process publishes arrives by the watcher, long before the
// fallback interval.
func TestOtherProcessWakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	a := openBus(t, sqlitebus.Config{}, "sqlite://"+path+"?synchronous=normal")
	b := openBus(t, sqlitebus.Config{}, "sqlite://"+path+"?synchronous=normal")
	ch := subscribe(t, b, "group", "topic", 10)
	publish(t, a, "topic", keyed("k", "0"))
	receive(t, ch).Ack()
	var sum time.Duration
	const rounds = 8
	for range rounds {
		started := time.Now()
		publish(t, a, "topic", keyed("k", "x"))
		receive(t, ch).Ack()
		sum += time.Since(started)
	}
	if mean := sum / rounds; mean > 300*time.Millisecond {
		t.Errorf("a message of another process took %v on average", mean)
	}
}

// appDB is an application's own file with a table and pools.
func appDB(t *testing.T) (path string, db, reader *sql.DB) {
	t.Helper()
	path, db = servicetest.SQLite(t)
	if _, err := db.Exec(`CREATE TABLE seats (id TEXT PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	reader, err := sqlitedb.OpenReader(path, sqlitedb.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	return path, db, reader
}

// A handler that writes the same file in its own transaction, and publishes in
// it, works on one shared connection: nothing of the bus is open meanwhile.
func TestHandlerWritesTheSameFile(t *testing.T) {
	path, db, reader := appDB(t)
	b := openBus(t, sqlitebus.Config{DB: db, ReadDB: reader}, "sqlite://"+path)
	ch := subscribe(t, b, "group", "requests", 10)
	answers := subscribe(t, b, "group", "answers", 10)
	const n = 50
	for i := range n {
		publish(t, b, "requests", keyed(fmt.Sprint(i), fmt.Sprint(i)))
	}
	go func() {
		for range n {
			m := <-ch
			go func() {
				err := sqltx.Do(m.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
					if _, err := tx.ExecContext(ctx, `INSERT INTO seats VALUES (?)`, string(m.Payload)); err != nil {
						return err
					}
					answer := keyed(string(m.Payload), string(m.Payload))
					answer.SetContext(ctx)
					return b.Publisher().Publish("answers", answer)
				})
				if err != nil {
					t.Error(err)
				}
				m.Ack()
			}()
		}
	}()
	for range n {
		receive(t, answers).Ack()
	}
	var seats int
	if err := reader.QueryRow(`SELECT count(*) FROM seats`).Scan(&seats); err != nil || seats != n {
		t.Errorf("%d seats (%v), want %d", seats, err, n)
	}
}

func TestPublishInTransaction(t *testing.T) {
	path, db, reader := appDB(t)
	b := openBus(t, sqlitebus.Config{DB: db, ReadDB: reader}, "sqlite://"+path)
	send := func(topic, payload string, fail error) (late *message.Message) {
		err := sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
			m := keyed("k", payload)
			m.SetContext(ctx)
			late = m
			if err := b.Publisher().Publish(topic, m); err != nil {
				return err
			}
			return fail
		})
		if !errors.Is(err, fail) {
			t.Fatal(err)
		}
		return late
	}
	browse := func(topic string, want ...string) {
		t.Helper()
		got, err := b.Browse(t.Context(), topic, 10)
		var payloads []string
		for _, m := range got {
			payloads = append(payloads, string(m.Payload))
		}
		if err != nil || fmt.Sprint(payloads) != fmt.Sprint(want) {
			t.Errorf("%s holds %q (%v), want %q", topic, payloads, err, want)
		}
	}
	stop := errors.New("roll back")
	// The first publish also makes the topic; both are rolled back, and the
	// topic must not be remembered: its lanes may go to another one.
	send("a", "never", stop)
	send("b", "b1", nil)
	browse("a")
	browse("b", "b1")
	send("a", "a1", nil)
	browse("a", "a1")
	browse("b", "b1")

	ch := subscribe(t, b, "group", "a", 10)
	receive(t, ch).Ack()
	late := send("a", "never", stop)
	send("a", "a2", nil)
	if m := receive(t, ch); string(m.Payload) != "a2" {
		t.Errorf("got %s, want a2", m.Payload)
	} else {
		m.Ack()
	}
	// A message whose context carries a transaction that is over, as a dead
	// letter may, is published by itself.
	publish(t, b, "a", late)
	if m := receive(t, ch); string(m.Payload) != "never" {
		t.Errorf("got %s", m.Payload)
	} else {
		m.Ack()
	}
}

// Config.DB serves the URLs that name its file, and no others.
func TestOtherFileIsNotShared(t *testing.T) {
	path, db, reader := appDB(t)
	other := filepath.Join(t.TempDir(), "other.db")
	cfg := sqlitebus.Config{DB: db, ReadDB: reader}
	publish(t, openBus(t, cfg, "sqlite://"+other), "topic", keyed("k", "1"))
	var tables int
	const count = `SELECT count(*) FROM sqlite_master WHERE name LIKE 'bus_%' AND type = 'table'`
	if err := db.QueryRow(count).Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables of the bus are in the application's file (%v)", tables, err)
	}
	publish(t, openBus(t, cfg, "sqlite://"+path), "topic", keyed("k", "1"))
	if err := db.QueryRow(count).Scan(&tables); err != nil || tables != 4 {
		t.Errorf("%d tables of the bus are in the application's file (%v), want 4", tables, err)
	}
	if err := db.Ping(); err != nil {
		t.Error(err)
	}
}

// While another process holds the write lock, messages wait; afterwards they go
// on, and none is lost.
func TestLockedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	b := openBus(t, sqlitebus.Config{}, "sqlite://"+path+"?synchronous=normal")
	ch := subscribe(t, b, "group", "topic", 4)
	publish(t, b, "topic", keyed("k", "0"))
	receive(t, ch).Ack()

	blocker, err := sqlitedb.Open(path, sqlitedb.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Close()
	tx, err := blocker.Begin()
	if err != nil {
		t.Fatal(err)
	}
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
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := <-done; err != nil {
			t.Error(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	defer spoil.Close()
	if _, err := spoil.Exec(`CREATE TRIGGER full BEFORE INSERT ON bus_messages BEGIN SELECT raise(ABORT, 'refused'); END`); err != nil {
		t.Fatal(err)
	}
	if err := pub.Publish("topic", keyed("k", "2")); fault.Of(err) != fault.Permanent {
		t.Errorf("a refused row: %v (%v), want permanent", err, fault.Of(err))
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := pub.Publish("topic", keyed("k", "3")); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("after Close: %v, want %v", err, bus.ErrClosed)
	}
	if _, err := b.Driver().Subscriber("group", 1); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("a subscriber after Close: %v, want %v", err, bus.ErrClosed)
	}
}

// The printed script makes the same tables as Open.
func TestPrintMigrations(t *testing.T) {
	var script bytes.Buffer
	if err := sqlitebus.PrintMigrations(&script); err != nil {
		t.Fatal(err)
	}
	printed, db := servicetest.SQLite(t)
	if _, err := db.Exec(script.String()); err != nil {
		t.Fatalf("%v in\n%s", err, &script)
	}
	opened := filepath.Join(t.TempDir(), "opened.db")
	openBus(t, sqlitebus.Config{}, "sqlite://"+opened)
	if a, b := schema(t, printed), schema(t, opened); a != b {
		t.Errorf("the printed schema is\n%s\nthe opened one is\n%s", a, b)
	}
	publish(t, openBus(t, sqlitebus.Config{}, "sqlite://"+printed), "topic", keyed("k", "1"))
}

func schema(t *testing.T, path string) string {
	t.Helper()
	db, err := sqlitedb.OpenReader(path, sqlitedb.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT name || ': ' || coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND name LIKE '%bus_%' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out strings.Builder
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		// Comments between statements do not count.
		fmt.Fprintln(&out, strings.Join(strings.Fields(s), " "))
	}
	return out.String()
}
