package admissions_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/admissions"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) (*admissions.Log, *store.Store) {
	t.Helper()
	return openAt(t, "sqlite://"+t.TempDir()+"/boxoffice.db")
}

func openAt(t *testing.T, url string) (*admissions.Log, *store.Store) {
	t.Helper()
	s, err := store.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, s.Close())
	})
	l, err := admissions.New(s, admissions.Config{Holder: "test", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return l, s
}

func notice(event, user string, at int64) *message.Message {
	return message.NewMessage(user+":"+event, []byte(fmt.Sprintf(
		`{"action":"admitted","eventId":%q,"userId":%q,"entryToken":"secret","timestamp":%d}`, event, user, at)))
}

func TestRows(t *testing.T) {
	l, s := open(t)
	handle := l.Consumer("queue.admitted").Handler
	again := []*message.Message{notice("show-1", "ann", 1_700_000_000_000), notice("show-1", "bob", 1_700_000_001_000), notice("show-2", "ann", 1_700_000_002_000)}
	for range 2 { // delivered twice
		require.NoError(t, handle(t.Context(), again))
	}
	if err := handle(t.Context(), []*message.Message{notice("show-1", "ann", 1_700_000_003_000)}); err != nil { // let in again
		t.Fatal(err)
	}
	all, err := l.Newest(t.Context(), 500)
	require.NoError(t, err)
	var got []string
	for _, a := range all {
		got = append(got, fmt.Sprintf("%s %s %d", a.EventID, a.UserID, a.AdmittedAt.Unix()-1_700_000_000))
	}
	assert.Equalf(t, "show-1 ann 3,show-2 ann 2,show-1 bob 1,show-1 ann 0", strings.Join(got, ","), "%q", got)
	if two, err := l.Newest(t.Context(), 2); err != nil || len(two) != 2 || two[0] != all[0] {
		t.Errorf("%v, %v", two, err)
	}
	var columns int
	if err := s.DB().QueryRow(`SELECT COUNT(*) FROM pragma_table_info('admissions')`).Scan(&columns); err != nil || columns != 3 {
		t.Errorf("a row has %d columns: no token belongs there (%v)", columns, err)
	}
}

func TestRefused(t *testing.T) {
	l, _ := open(t)
	for name, payload := range map[string]string{
		"no JSON": "nonsense", "another action": `{"action":"turn","eventId":"e","userId":"u","timestamp":1}`,
		"no event": `{"action":"admitted","userId":"u","timestamp":1}`, "no user": `{"action":"admitted","eventId":"e","timestamp":1}`,
		"no time":                  `{"action":"admitted","eventId":"e","userId":"u"}`,
		"a long user":              `{"action":"admitted","eventId":"e","userId":"` + strings.Repeat("u", 257) + `","timestamp":1}`,
		"a time that JSON has not": `{"action":"admitted","eventId":"e","userId":"u","timestamp":253402300800000}`, // year 10000
		"a NUL":                    `{"action":"admitted","eventId":"e","userId":"u\u0000","timestamp":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			bad := message.NewMessage("x", []byte(payload))
			err := l.Consumer("t").Handler(t.Context(), []*message.Message{bad, notice("show-1", name, 1_700_000_000_000)})
			var batch bus.BatchError
			if !errors.As(err, &batch) || len(batch.Unwrap()) != 1 || fault.Of(batch[0]) != fault.Permanent {
				t.Fatalf("%v", err)
			}
			all, err := l.Newest(t.Context(), 1)
			if err != nil || len(all) != 1 {
				t.Errorf("the good one has no row: %v, %v", all, err)
			}
		})
	}
}

func TestForget(t *testing.T) {
	l, s := open(t)
	forgets(t, l, s)
}

// TestServers repeats the tests of the SQLite file on database servers.
func TestServers(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{
		"PostgreSQL": servicetest.PostgresURL, "MariaDB": servicetest.MariaDBURL, "MySQL": servicetest.MySQLURL,
	} {
		t.Run(name, func(t *testing.T) {
			l, s := openAt(t, url(t))
			forgets(t, l, s)
			again := []*message.Message{notice("show-1", "ann", 1_900_000_000_000), notice("show-1", "Ann", 1_900_000_000_000)}
			for range 2 {
				require.NoError(t, l.Consumer("t").Handler(t.Context(), again))
			}
			if all, err := l.Newest(t.Context(), 500); err != nil || len(all) != 3 {
				t.Errorf("%v, %v", all, err)
			}
		})
	}
}

// forgets checks that old rows are deleted in steps and a new one is kept.
func forgets(t *testing.T, l *admissions.Log, s *store.Store) {
	t.Helper()
	old := time.Now().Add(-admissions.Keep - time.Hour).UnixMilli()
	var all []admissions.Admission
	for i := range int64(10) {
		all = append(all, admissions.Admission{EventID: "show-1", UserID: fmt.Sprint("old-", i), AdmittedAt: time.UnixMilli(old + i)})
	}
	all = append(all, admissions.Admission{EventID: "show-1", UserID: "new", AdmittedAt: time.Now()})
	require.NoError(t, l.Add(t.Context(), all...))
	lease, err := s.TakeLease(t.Context(), "admission-retention", "test", time.Minute)
	require.NoError(t, err)
	for _, want := range []int64{4, 4, 2, 0} {
		n, err := l.Forget(t.Context(), lease, 4)
		if err != nil || n != want {
			t.Fatalf("%d deleted, want %d: %v", n, want, err)
		}
	}
	if left, err := l.Newest(t.Context(), 500); err != nil || len(left) != 1 || left[0].UserID != "new" {
		t.Errorf("%v, %v", left, err)
	}
}
