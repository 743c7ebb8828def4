package debeziumtest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/debezium"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

const perKey, keys = 20, 5

// source is a database that a connector of Debezium reads.
type source struct {
	dialect sqltx.Dialect
	url     func(t testing.TB) string
	open    func(url string) (*sql.DB, error)
	store   func(db *sql.DB, status bool) (migrator, error)
	// seen names the variable that holds the server's address as Kafka Connect
	// sees it, and schema asks for the schema of the tables.
	seen, schema string
	// streaming is called before the connector is made. The returned function
	// reports whether the connector reads the commits from now on.
	streaming func(ctx context.Context, db *sql.DB, o debezium.Options) (func(context.Context) error, error)
	// forget removes the connector's leftovers from the server.
	forget func(ctx context.Context, t *testing.T, db *sql.DB, o debezium.Options)
}

type migrator interface {
	driver.Store
	Migrate(context.Context) error
}

var sources = []source{
	{
		dialect: sqltx.Postgres, url: servicetest.PostgresURL, open: pgdb.Open, seen: "MILLRACE_CONNECT_POSTGRES", schema: `SELECT current_schema()`,
		store: func(db *sql.DB, status bool) (migrator, error) {
			if status {
				return pgoutbox.New(db, pgoutbox.Config{Status: true})
			}
			return pgoutbox.New(db, pgoutbox.Config{})
		},
		streaming: slotIsActive, forget: dropSlot,
	},
	{
		dialect: sqltx.MySQL, url: servicetest.MySQLURL, open: mysqldb.Open, seen: "MILLRACE_CONNECT_MYSQL", schema: `SELECT ''`,
		store: func(db *sql.DB, status bool) (migrator, error) {
			if status {
				return mysqloutbox.New(db, mysqloutbox.Config{Status: true})
			}
			return mysqloutbox.New(db, mysqloutbox.Config{})
		},
		streaming: logIsRead, forget: func(context.Context, *testing.T, *sql.DB, debezium.Options) {},
	},
}

// TestConnector gives the settings to Debezium's own connectors and its outbox
// event router, appends as an application does, and reads the messages on Kafka
// with the consumers that read the relay's messages.
func TestConnector(t *testing.T) {
	for _, from := range sources {
		t.Run(string(from.dialect), func(t *testing.T) {
			connect := servicetest.Env(t, "MILLRACE_CONNECT_URL", "Kafka Connect with Debezium", "http://127.0.0.1:8083")
			brokers := servicetest.Kafka(t)
			for kind, status := range map[string]bool{"cursor": false, "status": true} {
				t.Run(kind, func(t *testing.T) { publishes(t, from, status, connect, brokers) })
			}
		})
	}
}

func publishes(t *testing.T, from source, status bool, connect, brokers string) {
	databaseURL := from.url(t)
	db, err := from.open(databaseURL)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() }) //nolint:errcheck // what is in it is dropped next
	store, err := from.store(db, status)
	if err == nil {
		err = store.Migrate(t.Context())
	}
	require.NoError(t, err)
	topic := "cdc-" + uuid.NewString()[:8]
	consumer := open(t, brokers, topic)
	register(t, connect, from, db, options(t, from, db, databaseURL, status, brokers))

	ob, err := outbox.New(store, outbox.Config{Topic: topic})
	require.NoError(t, err)
	want := appendAll(t, db, ob)
	expect(t, consumer, topic, want)
}

// options are those for tables in a schema or a database of their own.
func options(t *testing.T, from source, db *sql.DB, raw string, status bool, brokers string) debezium.Options {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	addr := u.Host
	if seen := os.Getenv(from.seen); seen != "" {
		addr = seen
	}
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	if seen := os.Getenv("MILLRACE_CONNECT_BROKERS"); seen != "" {
		brokers = seen
	}
	o := debezium.Options{
		Dialect: from.dialect, Status: status, Name: "cdc-" + uuid.NewString()[:8], Brokers: brokers, ServerID: 1000 + rand.IntN(1<<20),
		Host: host, Port: port, User: u.User.Username(), DatabaseName: strings.TrimPrefix(u.Path, "/"),
	}
	require.NoError(t, db.QueryRow(from.schema).Scan(&o.Schema))
	return o
}

// open declares the topic and subscribes to it.
func open(t *testing.T, brokers, topic string) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), "kafka://"+brokers+"/", kafkabus.Scheme(kafkabus.Config{}))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close())
	})
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{"reader"}}))
	return b
}

// register makes the connector and waits until its task reads. At the end the
// connector and its leftovers on the server are removed.
func register(t *testing.T, connect string, from source, db *sql.DB, o debezium.Options) {
	t.Helper()
	streaming, err := from.streaming(t.Context(), db, o)
	require.NoError(t, err)
	var body bytes.Buffer
	require.NoError(t, debezium.WriteJSON(&body, o))
	if code, answer := tell(t.Context(), http.MethodPost, connect+"/connectors", body.Bytes()); code != http.StatusCreated {
		t.Fatalf("the connector was refused: %d %s", code, answer)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if code, answer := tell(ctx, http.MethodDelete, connect+"/connectors/"+o.Name, nil); code != http.StatusNoContent {
			t.Errorf("delete the connector: %d %s", code, answer)
		}
		from.forget(ctx, t, db, o)
	})
	waitFor(t, "a running task that reads", func(ctx context.Context) error {
		_, answer := ask(ctx, http.MethodGet, connect+"/connectors/"+o.Name+"/status", nil)
		var status struct {
			Tasks []struct{ State, Trace string }
		}
		if err := json.Unmarshal(answer, &status); err != nil || len(status.Tasks) != 1 {
			return fmt.Errorf("%s", answer)
		}
		if status.Tasks[0].State == "FAILED" {
			t.Fatalf("the connector's task failed: %s", status.Tasks[0].Trace)
		}
		if status.Tasks[0].State != "RUNNING" {
			return fmt.Errorf("the task is %s", status.Tasks[0].State)
		}
		// Events from before it streams are not in its scope.
		return streaming(ctx)
	})
}

