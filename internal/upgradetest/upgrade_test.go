package upgradetest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// store is the interface of both kinds of an outbox.
type store interface {
	driver.Store
	driver.Inspector
	Migrate(ctx context.Context) error
}

func open(t *testing.T, db *sql.DB, kind string) store {
	t.Helper()
	var s store
	var err error
	if kind == "status" {
		s, err = pgoutbox.New(db, pgoutbox.Config{Status: true, Shards: 2})
	} else {
		s, err = pgoutbox.New(db, pgoutbox.Config{Shards: 2})
	}
	require.NoError(t, err)
	return s
}

// ledger has the events that were appended to one outbox and published, over all servers.
type ledger struct {
	outboxtest.Publisher
	seq      map[string]int
	appended map[string]bool
}

func newLedger() *ledger { return &ledger{seq: map[string]int{}, appended: map[string]bool{}} }

// append writes n events, in transactions of ten.
func (l *ledger) append(t *testing.T, db *sql.DB, s driver.Store, n int) {
	t.Helper()
	box, err := outbox.New(s, outbox.Config{Topic: "orders"})
	require.NoError(t, err)
	for range n / 10 {
		err := sqltx.Do(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
			for i := range 10 {
				key := fmt.Sprintf("order-%d", (len(l.appended)+i)%37)
				l.seq[key]++
				e, err := outboxtest.NewEvent(key, l.seq[key])
				if err != nil {
					return err
				}
				l.appended[e.ID] = true
				if err := box.Append(ctx, tx, e); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
	require.NoError(t, box.Close(t.Context()))
}

// relay publishes until the given number is published in total, and stops in an orderly way.
func (l *ledger) relay(t *testing.T, s driver.Store, until int) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := outbox.NewRelay(s, l, outbox.RelayConfig{
		MaxBatch: 50, MinBatch: 10, Interval: 50 * time.Millisecond, Retention: -1, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- r.Run(ctx)
	}()
	waited := l.WaitFor(ctx, until)
	cancel()
	if err := <-ended; err != nil {
		return err
	}
	return waited
}

// judge compares the published events with the appended ones: none is missing, the first publish
// of each is in the order of its key, and the given number is published twice.
func (l *ledger) judge(t *testing.T, what string, twice int) {
	t.Helper()
	got := l.Published()
	doubled, inverted := outboxtest.Duplicates(got), outboxtest.Inversions(got)
	lost := len(l.appended) - (len(got) - doubled)
	t.Logf("%s: %d appended, %d published, %d lost, %d twice, %d inverted", what, len(l.appended), len(got), lost, doubled, inverted)
	if lost != 0 || inverted != 0 || doubled != twice {
		t.Errorf("%s: %d lost, %d inverted, %d twice; want none, none, %d", what, lost, inverted, doubled, twice)
	}
}

// tool is the program millrace.
type tool struct{ path, url string }

func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "millrace")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../../cmd/millrace").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func (m tool) run(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), m.path, append(args, "--db", m.url)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	t.Logf("millrace %s: %d\n%s", strings.Join(args, " "), cmd.ProcessState.ExitCode(), &out)
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("millrace %s ended with %d, want %d", strings.Join(args, " "), got, code)
	}
	return out.String()
}

// TestUpgrade follows the runbook: an outbox of each kind with a backlog is migrated with
// pg_upgrade and adopt, and then with a dump and rebase.
func TestUpgrade(t *testing.T) {
	m := newMachine(t)
	path := build(t)
	kinds := []string{"cursor", "status"}
	ledgers := map[string]*ledger{"cursor": newLedger(), "status": newLedger()}

	before := m.cluster(t, "before", m.old)
	stop := before.start(t)
	db, closeDB := before.open(t)
	for _, kind := range kinds {
		s, l := open(t, db, kind), ledgers[kind]
		require.NoError(t, s.Migrate(t.Context()))
		l.append(t, db, s, 2000)
		require.NoError(t, l.relay(t, s, 500))
		if n := len(l.Published()); n < 500 || n > 1900 {
			t.Fatalf("%s: %d are published before the upgrade; want a part", kind, n)
		}
	}
	closeDB()
	stop()

	after := m.cluster(t, "after", m.fresh)
	after.upgrade(t, before)
	stop = after.start(t)
	db, closeDB = after.open(t)
	at := tool{path, after.url()}
	refused(t, db, ledgers)
	at.run(t, 0, "outbox", "adopt", "--yes")
	for _, kind := range kinds {
		s, l := open(t, db, kind), ledgers[kind]
		l.append(t, db, s, 500)
		require.NoError(t, l.relay(t, s, 2500))
		l.judge(t, kind+" after pg_upgrade and adopt", 0)
	}
	at.run(t, 0, "outbox", "adopt", "--yes") // again is harmless

	// Events that wait when the dump is made must survive it too.
	for _, kind := range kinds {
		ledgers[kind].append(t, db, open(t, db, kind), 200)
	}
	closeDB()
	m.do(t, "postgres", m.fresh+"/pg_dump", "-h", "127.0.0.1", "-p", fmt.Sprint(after.port), "-f", m.data+"/dump.sql", "postgres")
	stop()
	elsewhere := m.cluster(t, "elsewhere", m.fresh)
	elsewhere.start(t)
	m.do(t, "postgres", m.fresh+"/psql", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", fmt.Sprint(elsewhere.port), "-f", m.data+"/dump.sql", "postgres")
	db, closeDB = elsewhere.open(t)
	defer closeDB()
	at.url = elsewhere.url()
	refused(t, db, ledgers)
	said := at.run(t, 1, "outbox", "adopt", "--yes")
	assert.Contains(t, said, "outbox rebase --since", "a refusal does not say what to do then")
	refused(t, db, ledgers) // nothing was changed
	for _, kind := range kinds {
		at.run(t, 0, "outbox", "rebase", "--kind", kind, "--since", "1h", "--yes")
		s, l := open(t, db, kind), ledgers[kind]
		require.NoError(t, l.relay(t, s, len(l.Published())+2700))
		l.judge(t, kind+" after a dump and rebase", 2500)
	}
}

// refused starts a relay of each kind, which must end by itself and publish nothing.
func refused(t *testing.T, db *sql.DB, ledgers map[string]*ledger) {
	t.Helper()
	for kind, l := range ledgers {
		n := len(l.Published())
		err := l.relay(t, open(t, db, kind), 1<<30)
		if !errors.Is(err, driver.ErrForeignDatabase) || len(l.Published()) != n {
			t.Fatalf("%s: on another system the relay ended with %v and published %d; want it refused", kind, err, len(l.Published())-n)
		}
		assert.Containsf(t, err.Error(), "outbox adopt", "%s: the refusal does not say what to do: %v", kind, err)
	}
}
