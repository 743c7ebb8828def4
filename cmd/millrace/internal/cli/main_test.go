package cli_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// silence is a logger of go-redis: its errors are returned as well.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	// The tests mostly wait for servers. Flags of the command line come first.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	// Sarama counts fetches by topic in a registry of the process, which has one goroutine
	// for all topics and cannot be disabled.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// run is one run of the tool.
type run struct {
	code     int
	out, err string
}

// tool runs the tool as a script does: it cannot ask questions.
func tool(t *testing.T, args ...string) run {
	t.Helper()
	return toolWith(t.Context(), cli.Streams{}, args...)
}

func toolWith(ctx context.Context, s cli.Streams, args ...string) run {
	var out, errs buffer
	if s.In == nil {
		s.In = strings.NewReader("")
	}
	if s.Env == nil {
		s.Env = func(string) string { return "" }
	}
	s.Out = &out
	if s.Err == nil {
		s.Err = &errs
	} else {
		s.Err = io.MultiWriter(s.Err, &errs)
	}
	code := cli.Main(ctx, args, s)
	return run{code, out.String(), errs.String()}
}

// buffer may be written to by several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// want fails the test unless the run ended as expected.
func (r run) want(t *testing.T, code int, holds ...string) run {
	t.Helper()
	require.Equalf(t, code, r.code, "exit code %d, want %d\n%s\n%s", r.code, code, r.out, r.err)
	for _, text := range holds {
		assert.Containsf(t, r.out+r.err, text, "%q is missing in\n%s\n%s", text, r.out, r.err)
	}
	return r
}

// read decodes the output of a run with --json.
func read[T any](t *testing.T, r run) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(r.out), &v); err != nil {
		t.Fatalf("%v in %s\n%s", err, r.out, r.err)
	}
	return v
}

// place is a fresh database.
type place struct {
	name, url string
}

// eachDatabase runs a test on a fresh database of each kind.
func eachDatabase(t *testing.T, test func(t *testing.T, p place)) {
	for name, fresh := range map[string]func(t testing.TB) string{
		"sqlite":   func(t testing.TB) string { return "sqlite://" + filepath.Join(t.TempDir(), "app.db") },
		"postgres": servicetest.PostgresURL,
		"mariadb":  servicetest.MariaDBURL,
		"mysql":    servicetest.MySQLURL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, place{name: name, url: fresh(t)})
		})
	}
}

// open opens the database independently of the tool.
func (p place) open(t *testing.T) *sql.DB {
	t.Helper()
	raw := p.url
	if p.name == "mariadb" || p.name == "mysql" {
		raw += "?multiStatements=true"
	}
	d, err := database.Open(raw, true)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, d.Close())
	})
	return d.DB
}

// tables counts the tables of the place.
func (p place) tables(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	query := map[string]string{
		"sqlite":   `SELECT count(*) FROM sqlite_master WHERE type = 'table'`,
		"postgres": `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'`,
		"mariadb":  `SELECT count(*) FROM information_schema.tables WHERE table_schema = database()`,
		"mysql":    `SELECT count(*) FROM information_schema.tables WHERE table_schema = database()`,
	}[p.name]
	require.NoError(t, db.QueryRow(query).Scan(&n))
	return n
}

// A database that takes connections and says nothing.
func TestSilentDatabase(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	for _, scheme := range []string{"postgres", "mysql"} {
		for _, line := range []string{"outbox status", "outbox failed", "outbox adopt", "migrate status", "migrate up"} {
			args := append(strings.Fields(line), "--db", scheme+"://app:secret@"+l.Addr().String()+"/shop")
			toolWith(t.Context(), cli.Streams{Answer: 50 * time.Millisecond}, args...).want(t, 1, "the server does not answer within 50ms; millrace doctor looks for the cause")
		}
	}
}
