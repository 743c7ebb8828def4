package mysqllog

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/internal/sqllog"
)

const (
	// passSize is how many rows get their places in one statement at first. One that
	// takes longer than passSlow halves it, and one that takes less than passQuick
	// doubles it, up to passMost.
	passSize            = 1024
	passMost            = 4096
	passSlow, passQuick = 80 * time.Millisecond, 40 * time.Millisecond
	// leap bounds how many places a pass leaves free before its own, at random: so a
	// place tells its pass. At 100 passes a second 2^63 places last 5,500 years.
	leap = 1 << 20
)

// bound is a row that has a place, and so have all rows that come before it: what
// reads go up to. The zero bound is none.
type bound struct {
	server     string
	place, row int64
}

// number gives places to what has committed in the lane since it was last asked,
// up to so many rows as a statement may take, and returns the last row that has a place after the given
// position. Any reader may do it, several at once: the lane's row lets one of them
// through. It fails with sqllog.ErrLeaseLost when the position is not in the log of
// this server.
func (l *Log) number(ctx context.Context, lane int, after sqllog.Position) (bound, error) {
	b, _, err := l.numberAndRead(ctx, lane, after, 0)
	return b, err
}

// numberAndRead is number, and returns the rows that have a place after the position
// when these are what the pass gave places to, and no more than limit: then the second
// look has read them already.
func (l *Log) numberAndRead(ctx context.Context, lane int, after sqllog.Position, limit int) (bound, []sqllog.Entry, error) {
	for {
		v, err := l.look(ctx, lane, after)
		switch {
		case err != nil:
			return bound{}, nil, err
		case after.Server != "" && after.Server != v.last.server:
			return bound{}, nil, elsewhere(after.Server, v.last.server)
		case !v.stands:
			return bound{}, nil, fmt.Errorf("%w: server %s has lost row %d, which was at place %d of lane %d",
				sqllog.ErrLeaseLost, v.last.server, after.Row, after.ID, lane)
		case !v.whole:
			l.unread.Store(nil)
			continue
		case len(v.ids) == 0:
			if v.last.place > v.checked.place {
				l.saw(lane, nil, v.checked, v.last)
			}
			l.learn(lane, v.last)
			return v.last, nil, nil
		case v.next == 0:
			if _, err := l.db.ExecContext(ctx, l.sql.createLane, lane); err != nil {
				return bound{}, nil, err
			}
			continue
		}
		var entries []sqllog.Entry
		var again []int64
		if v.last.row == 0 && len(v.ids) <= limit {
			entries, again, err = l.lookAtRows(ctx, lane, v)
		} else {
			again, err = l.lookAgain(ctx, lane, v)
		}
		if err != nil {
			return bound{}, nil, err
		}
		ids := sure(v.ids, again)
		if len(ids) == 0 {
			continue
		}
		// A row's place is its id, moved up behind the last place given: in one
		// pass the order of ids, and constant for the whole statement.
		add := v.next + l.leap() - ids[0]
		row := ids[len(ids)-1]
		start := time.Now()
		res, err := l.db.ExecContext(ctx, l.sql.number, list(ids), row+add+1, add, lane, v.next, v.last.server)
		if err != nil {
			return bound{}, nil, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return bound{}, nil, err
		}
		if n > 0 {
			l.resize(len(ids), time.Since(start))
			b := bound{server: v.last.server, place: row + add, row: row}
			l.learn(lane, b)
			l.saw(lane, ids, v.checked, b)
			if len(ids) < len(v.ids) {
				return b, nil, nil // an earlier pass may lie between
			}
			entries = entries[:min(len(ids), len(entries))]
			for i := range entries {
				entries[i].Position.ID = entries[i].ID + add
			}
			return b, entries, nil
		}
		// Another reader was first: what is left to do may have changed.
	}
}

func (l *Log) passSize() int { return int(cmp.Or(l.pass.Load(), passSize)) }

// resize has a pass take as long as it may: the server's speed decides, and the rows'.
func (l *Log) resize(rows int, took time.Duration) {
	switch size := l.passSize(); {
	case took > passSlow:
		l.pass.Store(int64(max(size/2, passSize/8)))
	case took < passQuick && rows >= size:
		l.pass.Store(int64(min(2*size, passMost)))
	}
}

