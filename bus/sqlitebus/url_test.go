package sqlitebus_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/internal/log/logbus"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

func TestURLs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub", "my dir"), 0o755))
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
		_, err := os.Stat(filepath.Join(dir, file))
		assert.NoError(t, err, "%s", url)
	}
}

func TestURLErrors(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text.db"), bytes.Repeat([]byte("no database"), 500), 0o600))
	scheme := sqlitebus.Scheme(sqlitebus.Config{})
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
		b, err := bus.Open(t.Context(), url, scheme)
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

// The printed script makes the same tables as Open.
func TestPrintMigrations(t *testing.T) {
	var script bytes.Buffer
	require.NoError(t, logbus.Print(&script, sqlitebus.Migrations))
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
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.Query(`SELECT name || ': ' || coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND name LIKE '%bus_%' ORDER BY name`)
	require.NoError(t, err)
	defer rows.Close()
	var out strings.Builder
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		// Comments between statements are ignored.
		fmt.Fprintln(&out, strings.Join(strings.Fields(s), " "))
	}
	require.NoError(t, rows.Err())
	return out.String()
}