func slotOf(o debezium.Options) string { return strings.ReplaceAll(o.Name, "-", "_") }

func slotIsActive(_ context.Context, db *sql.DB, o debezium.Options) (func(context.Context) error, error) {
	return func(ctx context.Context) error {
		var active bool
		err := db.QueryRowContext(ctx, `SELECT active FROM pg_replication_slots WHERE slot_name = $1`, slotOf(o)).Scan(&active)
		if err == nil && !active {
			err = errors.New("the slot is not active")
		}
		return err
	}, nil
}

// logIsRead waits for a reader of MySQL's binary log that was not there before.
func logIsRead(ctx context.Context, db *sql.DB, _ debezium.Options) (func(context.Context) error, error) {
	newest := func(ctx context.Context) (id int64, err error) {
		err = db.QueryRowContext(ctx, `SELECT COALESCE(MAX(id), 0) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'`).Scan(&id)
		return id, err
	}
	before, err := newest(ctx)
	return func(ctx context.Context) error {
		id, err := newest(ctx)
		if err == nil && id == before {
			err = errors.New("the connector does not read the binary log yet")
		}
		return err
	}, err
}

// dropSlot removes the replication slot, which would keep the server's log.
func dropSlot(ctx context.Context, t *testing.T, db *sql.DB, o debezium.Options) {
	t.Helper()
	name := slotOf(o)
	for {
		_, err := db.ExecContext(ctx, `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1`, name)
		if err == nil {
			break
		}
		select { // the connector is still letting go of it
		case <-ctx.Done():
			t.Errorf("drop the slot: %v", err)
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	_, err := db.ExecContext(ctx, `DROP PUBLICATION IF EXISTS `+name)
	assert.NoError(t, err, "drop the publication")
}

// tell asks for a change, and retries while the workers agree on an earlier one:
// then they answer that there is a conflict.
func tell(ctx context.Context, method, url string, body []byte) (code int, answer []byte) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		code, answer = ask(ctx, method, url, bytes.NewReader(body))
		if code != http.StatusConflict {
			return code, answer
		}
		select {
		case <-ctx.Done():
			return code, answer
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func ask(ctx context.Context, method, url string, body io.Reader) (int, []byte) {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true // leaves no idle connection behind
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer resp.Body.Close() //nolint:errcheck // it is read whole
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return resp.StatusCode, answer
}

func waitFor(t *testing.T, what string, done func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := done(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// appendAll appends events of several keys in turn, each in a transaction of its
// own, with rolled-back ones between them, and returns the committed ones.
func appendAll(t *testing.T, db *sql.DB, ob *outbox.Outbox) map[string][]event.Event {
	t.Helper()
	want := map[string][]event.Event{}
	undo := errors.New("rolled back on purpose")
	for n := range perKey {
		for k := range keys {
			e := event.Event{
				ID: uuid.NewString(), Type: "SeatHeld", Source: "test", Time: time.Now().UTC(), Version: "v1",
				AggregateType: "seat", AggregateID: fmt.Sprintf("좌석-%d", k), Sequence: uint64(n + 1),
				CorrelationID: "c-1", Data: []byte(fmt.Sprintf(`{"n": %d, "text": "it's \"quoted\" 한글"}`, n)),
			}
			err := sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
				if err := ob.Append(ctx, tx, e); err != nil {
					return err
				}
				if (n+k)%7 == 0 {
					return undo
				}
				return nil
			})
			switch {
			case err == nil:
				want[e.AggregateID] = append(want[e.AggregateID], e)
			case !errors.Is(err, undo):
				t.Fatal(err)
			}
		}
	}
	return want
}

// expect reads until every committed event is there, once, in its key's order.
func expect(t *testing.T, b *bus.Bus, topic string, want map[string][]event.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sub, err := b.Subscriber("reader", bus.SubscriberConfig{})
	require.NoError(t, err)
	messages, err := sub.Subscribe(ctx, topic)
	require.NoError(t, err)
	left := 0
	for _, all := range want {
		left += len(all)
	}
	for ; left > 0; left-- {
		msg, ok := <-messages
		require.Truef(t, ok, "%d events did not arrive", left)
		got, err := event.Decode(msg)
		if err != nil {
			t.Fatalf("%v\n%v\n%s", err, msg.Metadata, msg.Payload)
		}
		msg.Ack()
		key := event.Key(msg)
		if len(want[key]) == 0 {
			t.Fatalf("an event of key %q too many: %s", key, got.ID)
		}
		next := want[key][0]
		want[key] = want[key][1:]
		if got.ID != next.ID || msg.UUID != next.ID || got.Type != next.Type || got.Sequence != next.Sequence ||
			got.CorrelationID != next.CorrelationID || !bytes.Equal(compact(got.Data), compact(next.Data)) {
			t.Fatalf("key %s: got %+v, want %+v", key, got, next)
		}
	}
	assert.NoError(t, sub.Close())
}

func compact(data []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return data
	}
	return b.Bytes()
}
