package pgbus_test

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/pgbus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log/logbus"
	"github.com/millrace-go/millrace/internal/log/logbus/logbustest"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

func TestURLErrors(t *testing.T) {
	const at = "postgres://app:s3cret@127.0.0.1:1/app"
	open := func(cfg pgbus.Config, url string) error {
		t.Helper()
		b, err := bus.Open(t.Context(), url, pgbus.Scheme(cfg))
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
		at + "?partition=3":                     `"partition"`,
		at + "?partitions=none":                 `"partitions"`,
		at + "?retention=-1h":                   `"retention"`,
		at + "?poll=0s":                         `"poll"`,
		at + "?mode=fast":                       `"mode"`,
		at + "?mode=tx&partitions=3":            `"partitions"`,
		at + "?mode=tx&retention=1h":            `"retention"`,
		at + "?sslmode=perhaps":                 "sslmode",
		at + "?password=s3cret":                 `"password"`,
		at + "?sslmode=disable&sslmode=require": `"sslmode"`,
		"postgres://app:s3cret@127.0.0.1:1":     "no database",
		"postgres:///app":                       "no host",
		at:                                      "connect",
		at + "?mode=tx":                         "connect",
		at + "?default_query_exec_mode=exec":    "connect",
	} {
		if err := open(pgbus.Config{}, url); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want it to say %s", url, err, want)
		}
	}
	for want, cfg := range map[string]pgbus.Config{
		"Connections": {Connections: 1}, "Poll": {Poll: -time.Second},
	} {
		if err := open(cfg, at); !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want it to name %s", cfg, err, want)
		}
	}
	// Values that package logsub refuses are refused as well.
	assert.Contains(t, open(pgbus.Config{LeaseTTL: -1}, servicetest.PostgresURL(t)).Error(), "LeaseTTL")
}

// Every parameter of the connection is accepted by the server or the driver.
func TestConnectionParameters(t *testing.T) {
	base, err := url.Parse(servicetest.PostgresURL(t))
	require.NoError(t, err)
	values := map[string]string{
		"application_name": "box", "client_encoding": "UTF8", "connect_timeout": "5", "default_query_exec_mode": "exec", "lock_timeout": "5000",
		"options": "-c geqo=off", "passfile": "/dev/null", "sslsni": "0", "sslmode": "disable",
		"statement_timeout": "60000", "target_session_attrs": "read-write", "timezone": "Asia/Seoul",
		"search_path": base.Query().Get("search_path"),
	}
	q := base.Query()
	for _, name := range pgbus.Parameters() {
		if value, ok := values[name]; ok {
			q.Set(name, value)
		} else if !strings.HasPrefix(name, "ssl") {
			t.Errorf("%s is not tested", name)
		}
	}
	q.Set("partitions", "5")
	q.Set("retention", "10m")
	q.Set("poll", "100ms")
	base.RawQuery = q.Encode()
	scheme := pgbus.Scheme(pgbus.Config{})
	for _, base.Scheme = range scheme.Names() {
		b, err := bus.Open(t.Context(), base.String(), scheme)
		require.NoError(t, err)
		sourcetest.Publish(t, b, "topic", logbustest.Keyed("k", "1"))
		assert.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "topic", Partitions: 5}), "?partitions=5 has no effect")
		assert.NoError(t, b.Close())
	}
}

func TestErrorClasses(t *testing.T) {
	url := servicetest.PostgresURL(t)
	b := transport.Open(t, url, logbustest.Settings{})
	pub := b.Driver().Publisher()
	bad := logbustest.Keyed("k", "1")
	bad.Metadata.Set("x", "\xff")
	if err := pub.Publish("topic", bad); fault.Of(err) != fault.Permanent {
		t.Errorf("metadata that is no text: %v (%v), want permanent", err, fault.Of(err))
	}
	bad = logbustest.Keyed("k\x00", "1")
	if err := pub.Publish("topic", bad); fault.Of(err) != fault.Permanent {
		t.Errorf("a key that PostgreSQL takes for no text: %v (%v), want permanent", err, fault.Of(err))
	}
	if err := b.Driver().Declare(t.Context(), bus.Topic{Name: "topic", Partitions: 1}, bus.Topic{Name: "topic", Partitions: 2}); fault.Of(err) != fault.Permanent {
		t.Errorf("other partitions: %v (%v), want permanent", err, fault.Of(err))
	}
	require.NoError(t, b.Close())
	assert.ErrorIs(t, pub.Publish("topic", logbustest.Keyed("k", "3")), bus.ErrClosed, "after Close")
}

// The printed script makes the same tables as the first use.
func TestPrintMigrations(t *testing.T) {
	var script bytes.Buffer
	require.NoError(t, logbus.Print(&script, pgbus.Migrations))
	printed, opened := servicetest.PostgresURL(t), servicetest.PostgresURL(t)
	db, err := pgdb.Open(printed)
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
	db, err := pgdb.Open(url)
	require.NoError(t, err)
	defer db.Close()
	var out string
	const query = `SELECT coalesce(string_agg(table_name || '.' || column_name || ' ' || data_type || ' ' || coalesce(column_default, ''), E'\n'
		ORDER BY table_name, ordinal_position), '') FROM information_schema.columns WHERE table_schema = current_schema()`
	require.NoError(t, db.QueryRow(query).Scan(&out))
	return out
}
