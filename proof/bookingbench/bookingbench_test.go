package bookingbench

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every booking is answered, and the database counts as many, which the harness
// checks; nothing is left.
func TestRun(t *testing.T) {
	temp := t.TempDir()
	cfg := Config{
		URL:     servicetest.Env(t, "MILLRACE_POSTGRES_URL", "PostgreSQL", "postgres://user:password@127.0.0.1:5432/name"),
		Brokers: servicetest.Kafka(t), Cluster: servicetest.RedisCluster(t),
		Processes: []int{1, 2}, Callers: 3, Bookings: 40, Rounds: 1, Prefix: "b" + strconv.FormatInt(time.Now().UnixNano(), 36),
	}
	t.Setenv("TMPDIR", temp)
	var out bytes.Buffer
	rec := report.To(&out)
	if err := Run(t.Context(), cfg, rec); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	s := rec.Section()
	if len(s.Figures) != 6 || len(s.Claims) != 6 {
		t.Fatalf("%d figures, %d claims\n%s", len(s.Figures), len(s.Claims), &out)
	}
	for _, f := range s.Figures {
		if len(f.Rounds) != 1 || f.Min <= 0 || (f.Role == report.Limit) != strings.HasPrefix(f.Name, "limit: ") {
			t.Errorf("%+v", f)
		}
	}
	if left, err := filepath.Glob(filepath.Join(temp, "millrace-bench-*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
	noKeys(t, cfg)
	noSchema(t, cfg)
}

// A box office that did more than book leaves keys that begin with a hash tag.
func TestSweep(t *testing.T) {
	cfg := Config{Cluster: servicetest.RedisCluster(t), Prefix: "s" + strconv.FormatInt(time.Now().UnixNano(), 36)}
	client, err := redisdb.Open(redisURL(cfg.Cluster), redisdb.Config{})
	require.NoError(t, err)
	defer client.Close() //nolint:errcheck // ends with the test
	keys := cfg.Prefix + "-bookings-1:"
	for _, key := range []string{keys + "{show-1}:active", "{" + keys + "rate}:global"} {
		require.NoError(t, client.Set(t.Context(), key, "1", time.Minute).Err())
	}
	require.NoError(t, sweep(t.Context(), cfg, keys))
	noKeys(t, cfg)
}

func noKeys(t *testing.T, cfg Config) {
	t.Helper()
	client, err := redisdb.Open(redisURL(cfg.Cluster), redisdb.Config{})
	require.NoError(t, err)
	defer client.Close() //nolint:errcheck // ends with the test
	err = client.(*redis.ClusterClient).ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
		keys, err := node.Keys(ctx, "*"+cfg.Prefix+"*").Result()
		if len(keys) > 0 {
			t.Errorf("%v is left", keys)
		}
		return err
	})
	assert.NoError(t, err)
}

func noSchema(t *testing.T, cfg Config) {
	t.Helper()
	at, err := place.Postgres(cfg.URL, "public")
	require.NoError(t, err)
	db, err := at.Open()
	require.NoError(t, err)
	defer db.Close() //nolint:errcheck // ends with the test
	var left int
	if err := db.QueryRow(`SELECT count(*) FROM pg_namespace WHERE nspname LIKE $1`, cfg.Prefix+"%").Scan(&left); err != nil || left > 0 {
		t.Errorf("%d schemas are left (%v)", left, err)
	}
}

func TestConfig(t *testing.T) {
	for says, cfg := range map[string]Config{
		"2500 seats": {Bookings: 2501}, "1 to 16 processes": {Processes: []int{17}}, "are needed": {},
	} {
		if err := Run(t.Context(), cfg, report.To(&bytes.Buffer{})); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func TestSeats(t *testing.T) {
	all := seats(hall)
	seen := map[seat]bool{}
	for _, s := range all {
		if seen[s] || s.id < "A" || s.id > "T-99" {
			t.Fatalf("%v", s)
		}
		seen[s] = true
	}
	if all[0] != (seat{"show-1", "A-1"}) || all[hall-1] != (seat{"show-5", "T-25"}) {
		t.Errorf("from %v to %v", all[0], all[hall-1])
	}
}

func TestAProcessThatEnds(t *testing.T) {
	script := filepath.Join(t.TempDir(), "boxoffice")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho it is on fire\nexit 3\n"), 0o700); err != nil { //nolint:gosec // a program is to be run
		t.Fatal(err)
	}
	err := withOffice(t.Context(), Config{Program: script}, office{dir: t.TempDir(), processes: 1}, func(*office) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "gateway ended early (exit status 3):\nit is on fire") {
		t.Errorf("%v", err)
	}
}
