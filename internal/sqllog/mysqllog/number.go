package mysqllog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
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
	// fewRows are read by the second look: that saves a statement. Where there are more
	// they are read while they get their places, which saves time.
	fewRows = 256
)

// bound is a row that has a place, and so have all rows that come before it: what
// reads go up to. The zero bound is none.
type bound struct {
	server     string
	place, row int64
}

// number gives places to what has committed in the lane since it was last asked,
// up to so many rows as a statement may take, and returns the last row that has a
// place after the given position. Any reader may do it, several at once: the lane's row
// lets one of them through. It fails with sqllog.ErrLeaseLost when the position is not
// in the log of this server.
func (l *Log) number(ctx context.Context, lane int, after sqllog.Position) (bound, error) {
	b, _, _, err := l.numberAndRead(ctx, lane, after, 0)
	return b, err
}

// numberAndRead is number, and returns the rows that have a place after the position
// where these are what the pass gave places to, and no more than limit. Without rows
// they are to be read up to the bound. It tells whether the pass left more for another.
func (l *Log) numberAndRead(ctx context.Context, lane int, after sqllog.Position, limit int) (bound, []sqllog.Entry, bool, error) {
	for most := l.passFor(limit); ; {
		v, err := l.look(ctx, lane, after, most)
		switch {
		case err != nil:
			return bound{}, nil, false, err
		case after.Server != "" && after.Server != v.last.server:
			return bound{}, nil, false, elsewhere(after.Server, v.last.server)
		case !v.stands:
			return bound{}, nil, false, fmt.Errorf("%w: server %s has lost row %d, which was at place %d of lane %d",
				sqllog.ErrLeaseLost, v.last.server, after.Row, after.ID, lane)
		case !v.whole:
			l.unread.Store(nil)
			continue
		case len(v.ids) == 0:
			if v.last.place > v.checked.place {
				l.saw(lane, nil, v.checked, v.last)
			}
			l.learn(lane, v.last)
			return v.last, nil, false, nil
		case v.next == 0:
			if _, err := l.db.ExecContext(ctx, l.sql.createLane, lane); err != nil {
				return bound{}, nil, false, err
			}
			continue
		}
		p, err := l.agree(ctx, lane, v, limit)
		if err != nil {
			return bound{}, nil, false, err
		}
		if len(p.ids) == 0 {
			continue
		}
		b, entries, err := l.give(ctx, lane, v, p)
		if err != nil || b.row != 0 {
			return b, entries, len(v.ids) == most, err
		}
		// Another reader was first, or a crash has taken rows: what is left to do may
		// have changed.
	}
}

// pass is what two looks agree on.
type pass struct {
	ids     []int64
	message string         // of the last
	wanted  bool           // nothing else has a place after the position: the rows may be returned
	rows    []sqllog.Entry // by the second look, without places; nil where there are many
}

// agree looks once more, at the rows where there are few of them.
func (l *Log) agree(ctx context.Context, lane int, v view, limit int) (p pass, err error) {
	var again []int64
	p.wanted = v.last.row == 0 && len(v.ids) <= limit
	if p.wanted && len(v.ids) <= fewRows {
		p.rows, err = l.lookAtRows(ctx, lane, v, v.ids[len(v.ids)-1])
		for i := range p.rows {
			again = append(again, p.rows[i].ID)
		}
	} else {
		again, err = l.lookAgain(ctx, lane, v)
	}
	p.ids = sure(v.ids, again)
	if err != nil || len(p.ids) == 0 {
		return p, err
	}
	if len(p.ids) < len(v.ids) {
		p.wanted = false // an earlier pass may lie between
	}
	last := p.ids[len(p.ids)-1]
	if p.rows != nil {
		p.rows = p.rows[:slices.Index(again, last)+1]
		p.message = p.rows[len(p.rows)-1].MessageID
		return p, nil
	}
	err = l.db.QueryRowContext(ctx, l.sql.messageID, last, v.last.server).Scan(&p.message)
	if errors.Is(err, sql.ErrNoRows) {
		return pass{}, nil // it has gone since
	}
	return p, err
}