// elsewhere is sqllog.ErrLeaseLost with the reason.
func elsewhere(read, now string) error {
	return fmt.Errorf("%w: the position was read on server %s, and this is %s", sqllog.ErrLeaseLost, read, now)
}

// view is what one look shows of a lane.
type view struct {
	next    int64   // the next place; 0: the lane has no row yet
	stands  bool    // the position is in the log
	whole   bool    // nothing was left out that may have no place
	unread  unread  // the ids that it was asked for
	checked bound   // the last row of the others
	last    bound   // the last row that has a place, if that is after the position; its server always
	ids     []int64 // committed rows without a place, ascending
}

func (l *Log) look(ctx context.Context, lane int, after sqllog.Position) (v view, err error) {
	v.unread = l.unreadNow()
	v.checked = v.unread.last[lane]
	args := append([]any{lane, after.Row, after.Row, after.ID, after.ID, lane, v.checked.row, v.checked.row, v.checked.place,
		lane, after.ID, lane}, v.unread.args()...)
	rows, err := l.db.QueryContext(ctx, l.sql.pending, append(args, l.passSize())...)
	if err != nil {
		return view{}, err
	}
	defer rows.Close() //nolint:errcheck // Err is checked below
	for rows.Next() {
		var kind int
		var place, id int64
		var server string
		if err := rows.Scan(&kind, &place, &id, &server); err != nil {
			return view{}, err
		}
		switch kind {
		case 0:
			v.next, v.stands, v.last.server = place, id&1 != 0, server
			v.whole = id&2 != 0 && (v.checked.row == 0 || v.checked.server == server)
		case 1:
			v.last.place, v.last.row = place, id
		default:
			v.ids = append(v.ids, id)
		}
	}
	slices.Sort(v.ids) // a union promises no order
	return v, rows.Err()
}

// lookAgain is all ids up to the last, by a view of the data made later.
func (l *Log) lookAgain(ctx context.Context, lane int, v view) ([]int64, error) {
	rows, err := l.db.QueryContext(ctx, l.sql.pendingAgain, l.againArgs(lane, v)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err is checked below
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func (*Log) againArgs(lane int, v view) []any {
	return append(append([]any{lane}, v.unread.args()...), v.ids[len(v.ids)-1], v.last.server)
}

// lookAtRows is lookAgain with the rows, which have no places yet.
func (l *Log) lookAtRows(ctx context.Context, lane int, v view) ([]sqllog.Entry, []int64, error) {
	rows, err := l.db.QueryContext(ctx, l.sql.pendingRows, l.againArgs(lane, v)...)
	if err != nil {
		return nil, nil, err
	}
	entries, err := collect(rows, nil, lane, v.last.server)
	ids := make([]int64, len(entries))
	for i := range entries {
		ids[i] = entries[i].ID
	}
	return entries, ids, err
}

// sure is what two looks one after the other agree on: the ids that both saw,
// below the first that only the second saw, for it may be of a transaction that
// has to come before any of those above. What remains has its turn in the next
// pass. Both are ascending.
func sure(first, second []int64) []int64 {
	out := make([]int64, 0, len(first))
	i := 0
	for _, id := range second {
		for i < len(first) && first[i] < id {
			i++ // it has a place by now, or was deleted
		}
		if i == len(first) || first[i] != id {
			break
		}
		out = append(out, id)
	}
	return out
}

// learn remembers up to where places were given. Whether that still holds is asked
// by the statement that relies on it.
func (l *Log) learn(lane int, b bound) {
	if b.row != 0 {
		l.given.Store(lane, b)
	}
}

// known is a row up to which places were given, on a position's server: there may
// be later ones.
func (l *Log) known(lane int, after sqllog.Position) (bound, bool) {
	v, _ := l.given.Load(lane)
	b, _ := v.(bound)
	return b, b.place > after.ID && (after.Server == "" || after.Server == b.server)
}

func randomLeap() int64 { return 1 + rand.Int64N(leap) }

// list is a JSON array of ids.
func list(ids []int64) string {
	text := append(make([]byte, 0, 2+len(ids)*8), '[')
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, id, 10)
	}
	return string(append(text, ']'))
}
