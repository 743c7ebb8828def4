package mysqllog

import (
	"context"
	"slices"
	"strconv"
)

// passSize bounds how many rows get their places in one statement.
const passSize = 4096

// number gives places to what has committed in the lane since it was last asked,
// up to passSize rows, and returns the last place given. Any reader may do it,
// several at once: the lane's row lets one of them through.
func (l *Log) number(ctx context.Context, lane int) (last int64, err error) {
	for {
		next, ids, err := l.look(ctx, lane)
		switch {
		case err != nil:
			return 0, err
		case len(ids) == 0:
			last = max(next-1, 0)
			l.learn(lane, last)
			return last, nil
		case next == 0:
			if _, err := l.db.ExecContext(ctx, l.sql.createLane, lane); err != nil {
				return 0, err
			}
			continue
		}
		again, err := l.lookAgain(ctx, lane, ids[len(ids)-1])
		if err != nil {
			return 0, err
		}
		if ids = sure(ids, again); len(ids) == 0 {
			continue
		}
		// A row's place is its id, moved up behind the last place given: in one
		// pass the order of ids, and constant for the whole statement.
		add := next - ids[0]
		after := ids[len(ids)-1] + add + 1
		res, err := l.db.ExecContext(ctx, l.sql.number, list(ids), after, add, lane, next)
		if err != nil {
			return 0, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return 0, err
		}
		if n > 0 {
			l.learn(lane, after-1)
			return after - 1, nil
		}
		// Another reader was first: what is left to do may have changed.
	}
}

// look is the next place (0: the lane has no row yet) and the ids, ascending, of
// committed rows that have none.
func (l *Log) look(ctx context.Context, lane int) (next int64, ids []int64, err error) {
	rows, err := l.db.QueryContext(ctx, l.sql.pending, lane, lane, passSize)
	if err != nil {
		return 0, nil, err
	}
	defer rows.Close() //nolint:errcheck // Err is checked below
	for rows.Next() {
		var n, id int64
		if err := rows.Scan(&n, &id); err != nil {
			return 0, nil, err
		}
		if id == 0 {
			next = n
			continue
		}
		ids = append(ids, id)
	}
	slices.Sort(ids) // a union promises no order
	return next, ids, rows.Err()
}

// lookAgain is all ids up to the last, by a view of the data made later.
func (l *Log) lookAgain(ctx context.Context, lane int, last int64) ([]int64, error) {
	rows, err := l.db.QueryContext(ctx, l.sql.pendingAgain, lane, last)
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

// learn remembers that places up to last were given.
func (l *Log) learn(lane int, last int64) {
	if last > l.known(lane) {
		l.given.Store(lane, last)
	}
}

// known is a place up to which places were given; it may be too low.
func (l *Log) known(lane int) int64 {
	last, _ := l.given.Load(lane)
	n, _ := last.(int64)
	return n
}

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