// give makes a pass, and reads its rows meanwhile where there are many. The bound is
// zero when another reader was first, or when the rows are not those that were seen.
func (l *Log) give(ctx context.Context, lane int, v view, p pass) (bound, []sqllog.Entry, error) {
	// A row's place is its id, moved up behind the last place given: in one
	// pass the order of ids, and constant for the whole statement.
	row := p.ids[len(p.ids)-1]
	add := v.next + l.leap() - p.ids[0]
	b := bound{server: v.last.server, place: row + add, row: row}

	reading, stop := context.WithCancel(ctx)
	defer stop()
	beside := make(chan []sqllog.Entry, 1)
	if p.wanted && p.rows == nil {
		go func() { beside <- l.rowsOf(reading, lane, v, p) }()
	} else {
		beside <- p.rows
	}
	start := time.Now()
	res, err := l.db.ExecContext(ctx, l.sql.number, list(p.ids), row, p.message, b.place+1, add, lane, v.next, b.server)
	took := time.Since(start)
	var n int64
	if err == nil {
		n, err = res.RowsAffected()
	}
	if n <= int64(len(p.ids)) {
		stop()
		<-beside
		return bound{}, nil, err
	}
	l.resize(len(p.ids), took)
	l.learn(lane, b)
	l.saw(lane, p.ids, v.checked, b)
	entries := <-beside
	if !p.wanted {
		return b, nil, nil
	}
	for i := range entries {
		entries[i].Position.ID = entries[i].ID + add
	}
	return b, entries, nil
}

// rowsOf reads the rows of a pass that is under way: nil when they cannot be had any
// more as they were seen.
func (l *Log) rowsOf(ctx context.Context, lane int, v view, p pass) []sqllog.Entry {
	rows, err := l.lookAtRows(ctx, lane, v, p.ids[len(p.ids)-1])
	if err != nil {
		return nil
	}
	i := 0
	rows = slices.DeleteFunc(rows, func(e sqllog.Entry) bool {
		for i < len(p.ids) && p.ids[i] < e.ID {
			i++
		}
		return i == len(p.ids) || p.ids[i] != e.ID // it has committed since
	})
	if len(rows) != len(p.ids) || rows[len(rows)-1].MessageID != p.message {
		return nil
	}
	return rows
}

// passFor is how many rows a pass takes of which so many are wanted at once: no more, so
// that they are read while they get their places, but for a reader of few.
func (l *Log) passFor(wanted int) int { return min(max(wanted, fewRows), l.passSize()) }

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

func (l *Log) look(ctx context.Context, lane int, after sqllog.Position, most int) (v view, err error) {
	v.unread = l.unreadNow()
	v.checked = v.unread.last[lane]
	args := append([]any{lane, after.Row, after.Row, after.ID, after.ID, lane, v.checked.row, v.checked.row, v.checked.place,
		lane, after.ID, lane}, v.unread.args()...)
	rows, err := l.db.QueryContext(ctx, l.sql.pending, append(args, most)...)
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
	rows, err := l.db.QueryContext(ctx, l.sql.pendingAgain, againArgs(lane, v, v.ids[len(v.ids)-1])...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err is checked below
	ids := make([]int64, 0, len(v.ids))
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// lookAtRows is lookAgain with the rows, which have no places yet.
func (l *Log) lookAtRows(ctx context.Context, lane int, v view, last int64) ([]sqllog.Entry, error) {
	rows, err := l.db.QueryContext(ctx, l.sql.pendingRows, againArgs(lane, v, last)...)
	if err != nil {
		return nil, err
	}
	return collect(rows, len(v.ids), lane, v.last.server)
}

func againArgs(lane int, v view, last int64) []any {
	return append(append([]any{lane}, v.unread.args()...), last, v.last.server)
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
