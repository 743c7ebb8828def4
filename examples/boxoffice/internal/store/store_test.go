package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/queue/queuetest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fresh is a database as the first start leaves it; copying one is quicker than
// making it.
var fresh = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "store-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system's folder for such
	path := filepath.Join(dir, "b.db")
	s, err := Open(context.Background(), "sqlite://"+path)
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func open(t *testing.T) (*Store, string) {
	t.Helper()
	b, err := fresh()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "b.db")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return reopen(t, "sqlite://"+path), "sqlite://" + path
}

func reopen(t *testing.T, url string) *Store {
	t.Helper()
	s, err := Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, s.Close())
	})
	return s
}

func count(t *testing.T, s *Store, query string) (n int) {
	t.Helper()
	require.NoError(t, s.Reader().QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

// counter makes a row to count writers in.
func counter(t *testing.T, s *Store) {
	t.Helper()
	_, err := s.DB().ExecContext(t.Context(), `CREATE TABLE writers (name TEXT PRIMARY KEY)`)
	require.NoError(t, err)
}

func add(s *Store, name string) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO writers VALUES ($1)`, name)
		return err
	}
}

// together holds the database while n writers line up, so that they share the
// next transaction, and returns their errors.
func together(t *testing.T, s *Store, writers ...func() error) []error {
	t.Helper()
	return lineUp(t, s, func() {}, writers...)
}

// lineUp is together with something to do while all wait.
func lineUp(t *testing.T, s *Store, meanwhile func(), writers ...func() error) []error {
	t.Helper()
	tx, err := s.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	lead := make(chan error, 1)
	go func() {
		lead <- s.Write(context.Background(), func(context.Context, *sql.Tx) error { return nil })
	}()
	wait(t, "the lead to be taken", func() bool {
		running, queued := underWay(s)
		return running && queued == 0
	})
	errs := make([]error, len(writers))
	var wg sync.WaitGroup
	for i, w := range writers {
		wg.Go(func() { errs[i] = w() })
		wait(t, "the writer to stand in line", func() bool { return queued(s) >= i+1 })
	}
	meanwhile()
	require.NoError(t, tx.Rollback())
	require.NoError(t, <-lead)
	wg.Wait()
	return errs
}

func queued(s *Store) int {
	_, n := underWay(s)
	return n
}

// underWay reports whether a transaction is under way, and how many writers wait for the next.
func underWay(s *Store) (running bool, queued int) {
	s.batch.mu.Lock()
	defer s.batch.mu.Unlock()
	return s.batch.running, len(s.batch.queue)
}

// wait is boxtest.WaitFor, which this package's own tests cannot import.
func wait(t *testing.T, what string, until func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !until(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain for " + what)
		}
	}
}

func TestWritersShareACommit(t *testing.T) {
	s, _ := open(t)
	counter(t, s)
	var txs sync.Map
	hooks := make(chan string, 100)
	var writers []func() error
	for i := range 100 { // more than one batch
		writers = append(writers, func() error {
			return s.Write(context.WithValue(context.Background(), nameKey{}, i), func(ctx context.Context, tx *sql.Tx) error {
				n, _ := txs.LoadOrStore(tx, new(int))
				*n.(*int)++
				if ctx.Value(nameKey{}) != i {
					return fmt.Errorf("writer %d was given the context of %v", i, ctx.Value(nameKey{}))
				}
				sqltx.AfterCommit(ctx, func() { hooks <- fmt.Sprint(i) })
				return add(s, fmt.Sprint(i))(ctx, tx)
			})
		})
	}
	for i, err := range together(t, s, writers...) {
		assert.NoErrorf(t, err, "writer %d", i)
	}
	n := 0
	txs.Range(func(_, v any) bool {
		n++
		if *v.(*int) > maxBatch {
			t.Errorf("%d writers in one transaction", *v.(*int))
		}
		return true
	})
	assert.Equalf(t, 2, n, "100 writers took %d transactions, want 2", n)
	if len(hooks) != 100 || count(t, s, `SELECT COUNT(*) FROM writers`) != 100 {
		t.Errorf("%d hooks, %d rows", len(hooks), count(t, s, `SELECT COUNT(*) FROM writers`))
	}
}

type nameKey struct{}

func TestFailingWriterIsAlone(t *testing.T) {
	s, _ := open(t)
	counter(t, s)
	broken := errors.New("broken")
	errs := together(t, s,
		func() error { return s.Write(t.Context(), add(s, "a")) },
		func() error {
			return s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if err := add(s, "b")(ctx, tx); err != nil {
					return err
				}
				return broken
			})
		},
		func() error { return s.Write(t.Context(), add(s, "a")) }, // the key is there
		func() (err error) {
			defer func() { err = fmt.Errorf("panic: %v", recover()) }()
			return s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				_ = add(s, "c")(ctx, tx)
				panic("ouch")
			})
		},
		func() error { return s.Write(t.Context(), add(s, "d")) },
	)
	if errs[0] != nil || !errors.Is(errs[1], broken) || !s.IsUnique(errs[2]) || errs[4] != nil {
		t.Errorf("errors: %v", errs)
	}
	if errs[3] == nil || errs[3].Error() != "panic: ouch" {
		t.Errorf("the panic came back as %v", errs[3])
	}
	if n := count(t, s, `SELECT COUNT(*) FROM writers WHERE name IN ('a', 'd')`); n != 2 || count(t, s, `SELECT COUNT(*) FROM writers`) != 2 {
		t.Error("what failed left something, or what did not is missing")
	}
}

// A nested transaction that fails also fails its own writer, even if the writer
// ignores the failure, and no other writer.
func TestDoomedWriterIsAlone(t *testing.T) {
	s, _ := open(t)
	counter(t, s)
	broken := errors.New("broken")
	nested := func(name string, swallow bool) func() error {
		return func() error {
			return s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if err := add(s, name)(ctx, tx); err != nil {
					return err
				}
				err := sqltx.Do(ctx, s.DB(), func(context.Context, *sql.Tx) error { return broken })
				if swallow {
					return nil
				}
				return err
			})
		}
	}
	ran := 0
	sound := func(name string) func() error {
		return func() error {
			return s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				ran++
				return add(s, name)(ctx, tx)
			})
		}
	}
	errs := together(t, s, sound("a"), nested("b", false), sound("c"), nested("d", true), sound("e"))
	if errs[0] != nil || errs[2] != nil || errs[4] != nil || !errors.Is(errs[1], broken) || !errors.Is(errs[3], sqltx.ErrDoomed) || !errors.Is(errs[3], broken) {
		t.Errorf("errors: %v", errs)
	}
	if n := count(t, s, `SELECT COUNT(*) FROM writers WHERE name IN ('a', 'c', 'e')`); n != 3 || count(t, s, `SELECT COUNT(*) FROM writers`) != 3 {
		t.Error("the sound writers' work is missing, or the broken one's is there")
	}
	assert.Equalf(t, 3, ran, "the sound writers ran %d times", ran)
}

// Hooks belong to their writer: they are dropped with its failure, and when one
// panics the others' run and no writer is left waiting.
func TestHooksOfWritersThatShareACommit(t *testing.T) {
	s, _ := open(t)
	counter(t, s)
	broken := errors.New("broken")
	hooks := make(chan string, 10)
	hooked := func(name string, hook func(), err error) func() error {
		return func() (failed error) {
			defer func() {
				if p := recover(); p != nil {
					failed = fmt.Errorf("panic: %v", p)
				}
			}()
			return s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				sqltx.AfterCommit(ctx, hook)
				sqltx.AfterCommit(ctx, func() { hooks <- name })
				return errors.Join(add(s, name)(ctx, tx), err)
			})
		}
	}
	none := func() {}
	errs := together(t, s, hooked("a", none, nil), hooked("b", none, broken), hooked("c", func() { panic("ouch") }, nil), hooked("d", none, nil))
	if errs[0] != nil || !errors.Is(errs[1], broken) || errs[2] == nil || errs[2].Error() != "panic: ouch" || errs[3] != nil {
		t.Errorf("errors: %v", errs)
	}
	close(hooks)
	var got []string
	for name := range hooks {
		got = append(got, name)
	}
	assert.Equalf(t, []string{"a", "c", "d"}, got, "hooks of %v ran, want those of a, c and d", got)
	assert.Equal(t, 3, count(t, s, `SELECT COUNT(*) FROM writers`), "rows")
}

func TestCancelledWriter(t *testing.T) {
	s, _ := open(t)
	counter(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	leave := func() {
		cancel()
		wait(t, "the writer to leave the line", func() bool { return queued(s) == 2 })
	}
	errs := lineUp(t, s, leave,
		func() error { return s.Write(t.Context(), add(s, "a")) },
		func() error { return s.Write(ctx, add(s, "b")) },
		func() error { return s.Write(t.Context(), add(s, "c")) },
	)
	if errs[0] != nil || !errors.Is(errs[1], context.Canceled) || errs[2] != nil {
		t.Errorf("errors: %v", errs)
	}
	if count(t, s, `SELECT COUNT(*) FROM writers WHERE name = 'b'`) != 0 || count(t, s, `SELECT COUNT(*) FROM writers`) != 2 {
		t.Error("the cancelled writer wrote, or another did not")
	}
	assert.ErrorIs(t, s.Write(ctx, add(s, "d")), context.Canceled, "a writer that came too late")
}

func TestManyWriters(t *testing.T) {
	s, _ := open(t)
	counter(t, s)
	var wg sync.WaitGroup
	for i := range 300 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			if i%5 == 0 {
				go cancel()
			}
			defer cancel()
			err := s.Write(ctx, add(s, fmt.Sprint(i/2))) // every second one fails
			if err != nil && !s.IsUnique(err) && !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "interrupt") && !errors.Is(err, sql.ErrTxDone) {
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	wait(t, "the last transaction to end", func() bool {
		running, queued := underWay(s)
		return !running && queued == 0
	})
}

func TestLease(t *testing.T) {
	s, url := open(t)
	other := reopen(t, url)
	ctx := t.Context()
	mine, err := s.TakeLease(ctx, "job", "a", time.Minute)
	require.NoError(t, err)
	if _, err := other.TakeLease(ctx, "job", "b", time.Minute); !errors.Is(err, ErrLeaseHeld) {
		t.Errorf("a held lease: %v", err)
	}
	again, err := s.TakeLease(ctx, "job", "a", time.Minute)
	if err != nil || again.Token() != mine.Token() {
		t.Errorf("the holder itself: %v, token %d", err, again.Token())
	}
	assert.NoError(t, mine.Renew(ctx, time.Minute), "renew")
	_, err = s.DB().Exec(`UPDATE leases SET expires_at = 1`)
	require.NoError(t, err)
	theirs, err := other.TakeLease(ctx, "job", "b", time.Minute)
	if err != nil || theirs.Token() <= mine.Token() {
		t.Errorf("an expired lease: %v, token %d after %d", err, theirs.Token(), mine.Token())
	}
	// The late holder's work is rolled back.
	counter(t, s)
	err = s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := add(s, "late")(ctx, tx); err != nil {
			return err
		}
		return mine.Keep(ctx, tx, time.Minute)
	})
	if !errors.Is(err, ErrLeaseLost) || count(t, s, `SELECT COUNT(*) FROM writers`) != 0 {
		t.Errorf("a lost lease: %v", err)
	}
	assert.NoError(t, mine.Drop(ctx), "dropping a lost lease")
	if _, err := s.TakeLease(ctx, "job", "a", time.Minute); !errors.Is(err, ErrLeaseHeld) {
		t.Errorf("dropping a lost lease took the other's: %v", err)
	}
	require.NoError(t, theirs.Drop(ctx))
	_, err = s.TakeLease(ctx, "job", "a", time.Minute)
	assert.NoError(t, err, "a dropped lease")
}

func TestOpenTwice(t *testing.T) {
	s, url := open(t)
	_, err := s.DB().Exec(`UPDATE seats SET status = 'SOLD', reservation_id = 'r' WHERE show_id = 'show-1' AND seat_id = 'A-1'`)
	require.NoError(t, err)
	second := reopen(t, url)
	assert.Equal(t, 2500, count(t, second, `SELECT COUNT(*) FROM seats`), "seats")
	assert.Equal(t, 1, count(t, second, `SELECT COUNT(*) FROM seats WHERE status = 'SOLD'`), "seats sold")
	assert.NoError(t, second.Ping(t.Context()))
}

func TestSeedIsCompleted(t *testing.T) {
	s, url := open(t)
	for _, q := range []string{`DELETE FROM seats WHERE show_id = 'show-3' AND position > 100`, `DELETE FROM seats WHERE show_id = 'show-5'`,
		`DELETE FROM seat_classes WHERE show_id = 'show-5'`, `DELETE FROM show_performers WHERE show_id = 'show-5'`, `DELETE FROM shows WHERE show_id = 'show-5'`} {
		_, err := s.DB().Exec(q)
		require.NoError(t, err)
	}
	assert.Equal(t, 2500, count(t, reopen(t, url), `SELECT COUNT(*) FROM seats`), "seats after an interrupted first start")
}

func TestFolderLock(t *testing.T) {
	dir := t.TempDir()
	lock, err := LockFolder(dir)
	require.NoError(t, err)
	if _, err := LockFolder(dir); !errors.Is(err, ErrFolderInUse) {
		t.Errorf("a second lock: %v", err)
	}
	require.NoError(t, lock.Release())
	again, err := LockFolder(dir)
	require.NoError(t, err, "after the release")
	require.NoError(t, again.Release())
	if _, err := LockFolder(filepath.Join(dir, "missing")); err == nil {
		t.Error("a folder that is not there was locked")
	}
}

func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"sqlite://a.db": "a.db", "sqlite:///tmp/a.db": "/tmp/a.db", "sqlite://dir/a%20b.db": "dir/a b.db",
	} {
		if got, err := Path(url); got != want || err != nil {
			t.Errorf("%s is %q, %v", url, got, err)
		}
	}
	for url, word := range map[string]string{
		"": "scheme", "a.db": "scheme", "oracle://x": `"oracle"`, "sqlite://": "no file", "sqlite://a?mode=ro": `"mode"`, "sqlite://%zz": "malformed",
		"mysql://user:hunter2@h": "no host and database", "postgres://user:hunter2@/x": "no host", "redis://user:hunter2@h/0": `"redis"`,
	} {
		err := CheckURL(url)
		if err == nil || !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestLoad(t *testing.T) {
	d := sqlite()
	var two struct{ A, B string }
	require.NoError(t, load("-- name: A\nSELECT now_ms() FROM x FOR UPDATE\n\n-- name: B\nSELECT 2\n", d.rewrite, &two))
	if two.B != "SELECT 2" || strings.Contains(two.A, "now_ms") || strings.Contains(two.A, "FOR UPDATE") {
		t.Errorf("%+v", two)
	}
	if err := load("-- name: A\n-- rows before $1\nSELECT $2\n\t-- and after\n, $1\n-- name: B\n2", d.rewrite, &two); err != nil || two.A != "SELECT $2\n, $1" {
		t.Errorf("with comments: %q (%v)", two.A, err)
	}
	for name, text := range map[string]string{
		"missing": "-- name: A\nSELECT 1", "unknown": "-- name: A\n1\n-- name: B\n2\n-- name: C\n3", "twice": "-- name: A\n1\n-- name: A\n2\n-- name: B\n3",
	} {
		assert.Errorf(t, load(text, d.rewrite, &two), "%s: no error", name)
	}
}

// The schema itself refuses states that must not exist.
func TestImpossibleStates(t *testing.T) {
	s, _ := open(t)
	for _, q := range []string{
		`UPDATE seats SET status = 'HOLD' WHERE seat_id = 'A-1'`,
		`UPDATE seats SET status = 'SOLD' WHERE seat_id = 'A-1'`,
		`UPDATE seats SET reservation_id = 'r' WHERE seat_id = 'A-1'`,
		`INSERT INTO reservations (reservation_id, show_id, member_id, status, amount, hold_expires_at, created_at) VALUES ('r', 'show-1', 'm', 'CANCELLED', 1, 1, 1)`,
		`INSERT INTO reservations (reservation_id, show_id, member_id, status, amount, hold_expires_at, created_at) VALUES ('r', 'show-1', 'm', 'CONFIRMED', 1, 1, 1)`,
		`INSERT INTO payments (payment_id, payment_key, request_hash, member_id, type, reference_id, amount, card, card_last4, status, next_attempt_at, created_at) VALUES ('p', 'k', 'h', 'm', 'reservation', 'r', 1, 'approve', '4242', 'SUCCESS', 1, 1)`,
	} {
		if _, err := s.DB().Exec(q); err == nil {
			t.Errorf("was possible: %s", q)
		}
	}
}

func TestRoomSettings(t *testing.T) {
	s, _ := open(t)
	assert.NoError(t, queuetest.CheckSettings(t.Context(), s.RoomSettings()))
}
