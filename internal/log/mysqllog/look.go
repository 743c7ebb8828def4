package mysqllog

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/sqlrows"
)

// view is the result of one look at a lane.
type view struct {
	place   int64       // the next place; 0: the lane has no row yet
	stands  bool        // the position is in the log
	whole   bool        // no row was left out that may have no place
	unread  unread      // the ids that were selected
	checked bound       // the last row of the other ids
	last    bound       // the last row that has a place, if that is after the position; its server always
	inOrder bool        // a commit is seen only with those that had to come before it
	ids     []int64     // committed rows without a place, ascending
	more    bool        // the limit was reached
	message string      // of the last id
	rows    []log.Entry // these rows, without places, if they were selected
}

// look selects the first committed rows without a place, up to the size of a pass for a reader
// of wanted rows. It returns whole rows if these may be all that are needed.
func (l *Log) look(ctx context.Context, lane int, after log.Position, u unread, wanted int) (v view, err error) {
	v.unread, v.checked = u, u.last[lane]
	most := l.passFor(wanted)
	whole, query := most <= wanted && l.inOrder.Load(), l.sql.pending
	if whole {
		query = l.sql.pendingWhole
	}
	args := append([]any{lane, after.Row, after.Row, after.ID, after.ID, lane, v.checked.row, v.checked.row, v.checked.place,
		lane, after.ID, lane}, u.args()...)
	var kind int
	var place, id, last, created int64
	var text string // a message id, or the server
	var e log.Entry
	into := []any{&kind, &place, &id, &text}
	if whole {
		into = append(into, &e.Topic, &e.Key, &e.Headers, &e.Payload, &created)
	}
	err = sqlrows.Each(ctx, l.db, func(rows *sql.Rows) error {
		e = log.Entry{Lane: lane}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		switch kind {
		case 0:
			v.place, v.stands, v.inOrder, v.last.server = place, id&1 != 0, id&4 != 0, text
			v.whole = id&2 != 0 && (v.checked.row == 0 || v.checked.server == text)
		case 1:
			v.last.place, v.last.row = place, id
		default:
			if last = max(last, id); last == id {
				v.message = text
			}
			v.ids = append(v.ids, id)
			if whole {
				e.ID, e.MessageID, e.CreatedAt, e.Position.Row = id, text, time.UnixMicro(created).UTC(), id
				v.rows = append(v.rows, e)
			}
		}
		return nil
	}, query, append(args, most)...)
	if err != nil {
		return view{}, err
	}
	// A union guarantees no order.
	slices.Sort(v.ids)
	slices.SortFunc(v.rows, func(a, b log.Entry) int { return cmp.Compare(a.ID, b.ID) })
	for i := range v.rows {
		v.rows[i].Position.Server = v.last.server
	}
	v.more = len(v.ids) == most
	l.inOrder.Store(v.inOrder)
	return v, nil
}

// seen is a row without a place.
type seen struct {
	id      int64
	message string
}

// lookAgain returns all rows up to the last, in a later snapshot, ascending.
func (l *Log) lookAgain(ctx context.Context, lane int, v view) ([]seen, error) {
	again, err := sqlrows.All(ctx, l.db, func(rows *sql.Rows) (s seen, err error) {
		err = rows.Scan(&s.id, &s.message)
		return s, err
	}, l.sql.pendingAgain, againArgs(lane, v)...)
	slices.SortFunc(again, func(a, b seen) int { return cmp.Compare(a.id, b.id) })
	return again, err
}

// lookAtRows is lookAgain with the whole rows.
func (l *Log) lookAtRows(ctx context.Context, lane int, v view) ([]log.Entry, error) {
	entries, err := l.entries(ctx, lane, v.last.server, l.sql.pendingRows, againArgs(lane, v)...)
	slices.SortFunc(entries, func(a, b log.Entry) int { return cmp.Compare(a.ID, b.ID) })
	return entries, err
}

func againArgs(lane int, v view) []any {
	return append(append([]any{lane}, v.unread.args()...), v.ids[len(v.ids)-1], v.last.server)
}

// Sure returns the ids that two successive looks agree on: those that both saw, below the first
// id that only the second saw, which may belong to a transaction that has to come before any of
// those above. The next pass takes the rest. Both are ascending; id is that of a row of the
// second look.
func Sure[T any](first []int64, second []T, id func(T) int64) []int64 {
	out := make([]int64, 0, len(first))
	i := 0
	for _, row := range second {
		for i < len(first) && first[i] < id(row) {
			i++ // it has a place now, or was deleted
		}
		if i == len(first) || first[i] != id(row) {
			break
		}
		out = append(out, first[i])
	}
	return out
}
