package mysqllog

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logtest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// stage is a log whose tables can be restored to an earlier state, on a server whose name can be
// changed. It simulates a failover to a replica that lags and, under the same name, a crash that
// loses commits.
type stage struct {
	*Log
	db *sql.DB
}

var cursor = log.Cursor{Consumer: "c", Lane: 1}

func newStage(t testing.TB) stage {
	t.Helper()
	s := stage{db: servicetest.Chosen(t).DB(t)}
	s.Log = s.another(t)
	logtest.Migrate(t, s, s.db)
	s.exec(t, `CREATE TABLE server (name VARCHAR(20) NOT NULL)`)
	s.exec(t, `INSERT INTO server VALUES ('first')`)
	for _, table := range []string{"log_messages", "log_messages_lanes", "log_cursors"} {
		s.exec(t, `CREATE TABLE `+table+`_kept LIKE `+table)
	}
	return s
}

// another returns the log of another process.
func (s stage) another(t testing.TB) *Log {
	t.Helper()
	l, err := on(s.db, inside, "(SELECT name FROM server)", inOrder)
	require.NoError(t, err)
	return l
}

func (s stage) exec(t testing.TB, query string) {
	t.Helper()
	_, err := s.db.Exec(query)
	require.NoError(t, err)
}

// keep saves the present state of the tables.
func (s stage) keep(t testing.TB) {
	t.Helper()
	for _, table := range []string{"log_messages", "log_messages_lanes", "log_cursors"} {
		s.exec(t, `INSERT INTO `+table+`_kept SELECT * FROM `+table)
	}
}

// lose restores the tables to the state saved by keep. Ids are assigned again.
func (s stage) lose(t testing.TB) {
	t.Helper()
	for _, table := range []string{"log_messages", "log_messages_lanes", "log_cursors"} {
		s.exec(t, `TRUNCATE `+table)
		s.exec(t, `INSERT INTO `+table+` SELECT * FROM `+table+`_kept`)
	}
	s.exec(t, `ALTER TABLE log_messages AUTO_INCREMENT = 1`) // the next free id
}

// promote is lose on another server.
func (s stage) promote(t testing.TB) {
	t.Helper()
	s.lose(t)
	s.exec(t, `UPDATE server SET name = 'second'`)
}

func (s stage) add(t testing.TB, prefix string, n int) {
	t.Helper()
	for i := range n {
		appendIDs(t, s.Log, s.db, fmt.Sprint(prefix, " ", i))
	}
}

func (s stage) lease(t testing.TB) log.Lease {
	t.Helper()
	lease, err := s.Lease(t.Context(), cursor, "me", time.Minute)
	require.NoError(t, err)
	return lease
}

func (s stage) read(t testing.TB, after log.Position, limit, want int) []log.Entry {
	t.Helper()
	page, _, err := s.Read(t.Context(), 1, after, limit)
	if err != nil || len(page) != want {
		t.Fatalf("read %d entries, %v; want %d", len(page), err, want)
	}
	return page
}

func (s stage) advance(t testing.TB, lease *log.Lease, p log.Position) {
	t.Helper()
	require.NoError(t, s.Advance(t.Context(), *lease, p, time.Minute))
	lease.Position = p
}

func lost(t testing.TB, what string, err error) {
	t.Helper()
	assert.ErrorIsf(t, err, log.ErrLeaseLost, "%s", what)
}

// rest takes the lease again and returns the remaining entries, page by page.
func (s stage) rest(t testing.TB) (ids []string) {
	t.Helper()
	lease := s.lease(t)
	for {
		page, next, err := s.Read(t.Context(), 1, lease.Position, 3)
		require.NoError(t, err)
		if len(page) == 0 {
			return ids
		}
		for _, e := range page {
			ids = append(ids, e.MessageID)
		}
		s.advance(t, &lease, next)
	}
}

func (s stage) wantRest(t testing.TB, prefix map[string]int) {
	t.Helper()
	var want []string
	for p, n := range prefix {
		for i := range n {
			want = append(want, fmt.Sprint(p, " ", i))
		}
	}
	got := s.rest(t)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the new holder read %q, want %q", got, want)
	}
}

// A relay is in the middle of entries that the promoted replica lacks. Its memory is discarded,
// and every entry of the new primary is read.
func TestFailoverToALaggingReplica(t *testing.T) {
	servicetest.EachMySQL(t, testFailoverToALaggingReplica)
}

