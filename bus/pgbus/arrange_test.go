package pgbus

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// A message that is deleted while it gets its position leaves a gap: the next message does not get
// the position of an earlier one, behind which it would never be read.
func TestTxPositionsAreUnique(t *testing.T) {
	db, err := pgdb.Open(servicetest.PostgresURL(t))
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	dialect := watermillSQL{}
	require.NoError(t, dialect.Prepare(t.Context(), db, "topic"))
	publish := func(ids ...string) {
		for _, id := range ids {
			_, err := db.Exec(`INSERT INTO watermill_topic (uuid, payload, metadata, transaction_id) VALUES ($1, '', '{}', pg_current_xact_id())`, id)
			require.NoError(t, err)
		}
	}
	publish("1", "2", "3")
	tx, err := db.Begin()
	require.NoError(t, err)
	defer tx.Rollback()
	_, err = tx.Exec(`DELETE FROM watermill_topic WHERE uuid = '2'`)
	require.NoError(t, err)
	arranged := make(chan error, 1)
	go func() {
		_, err := dialect.Arrange(context.WithoutCancel(t.Context()), db, "topic")
		arranged <- err
	}()
	for waits := false; !waits; { // Arrange waits for the row
		require.NoError(t, db.QueryRow(`SELECT EXISTS (SELECT 1 FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid) WHERE NOT l.granted AND a.datname = current_database())`).Scan(&waits))
	}
	require.NoError(t, tx.Commit())
	require.NoError(t, <-arranged)
	publish("4")
	_, err = dialect.Arrange(t.Context(), db, "topic")
	require.NoError(t, err)
	var positions, messages int
	require.NoError(t, db.QueryRow(`SELECT count(DISTINCT position), count(*) FROM watermill_topic`).Scan(&positions, &messages))
	require.Equal(t, messages, positions, "distinct positions")
}
