package debezium_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox/debezium"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The Kafka client's meters share one goroutine that never ends.
		goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

func settings(t *testing.T, o debezium.Options) map[string]string {
	t.Helper()
	list, err := debezium.Settings(o)
	require.NoError(t, err)
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
	add := func(o debezium.Options, p printer, err error) {
		t.Helper()
		require.NoError(t, err)
		out[o] = p
	}
	pg, err := pgoutbox.New(db, pgoutbox.Config{})
	add(debezium.Options{Dialect: sqltx.Postgres}, pg, err)
	pgStatus, err := pgoutbox.New(db, pgoutbox.Config{Status: true})
	add(debezium.Options{Dialect: sqltx.Postgres, Status: true}, pgStatus, err)
	for _, maria := range []bool{false, true} {
		my, err := mysqloutbox.New(db, mysqloutbox.Config{})
		add(debezium.Options{Dialect: sqltx.MySQL, MariaDB: maria}, my, err)
		myStatus, err := mysqloutbox.New(db, mysqloutbox.Config{Status: true})
		add(debezium.Options{Dialect: sqltx.MySQL, MariaDB: maria, Status: true}, myStatus, err)
	}
	return out
}

func TestColumnsExist(t *testing.T) {
	for o, store := range stores(t) {
		t.Run(fmt.Sprintf("%s MariaDB %t status %t", o.Dialect, o.MariaDB, o.Status), func(t *testing.T) {
			var schema bytes.Buffer
			require.NoError(t, store.PrintMigrations(&schema))
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
				assert.Containsf(t, columns, name, "table %s has no column %q, only %v", table, name, columns)
			}
		})
	}
}

// columnsOf returns the first words of the lines of a CREATE TABLE.
func columnsOf(t *testing.T, schema, table string) (columns []string) {
	t.Helper()
	_, body, ok := strings.Cut(schema, table+" (\n")
	require.Truef(t, ok, "the schema has no table %s:\n%s", table, schema)
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
	require.NoError(t, err)
	msg, err := event.Structured{}.Encode(e)
	require.NoError(t, err)
	set := settings(t, debezium.Options{Dialect: sqltx.Postgres})
	if h, v := set["transforms.contenttype.header"], set["transforms.contenttype.value.literal"]; msg.Metadata[h] != v {
		t.Errorf("the codec's %s is %q, the connector's %q", h, msg.Metadata[h], v)
	}
	if p := set["transforms.outbox.table.fields.additional.placement"]; !strings.Contains(p, ":header:"+event.KeyHeader+",") {
		t.Errorf("no column becomes the header %s in %s", event.KeyHeader, p)
	}
}

func TestForms(t *testing.T) {
	for d, o := range map[string]debezium.Options{
		"PostgreSQL": {Dialect: sqltx.Postgres}, "MySQL": {Dialect: sqltx.MySQL}, "MariaDB": {Dialect: sqltx.MySQL, MariaDB: true},
	} {
		want := settings(t, o)
		var properties, body bytes.Buffer
		require.NoError(t, debezium.WriteProperties(&properties, o))
		require.NoError(t, debezium.WriteJSON(&body, o))
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
		require.NoError(t, json.Unmarshal(body.Bytes(), &parsed))
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
		Dialect: sqltx.MySQL, MariaDB: true, Status: true, Name: "box-office", Host: "db.example", Port: "3307",
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
		"Dialect": {Dialect: sqltx.SQLite}, "MariaDB": {Dialect: sqltx.Postgres, MariaDB: true},
		"Name": {Dialect: sqltx.MySQL, Name: "a b"}, "User": {Dialect: sqltx.MySQL, User: "a\nb"},
		"Host": {Dialect: sqltx.MySQL, Host: "user:secret@host"}, "ServerID": {Dialect: sqltx.MySQL, ServerID: -1},
		"Schema": {Dialect: sqltx.Postgres, Schema: "a,b"},
	} {
		for form, write := range map[string]func(io.Writer, debezium.Options) error{"properties": debezium.WriteProperties, "JSON": debezium.WriteJSON} {
			var out bytes.Buffer
			if err := write(&out, o); err == nil || !strings.Contains(err.Error(), field) || strings.Contains(err.Error(), "secret") || out.Len() != 0 {
				t.Errorf("%s with a bad %s returned %v and wrote %q, want only an error that names it", form, field, err, out.String())
			}
		}
	}
}
