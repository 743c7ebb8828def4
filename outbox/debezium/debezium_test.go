package debezium_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox/debezium"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The Kafka client's meters share one goroutine that never ends.
		goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

func settings(t *testing.T, o debezium.Options) map[string]string {
	t.Helper()
	list, err := debezium.Settings(o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range list {
		if _, twice := out[s.Name]; twice {
			t.Errorf("%s is set twice", s.Name)
		}
		if s.Value == "" {
			t.Errorf("%s is empty", s.Name)
		}
		out[s.Name] = s.Value
	}
	return out
}

// printer is a store that prints its schema.
type printer interface{ PrintMigrations(io.Writer) error }

func stores(t *testing.T) map[debezium.Options]printer {
	t.Helper()
	db := &sql.DB{} // the schema is printed without a server
	out := map[debezium.Options]printer{}
	add := func(d debezium.Database, s debezium.Store, p printer, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		out[debezium.Options{Database: d, Store: s}] = p
	}
	pg, err := pgoutbox.New(db, pgoutbox.Config{})
	add(debezium.PostgreSQL, debezium.Cursor, pg, err)
	pgStatus, err := pgoutbox.NewStatus(db, pgoutbox.Config{})
	add(debezium.PostgreSQL, debezium.Status, pgStatus, err)
	for _, d := range []debezium.Database{debezium.MySQL, debezium.MariaDB} {
		my, err := mysqloutbox.New(db, mysqloutbox.Config{})
		add(d, debezium.Cursor, my, err)
		myStatus, err := mysqloutbox.NewStatus(db, mysqloutbox.Config{})
		add(d, debezium.Status, myStatus, err)
	}
	return out
}

func TestColumnsExist(t *testing.T) {
	for o, store := range stores(t) {
		t.Run(string(o.Database)+" "+string(o.Store), func(t *testing.T) {
			var schema bytes.Buffer
			if err := store.PrintMigrations(&schema); err != nil {
				t.Fatal(err)
			}
			set := settings(t, o)
			_, table, _ := strings.Cut(set["table.include.list"], ".")
			columns := columnsOf(t, schema.String(), table)
			const router = "transforms.outbox."
			wanted := []string{set[router+"route.by.field"]}
			for name, value := range set {
				if strings.HasPrefix(name, router+"table.field.event.") {
					wanted = append(wanted, value)
				}
			}
			for _, f := range strings.Split(set[router+"table.fields.additional.placement"], ",") {
				column, _, _ := strings.Cut(f, ":")
				wanted = append(wanted, column)
			}
			if len(wanted) < 7 {
				t.Errorf("the settings name only %v", wanted)
			}
			for _, name := range wanted {
				if !slices.Contains(columns, name) {
					t.Errorf("table %s has no column %q, only %v", table, name, columns)
				}
			}
		})
	}
}

// columnsOf returns the first words of the lines of a CREATE TABLE.
func columnsOf(t *testing.T, schema, table string) (columns []string) {
	t.Helper()
	_, body, ok := strings.Cut(schema, table+" (\n")
	if !ok {
		t.Fatalf("the schema has no table %s:\n%s", table, schema)
	}
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, ")") {
			break
		}
		if f := strings.Fields(line); len(f) > 0 {
			columns = append(columns, f[0])
		}
	}
	return columns
}

// TestContentType checks that consumers find the content type that the codec writes.
func TestContentType(t *testing.T) {
	e, err := event.New("T", "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := event.Structured{}.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	set := settings(t, debezium.Options{Database: debezium.PostgreSQL})
	if h, v := set["transforms.contenttype.header"], set["transforms.contenttype.value.literal"]; msg.Metadata[h] != v {
		t.Errorf("the codec's %s is %q, the connector's %q", h, msg.Metadata[h], v)
	}
	if p := set["transforms.outbox.table.fields.additional.placement"]; !strings.Contains(p, ":header:"+event.KeyHeader+",") {
		t.Errorf("no column becomes the header %s in %s", event.KeyHeader, p)
	}
}

func TestForms(t *testing.T) {
	for _, d := range []debezium.Database{debezium.PostgreSQL, debezium.MySQL, debezium.MariaDB} {
		list, err := debezium.Settings(debezium.Options{Database: d})
		if err != nil {
			t.Fatal(err)
		}
		want := settings(t, debezium.Options{Database: d})
		var properties, body bytes.Buffer
		if err := debezium.WriteProperties(&properties, list); err != nil {
			t.Fatal(err)
		}
		if err := debezium.WriteJSON(&body, list); err != nil {
			t.Fatal(err)
		}
		read := map[string]string{}
		for line := range strings.Lines(properties.String()) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
				name, value, _ := strings.Cut(line, "=")
				read[name] = value
			}
		}
		var parsed struct {
			Name   string
			Config map[string]string
		}
		if err := json.Unmarshal(body.Bytes(), &parsed); err != nil {
			t.Fatal(err)
		}
		if parsed.Name != want["name"] || len(parsed.Config) != len(want)-1 || len(read) != len(want) {
			t.Errorf("%s: %d properties, name %q and %d in JSON; want %d settings", d, len(read), parsed.Name, len(parsed.Config), len(want))
		}
		for name, value := range want {
			if name != "name" && parsed.Config[name] != value || read[name] != value {
				t.Errorf("%s: %s is %q and %q, want %q", d, name, parsed.Config[name], read[name], value)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	set := settings(t, debezium.Options{
		Database: debezium.MariaDB, Store: debezium.Status, Name: "box-office", Host: "db.example", Port: "3307",
		User: "cdc", DatabaseName: "tickets", Brokers: "k1:9092,k2:9092", ServerID: 7,
	})
	for name, want := range map[string]string{
		"name": "box-office", "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
		"database.hostname": "db.example", "database.port": "3307", "database.user": "cdc", "database.server.id": "7",
		"table.include.list": "tickets.outbox_events", "topic.prefix": "box_office",
		"schema.history.internal.kafka.bootstrap.servers":           "k1:9092,k2:9092",
		"schema.history.internal.store.only.captured.databases.ddl": "true",
		"database.password": "${env:MILLRACE_DEBEZIUM_PASSWORD}",
	} {
		if set[name] != want {
			t.Errorf("%s is %q, want %q", name, set[name], want)
		}
	}
	for field, o := range map[string]debezium.Options{
		"Database": {Database: "sqlite"}, "Store": {Database: debezium.MySQL, Store: "queue"},
		"Name": {Database: debezium.MySQL, Name: "a b"}, "User": {Database: debezium.MySQL, User: "a\nb"},
		"Host": {Database: debezium.MySQL, Host: "user:secret@host"}, "ServerID": {Database: debezium.MySQL, ServerID: -1},
		"Schema": {Database: debezium.PostgreSQL, Schema: "a,b"},
	} {
		_, err := debezium.Settings(o)
		if err == nil || !strings.Contains(err.Error(), field) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Settings with a bad %s returned %v, want an error that names it", field, err)
		}
	}
}
