package mysqlbus_test

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log/logbus"
	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

func TestURLErrors(t *testing.T) {
	const at = "mysql://app:s3cret@127.0.0.1:1/app"
	open := func(cfg mysqlbus.Config, url string) error {
		t.Helper()
		b, err := bus.Open(t.Context(), url, mysqlbus.Scheme(cfg))
		if err == nil { // an absent server is found by Ping
			err = b.Ping(t.Context())
			if cerr := b.Close(); err == nil || cerr != nil || fault.Of(err) != fault.Infrastructure {
				t.Fatalf("%s was opened: %v (%s), %v", url, err, fault.Of(err), cerr)
			}
		}
		assert.NotContainsf(t, err.Error(), "s3cret", "%s: the error shows the password: %v", url, err)
		return err
	}
	for url, want := range map[string]string{
		at + "?partition=3":              `"partition"`,
		at + "?partitions=none":          `"partitions"`,
		at + "?retention=-1h":            `"retention"`,
		at + "?poll=0s":                  `"poll"`,
		at + "?mode=fast":                `"mode"`,
		at + "?mode=tx&partitions=3":     `"partitions"`,
		at + "?mode=tx&retention=1h":     `"retention"`,
		at + "?tls=perhaps":              "perhaps",
		at + "?password=s3cret":          `"password"`,
		at + "?multiStatements=true":     `"multiStatements"`,
		at + "?timeout=1s&timeout=2s":    `"timeout"`,
		"mysql://app:s3cret@127.0.0.1:1": "database",
		"mysql:///app":                   "host",
		at:                               "connect",
		at + "?mode=tx":                  "connect",
	} {
		if err := open(mysqlbus.Config{}, url); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want it to say %s", url, err, want)
		}
	}
	for want, cfg := range map[string]mysqlbus.Config{
		"Connections": {Connections: 1}, "Poll": {Poll: -time.Second},
	} {
		if err := open(cfg, at); !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want it to name %s", cfg, err, want)
		}
	}
	// Values that package logsub refuses are refused as well.
	servicetest.EachMySQL(t, func(t *testing.T, server servicetest.MySQLServer) {
		assert.Contains(t, open(mysqlbus.Config{LeaseTTL: -1}, server.URL(t)).Error(), "LeaseTTL")
	})
}

// Every parameter of the connection is accepted by the server or the driver.
func TestConnectionParameters(t *testing.T) { servicetest.EachMySQL(t, testConnectionParameters) }

func testConnectionParameters(t *testing.T, server servicetest.MySQLServer) {
	values := map[string]string{
		"compress": "true", "connectionAttributes": "program_name:box office", "innodb_lock_wait_timeout": "20", "lock_wait_timeout": "20",
		"maxAllowedPacket": "1048576", "readTimeout": "30s", "timeout": "5s", "tls": "preferred", "writeTimeout": "30s",
	}
	q := url.Values{}
	for _, name := range mysqlbus.Parameters() {
		if value, ok := values[name]; ok {
			q.Set(name, value)
		} else if !strings.HasPrefix(name, "tls-") {
			t.Errorf("%s is not tested", name)
		}
	}
	q.Set("partitions", "5")
	q.Set("retention", "10m")
	q.Set("poll", "50ms")
	b := transport.Open(t, server.URL(t)+"?"+q.Encode(), logbustest.Settings{})
	sourcetest.Publish(t, b, "topic", logbustest.Keyed("k", "1"))
	assert.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "topic", Partitions: 5}), "?partitions=5 has no effect")
}

func TestErrorClasses(t *testing.T) { servicetest.EachMySQL(t, testErrorClasses) }

func testErrorClasses(t *testing.T, server servicetest.MySQLServer) {
	b := transport.Open(t, server.URL(t), logbustest.Settings{})
	pub := b.Driver().Publisher()
	bad := logbustest.Keyed("k", "1")
	bad.Metadata.Set("x", "\xff")
	if err := pub.Publish("topic", bad); fault.Of(err) != fault.Permanent {
		t.Errorf("metadata that is no text: %v (%v), want permanent", err, fault.Of(err))
	}
	if err := pub.Publish("topic", logbustest.Keyed(strings.Repeat("k", 1001), "1")); fault.Of(err) != fault.Permanent {
		t.Errorf("a key that fits no column: %v (%v), want permanent", err, fault.Of(err))
	}
	if err := pub.Publish("topic ", logbustest.Keyed("k", "1")); fault.Of(err) != fault.Permanent {
		t.Errorf("a topic that MySQL takes for another: %v (%v), want permanent", err, fault.Of(err))
	}
	if err := b.Driver().Declare(t.Context(), bus.Topic{Name: "topic", Partitions: 1}, bus.Topic{Name: "topic", Partitions: 2}); fault.Of(err) != fault.Permanent {
		t.Errorf("other partitions: %v (%v), want permanent", err, fault.Of(err))
	}
	require.NoError(t, b.Close())
	assert.ErrorIs(t, pub.Publish("topic", logbustest.Keyed("k", "3")), bus.ErrClosed, "after Close")
}

// The printed script makes the same tables as the first use.
func TestPrintMigrations(t *testing.T) { servicetest.EachMySQL(t, testPrintMigrations) }

func testPrintMigrations(t *testing.T, server servicetest.MySQLServer) {
	var script bytes.Buffer
	require.NoError(t, logbus.Print(&script, mysqlbus.Migrations))
	printed, opened := server.URL(t), server.URL(t)
	db, err := mysqldb.Open(printed + "?multiStatements=true")
	require.NoError(t, err)
	defer db.Close()
	if _, err := db.Exec(script.String()); err != nil {
		t.Fatalf("%v in\n%s", err, &script)
	}
	b := transport.Open(t, opened, logbustest.Settings{})
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "topic"}))
	if a, b := columns(t, printed), columns(t, opened); a != b || a == "" {
		t.Errorf("the printed schema is\n%s\nthe opened one is\n%s", a, b)
	}
	sourcetest.Publish(t, transport.Open(t, printed, logbustest.Settings{}), "topic", logbustest.Keyed("k", "1"))
}

func columns(t *testing.T, url string) string {
	t.Helper()
	db, err := mysqldb.Open(url)
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.Query(`SELECT CONCAT(table_name, '.', column_name, ' ', column_type, ' ', COALESCE(column_default, ''))
		FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position`)
	require.NoError(t, err)
	defer rows.Close()
	var out strings.Builder
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		out.WriteString(s + "\n")
	}
	require.NoError(t, rows.Err())
	return out.String()
}
