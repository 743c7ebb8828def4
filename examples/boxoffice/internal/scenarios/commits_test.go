package scenarios

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqlitedb"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
)

// figures marks the stress's own log lines for the table.
type figures struct{ testing.TB }

func (f figures) Log(args ...any) {
	f.Helper()
	f.TB.Log(append([]any{"measured:"}, args...)...)
}

// Sixteen writers commit out of the order of their ids, or roll back, beside a long
// transaction that has nothing to do with them: nothing is lost, published twice or
// out of its key's order, and the control, which reads the rows above the last id,
// loses some. (SQLite has one writer, so that a control loses nothing there.)
func TestScenario17OutOfOrderCommits(t *testing.T) {
	span := time.Duration(often(t, 6, 2)) * time.Second
	columns(t, func(t *testing.T) {
		path, db := servicetest.SQLite(t)
		reader, err := sqlitedb.OpenReader(path, sqlitedb.Config{})
		require.NoError(t, err)
		t.Cleanup(func() { check(t, "close the reader", reader.Close()) })
		store, err := sqliteoutbox.New(db, sqliteoutbox.Config{Reader: reader})
		require.NoError(t, err)
		check(t, "make the tables", store.Migrate(t.Context()))
		outboxtest.RunStress(figures{t}, outboxtest.StressConfig{
			Store: store, DB: db, Unrelated: reader, UnrelatedReads: true, Duration: span, UnrelatedFor: span * 3 / 4, MaxDelay: time.Millisecond,
		})
	}, func(t *testing.T) {
		// In parallel: most of it is waiting.
		t.Run("PostgreSQL", func(t *testing.T) {
			t.Parallel()
			db := servicetest.Postgres(t)
			db.SetMaxOpenConns(24)
			store, err := pgoutbox.New(db, pgoutbox.Config{})
			require.NoError(t, err)
			check(t, "make the tables", store.Migrate(t.Context()))
			outboxtest.RunStress(figures{t}, outboxtest.StressConfig{Store: store, DB: db, Unrelated: db, Duration: span, UnrelatedFor: span * 3 / 4, Naive: true})
		})
		servicetest.EachMySQL(t, func(t *testing.T, server servicetest.MySQLServer) {
			t.Parallel()
			db := server.DB(t)
			db.SetMaxOpenConns(24)
			store, err := mysqloutbox.New(db, mysqloutbox.Config{})
			require.NoError(t, err)
			check(t, "make the tables", store.Migrate(t.Context()))
			outboxtest.RunStress(figures{t}, outboxtest.StressConfig{Store: store, DB: db, Unrelated: db, Duration: span, UnrelatedFor: span * 3 / 4, Naive: true})
		})
	})
}