func testFailoverToALaggingReplica(t *testing.T, _ servicetest.MySQLServer) {
	for _, settled := range []int{0, 3} { // the rows beyond the replica that the cursor has passed
		s := newStage(t)
		s.add(t, "old", 4)
		lease := s.lease(t)
		s.advance(t, &lease, s.read(t, lease.Position, 10, 4)[3].Position)
		s.keep(t)
		s.add(t, "lost", 6)
		page := s.read(t, lease.Position, 10, 6)
		if settled > 0 {
			s.advance(t, &lease, page[settled-1].Position)
		}
		s.promote(t)
		s.add(t, "new", 20)
		_, _, err := s.Read(t.Context(), 1, page[5].Position, 10)
		lost(t, "reading on", err)
		_, _, err = s.Read(t.Context(), 1, lease.Position, 10)
		lost(t, "reading from the cursor", err)
		lost(t, "renewing", s.Renew(t.Context(), time.Minute, lease))
		lost(t, "advancing", s.Advance(t.Context(), lease, page[5].Position, time.Minute))
		lost(t, "advancing to where it stands", s.Advance(t.Context(), lease, lease.Position, time.Minute))
		s.wantRest(t, map[string]int{"new": 20})
	}
}

// The ids of lost rows are assigned again, to rows of another lane: its reader sees them, in a lane
// that it takes over then, or keeps while the reader of the first lane notices the loss.
func TestLostIDsInAnotherLane(t *testing.T) { servicetest.EachMySQL(t, testLostIDsInAnotherLane) }

func testLostIDsInAnotherLane(t *testing.T, _ servicetest.MySQLServer) {
	second := log.Cursor{Consumer: "c", Lane: 2}
	for _, kept := range []bool{false, true} {
		s := newStage(t)
		s.lease(t)
		held, err := s.Lease(t.Context(), second, "me", time.Minute)
		require.NoError(t, err)
		s.keep(t)
		s.add(t, "lost", 3)
		page := s.read(t, log.Position{}, 10, 3)
		if kept {
			s.lose(t)
			_, _, err := s.Read(t.Context(), 1, page[2].Position, 10)
			lost(t, "reading on", err)
		} else {
			s.promote(t)
			held, err = s.Lease(t.Context(), second, "me", time.Minute)
			require.NoError(t, err)
		}
		require.NoError(t, s.Append(t.Context(), s.db, []log.Entry{{Lane: 2, Topic: "t", MessageID: "new", Key: "k"}}))
		entries, _, err := s.Read(t.Context(), 2, held.Position, 10)
		require.NoError(t, err)
		assert.Lenf(t, entries, 1, "rows of the lane, kept: %t", kept)
	}
}

// The server continues under the same name and has lost its last commits. Every position from
// these commits is refused separately.
func TestCrashThatLosesCommits(t *testing.T) { servicetest.EachMySQL(t, testCrashThatLosesCommits) }

func testCrashThatLosesCommits(t *testing.T, _ servicetest.MySQLServer) {
	for _, rows := range []int{0, 6} { // the number of lost rows that had been appended before
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			s := newStage(t)
			s.add(t, "old", 4)
			lease := s.lease(t)
			s.advance(t, &lease, s.read(t, lease.Position, 10, 4)[3].Position)
			s.add(t, "some", rows)
			s.keep(t)
			s.add(t, "lost", 6-rows)
			page := s.read(t, lease.Position, 10, 6)
			s.lose(t)
			s.add(t, "new", 6)
			// Another group gives places to other rows with the lost ids.
			other := s.another(t)
			require.Len(t, readAll(t, other), 4+rows+6, "the other group read")
			_, _, err := s.Read(t.Context(), 1, page[2].Position, 10)
			lost(t, "reading on", err)
			for i, e := range page {
				lost(t, fmt.Sprint("advancing over ", i+1), s.Advance(t.Context(), lease, e.Position, time.Minute))
			}
			assert.NoError(t, s.Renew(t.Context(), time.Minute, lease), "renewing where the cursor stood before and stands now")
			s.wantRest(t, map[string]int{"some": rows, "new": 6})
		})
	}
}

// The cursor itself had moved, and has moved back.
func TestCrashThatMovesTheCursorBack(t *testing.T) {
	servicetest.EachMySQL(t, testCrashThatMovesTheCursorBack)
}

