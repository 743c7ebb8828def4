package mysqllog

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// Every id left out of a look was seen with a place, and there are never more spans than the
// statement takes.
func TestUnread(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		u, seen := everything(), map[int64]bool{}
		next := int64(1)
		var late []int64
		for pass := range 60 {
			var ids []int64
			for range random.IntN(20) {
				if random.IntN(8) == 0 {
					late = append(late, next) // open, or rolled back
				} else {
					ids = append(ids, next)
				}
				next++
			}
			if len(late) > 0 && random.IntN(2) == 0 {
				i := random.IntN(len(late))
				ids = append([]int64{late[i]}, ids...)
				late = slices.Delete(late, i, i+1)
			}
			for _, id := range ids {
				seen[id] = true
			}
			u = u.without(pass%3, ids, bound{server: "a", place: int64(pass + 1), row: next - 1})
			if n := len(u.spans); n == 0 || n > maxSpans || len(u.args()) != 2*maxSpans-1 {
				t.Fatalf("seed %d: %d spans", seed, n)
			}
			if end := u.spans[len(u.spans)-1]; end.to != math.MaxInt64 {
				t.Fatalf("seed %d: the last span ends at %d", seed, end.to)
			}
			for id := range next + 5 {
				covered := slices.ContainsFunc(u.spans, func(s span) bool { return s.from <= id && id <= s.to })
				if !covered && !seen[id] {
					t.Fatalf("seed %d: nothing looks for %d, which has no place: %v", seed, id, u.spans)
				}
			}
			for i := range u.spans[1:] {
				if u.spans[i].to >= u.spans[i+1].from {
					t.Fatalf("seed %d: the spans meet: %v", seed, u.spans)
				}
			}
		}
	}
}

// A reader records only rows that its statement has checked.
func TestSaw(t *testing.T) {
	at := func(server string, place int64) bound { return bound{server: server, place: place, row: place} }
	l := &Log{}
	wants := func(doing string, want ...span) {
		t.Helper()
		if got := l.unreadNow().spans; !slices.Equal(got, want) {
			t.Errorf("%s: a look asks for %v, want %v", doing, got, want)
		}
	}
	const end = math.MaxInt64
	l.saw(1, []int64{1, 2, 3}, bound{}, at("a", 3))
	wants("first rows", span{0, 0}, span{4, end})
	l.saw(2, []int64{4}, bound{}, at("a", 4))
	wants("another lane", span{0, 0}, span{5, end})
	l.saw(1, []int64{5}, at("a", 3), at("a", 5))
	wants("behind what was checked", span{0, 0}, span{6, end})
	l.saw(1, []int64{6}, at("a", 3), at("a", 6))
	wants("another reader has gone on", span{0, 0}, span{6, end})
	l.saw(1, []int64{6}, at("b", 6), at("b", 6))
	wants("another server", span{0, 5}, span{7, end})
}

// Without missing ids a look leaves out every row that was read.
func TestLooksLeaveOutWhatWasRead(t *testing.T) {
	servicetest.EachMySQL(t, func(t *testing.T, _ servicetest.MySQLServer) {
		l, db := hasty(t)
		var at log.Position
		for range 20 {
			appendTo(t, l, db, 7)
			_, next, err := l.Read(t.Context(), 1, at, 5)
			require.NoError(t, err)
			at = next
		}
		for {
			entries, next, err := l.Read(t.Context(), 1, at, 100)
			require.NoError(t, err)
			if at = next; len(entries) == 0 {
				break
			}
		}
		if spans, want := l.unreadNow().spans, []span{{0, 0}, {141, math.MaxInt64}}; !slices.Equal(spans, want) {
			t.Errorf("a look asks for %v, want %v", spans, want)
		}
	})
}

// More transactions are open than a look has spans, and commit in any order.
func TestManyLateRowsAreFound(t *testing.T) {
	servicetest.EachMySQL(t, func(t *testing.T, _ servicetest.MySQLServer) {
		l, db := hasty(t)
		db.SetMaxOpenConns(3*maxSpans + 4)
		var open []*sql.Tx
		for range 3 * maxSpans {
			tx, err := db.Begin()
			require.NoError(t, err)
			defer tx.Rollback()
			appendTo(t, l, tx, 1)
			open = append(open, tx)
			appendTo(t, l, db, 3)
		}
		want := len(open) * 3
		var at log.Position
		read := func() {
			t.Helper()
			for n := 0; n < want; {
				entries, next, err := l.Read(t.Context(), 1, at, 10)
				if err != nil || len(entries) == 0 {
					t.Fatalf("%d entries were read, want %d: %v", n, want, err)
				}
				n, at = n+len(entries), next
			}
			entries, _, err := l.Read(t.Context(), 1, at, 10)
			if err != nil || len(entries) > 0 {
				t.Fatalf("%d entries too many: %v", len(entries), err)
			}
		}
		read()
		rand.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
		for _, tx := range open {
			require.NoError(t, tx.Commit())
			want = 1
			read()
		}
	})
}

// A crash undoes the last passes, and the rows are there without places: a look that left them
// out would never find them.
func TestUndonePassesAreRepeated(t *testing.T) {
	servicetest.EachMySQL(t, func(t *testing.T, _ servicetest.MySQLServer) {
		l, db := hasty(t)
		appendTo(t, l, db, 10)
		_, kept, err := l.Read(t.Context(), 1, log.Position{}, 100)
		require.NoError(t, err)
		var counter int64
		require.NoError(t, db.QueryRow(`SELECT next_seq FROM log_messages_lanes WHERE lane = 1`).Scan(&counter))
		for range 3 {
			appendTo(t, l, db, 10)
			_, err := l.number(t.Context(), 1, kept)
			require.NoError(t, err)
		}
		for _, undo := range []string{
			fmt.Sprintf(`UPDATE log_messages SET seq = 0 WHERE id > %d`, kept.Row),
			fmt.Sprintf(`UPDATE log_messages_lanes SET next_seq = %d`, counter),
		} {
			_, err := db.Exec(undo)
			require.NoError(t, err)
		}
		entries, _, err := l.Read(t.Context(), 1, kept, 100)
		if err != nil || len(entries) != 30 {
			t.Errorf("%d entries are read again, want 30: %v", len(entries), err)
		}
	})
}

// A pass grows while it is quick and shrinks when it is slow.
func TestPassSize(t *testing.T) {
	l := &Log{}
	wants := func(want int) {
		t.Helper()
		if got := l.passSize(); got != want {
			t.Errorf("a pass takes %d rows, want %d", got, want)
		}
	}
	wants(passSize)
	l.resize(passSize/2, 0) // there was no more
	wants(passSize)
	l.resize(1000, 0) // one of five passes of a read of 5,000
	wants(2 * passSize)
	for range 5 {
		l.resize(passMost, 0)
	}
	wants(passMost)
	l.resize(passMost, passQuick)
	wants(passMost)
	for range 9 {
		l.resize(1, passSlow+1)
	}
	wants(passSize / 8)
}
