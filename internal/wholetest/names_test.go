package wholetest

import (
	"database/sql"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/counter/rediscounter"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/hostiletest"
	"github.com/millrace-go/millrace/internal/log/sqllog"
	"github.com/millrace-go/millrace/internal/migrate"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/queue/frontgate/dynamogate"
	"github.com/millrace-go/millrace/queue/frontgate/redisgate"
	"github.com/millrace-go/millrace/queue/redisqueue"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
	"github.com/millrace-go/millrace/sqltx"
	"github.com/millrace-go/millrace/sse/redissse"
)

// Names that go into SQL are checked by the constructors, before any call of a
// database, in each package that has such a name.
func TestHostileTables(t *testing.T) {
	db := new(sql.DB) // which nothing reaches
	checks := map[string]func(name string) error{
		"sqllog.Tables": func(n string) error { return sqllog.Tables{Messages: n, Cursors: "c", Package: "p"}.Validate() },
		"migrate.Set": func(n string) error {
			return migrate.Set{Package: n, Dialect: migrate.SQLite, FS: fstest.MapFS{}}.Up(t.Context(), db)
		},
		"dynamogate.Config.Counters": func(n string) error {
			_, err := dynamogate.New(new(dynamodb.Client), dynamogate.Config{Counters: n})
			return err
		},
	}
	for _, dialect := range []sqltx.Dialect{sqltx.Postgres, sqltx.MySQL, sqltx.SQLite} {
		checks["sqlidempotency.Config "+string(dialect)] = func(n string) error {
			_, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: dialect, Table: n})
			return err
		}
		checks["sqlidempotency leases "+string(dialect)] = func(n string) error {
			_, err := sqlidempotency.NewLeases(db, sqlidempotency.Config{Dialect: dialect, Table: n})
			return err
		}
	}
	for what, check := range checks {
		for _, name := range hostiletest.SQL() {
			switch {
			case name == "" && (strings.HasPrefix(what, "sqlidempotency") || strings.HasPrefix(what, "dynamogate")): // the default
			case what == "dynamogate.Config.Counters" && (name == "public.t" || len(name) == 100 || name == "t--"): // fine on DynamoDB
			default:
				assert.Errorf(t, check(name), "%s took the name %q", what, name)
			}
		}
	}
}

// A prefix or a name with a brace would move keys that belong together into different
// slots of a Cluster.
func TestHostilePrefixes(t *testing.T) {
	client, err := redisdb.Open("redis://127.0.0.1:1", redisdb.Config{}) // connects to nothing
	require.NoError(t, err)
	defer client.Close() //nolint:errcheck // it never connected
	for what, check := range map[string]func(prefix string) error{
		"redisqueue":     func(p string) error { _, err := redisqueue.New(client, redisqueue.Config{Prefix: p}); return err },
		"redisgate":      func(p string) error { _, err := redisgate.New(client, redisgate.Config{Prefix: p}); return err },
		"redissse":       func(p string) error { _, _, err := redissse.New(client, redissse.Config{Prefix: p}); return err },
		"redisratelimit": func(p string) error { _, err := redisratelimit.New(client, redisratelimit.Config{Name: p}); return err },
		"rediscoalesce":  func(p string) error { _, err := rediscoalesce.New(client, rediscoalesce.Config{Prefix: p}); return err },
		"rediscounter":   func(p string) error { _, err := rediscounter.New(client, rediscounter.Config{Prefix: p}); return err },
	} {
		assert.NoErrorf(t, check("tickets:"), "%s", what)
		for _, prefix := range hostiletest.Keys() {
			if err := check(prefix); err == nil && strings.ContainsAny(prefix, "{}") {
				t.Errorf("%s took the prefix %q", what, prefix)
			}
		}
	}
}