func testCrashThatMovesTheCursorBack(t *testing.T, _ servicetest.MySQLServer) {
	s := newStage(t)
	s.add(t, "old", 2)
	lease := s.lease(t)
	page := s.read(t, lease.Position, 10, 2)
	s.keep(t)
	s.advance(t, &lease, page[0].Position)
	s.lose(t)
	lost(t, "renewing", s.Renew(t.Context(), time.Minute, lease))
	lost(t, "advancing", s.Advance(t.Context(), lease, page[1].Position, time.Minute))
	s.wantRest(t, map[string]int{"old": 2})
}

// A lease that was lost with its token does not count as that of the next holder, which gets the
// same token.
func TestLostTokenIsGivenAgain(t *testing.T) { servicetest.EachMySQL(t, testLostTokenIsGivenAgain) }

func testLostTokenIsGivenAgain(t *testing.T, _ servicetest.MySQLServer) {
	s := newStage(t)
	s.add(t, "old", 1)
	s.keep(t)
	mine := s.lease(t)
	s.lose(t)
	yours, err := s.Lease(t.Context(), cursor, "you", time.Minute)
	if err != nil || yours.Token != mine.Token {
		t.Fatalf("the next holder has token %d, %v; want %d again", yours.Token, err, mine.Token)
	}
	lost(t, "renewing", s.Renew(t.Context(), time.Minute, mine))
	lost(t, "advancing", s.Advance(t.Context(), mine, mine.Position, time.Minute))
	require.NoError(t, s.Release(t.Context(), mine))
	assert.NoError(t, s.Renew(t.Context(), time.Minute, yours), "renewing after the other's release")
}

// Without leaps, passes repeat after a crash: the same place goes to another row with the same
// id. The leap prevents that.
func TestPlaceTellsItsPass(t *testing.T) { servicetest.EachMySQL(t, testPlaceTellsItsPass) }

func testPlaceTellsItsPass(t *testing.T, _ servicetest.MySQLServer) {
	for _, leaps := range []bool{false, true} {
		s := newStage(t)
		if !leaps {
			s.leap = dense
		}
		s.lease(t)
		s.keep(t)
		s.add(t, "lost", 2)
		lease := s.lease(t)
		page := s.read(t, lease.Position, 10, 2)
		s.lose(t)
		s.lease(t) // the token as it was
		s.add(t, "new", 2)
		s.read(t, log.Position{}, 10, 2)
		err := s.Advance(t.Context(), lease, page[1].Position, time.Minute)
		assert.Equalf(t, leaps, errors.Is(err, log.ErrLeaseLost), "with leaps (%v) advancing over rows that were never read: %v", leaps, err)
	}
}

// Another reader's bound, from another server or from before a crash, makes no reader skip rows.
func TestStaleBoundIsNotBelieved(t *testing.T) { servicetest.EachMySQL(t, testStaleBoundIsNotBelieved) }

func testStaleBoundIsNotBelieved(t *testing.T, _ servicetest.MySQLServer) {
	for _, server := range []string{"first", "zeroth"} {
		s := newStage(t)
		s.add(t, "new", 5)
		s.learn(1, bound{server: server, place: 1 << 40, row: 3})
		s.wantRest(t, map[string]int{"new": 5})
	}
}

// An Advance with an unknown outcome is repeated, also when its row has been deleted.
func TestAdvanceIsRepeated(t *testing.T) { servicetest.EachMySQL(t, testAdvanceIsRepeated) }

func testAdvanceIsRepeated(t *testing.T, _ servicetest.MySQLServer) {
	s := newStage(t)
	s.add(t, "old", 2)
	lease := s.lease(t)
	page := s.read(t, lease.Position, 10, 2)
	for range 2 {
		require.NoError(t, s.Advance(t.Context(), lease, page[1].Position, time.Minute))
	}
	if n, err := s.Prune(t.Context(), 1, time.Now().Add(time.Hour), 10); n != 2 || err != nil {
		t.Fatalf("pruned %d, %v", n, err)
	}
	assert.NoError(t, s.Advance(t.Context(), lease, page[1].Position, time.Minute), "repeated after the row was pruned")
	// A reader that was idle for the whole retention continues.
	s.add(t, "new", 1)
	s.read(t, page[1].Position, 10, 1)
}
