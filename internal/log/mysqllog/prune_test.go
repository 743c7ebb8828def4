package mysqllog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
)

// pruneFrom returns the place behind which the next Prune begins.
func pruneFrom(t testing.TB, s stage) int64 {
	t.Helper()
	var server string
	require.NoError(t, s.db.QueryRow(`SELECT name FROM server`).Scan(&server))
	return s.prunedUpTo(1, server)
}

// Pruning continues where it ended, keeps young rows at any place, and starts over under another
// lease and on another server.
func TestPruneGoesOn(t *testing.T) { servicetest.EachMySQL(t, testPruneGoesOn) }

func testPruneGoesOn(t *testing.T, _ servicetest.MySQLServer) {
	s := newStage(t)
	s.add(t, "old", 6)
	lease := s.lease(t)
	page := s.read(t, lease.Position, 10, 6)
	s.advance(t, &lease, page[5].Position)
	prune := func(limit, want int, upTo int64) {
		t.Helper()
		n, err := s.Prune(t.Context(), 1, time.Now().Add(-time.Minute), limit)
		if err != nil || n != want {
			t.Errorf("pruned %d, %v; want %d", n, err, want)
		}
		assert.Equal(t, upTo, pruneFrom(t, s), "it goes on behind")
	}
	prune(10, 0, 0)
	s.exec(t, `UPDATE log_messages SET created_at = created_at - INTERVAL 1 HOUR WHERE message_id <> 'old 3'`)
	prune(2, 2, page[1].Position.ID)
	prune(2, 1, page[2].Position.ID) // the third; the fourth is young
	prune(10, 2, page[2].Position.ID)
	s.exec(t, `UPDATE log_messages SET created_at = created_at - INTERVAL 1 HOUR`)
	prune(10, 1, page[3].Position.ID)
	s.lease(t)
	assert.EqualValues(t, 0, pruneFrom(t, s), "under another lease it goes on behind")
	s.pruned.Store(1, bound{server: "first", place: 1 << 60})
	s.exec(t, `UPDATE server SET name = 'second'`)
	assert.EqualValues(t, 0, pruneFrom(t, s), "on another server it goes on behind")
}
