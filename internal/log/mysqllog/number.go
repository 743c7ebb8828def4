package mysqllog

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/sqltx"
)

const (
	// passSize is the initial number of rows that get their places in one statement. A pass that
	// takes longer than passSlow halves it, and one that takes less than passQuick doubles it,
	// up to passMost.
	passSize            = 1024
	passMost            = 4096
	passSlow, passQuick = 80 * time.Millisecond, 40 * time.Millisecond
	// leap bounds the random number of places that a pass leaves free before its own, so that a
	// place identifies its pass. At 100 passes a second 2^63 places last 5,500 years.
	leap = 1 << 20
	// fewRows get their places in one pass even if fewer are wanted.
	fewRows = 64
)

// bound is a row that has a place, as have all rows before it: the limit of reads. The zero
// bound is none.
type bound struct {
	server     string
	place, row int64
}

// number gives places to the newly committed rows of the lane, up to the limit of a statement,
// and returns the last row that has a place after the given position. Any reader may call it,
// several at once: the lane's row lets one of them through. It fails with log.ErrLeaseLost when
// the position is not in the log of this server.
func (l *Log) number(ctx context.Context, lane int, after log.Position) (bound, error) {
	p, err := l.numberAndRead(ctx, lane, after, 0, 0, nil)
	return p.end, err
}

// passed is the result of a pass, or of a look that found no rows.
type passed struct {
	end     bound       // the last row that has a place, if that is after the position; its server always
	entries []log.Entry // the rows with a place after the position; nil: they are to be read, up to end
	more    bool        // the pass left rows to another one
	next    *pass       // the next pass, if it is known already
}

// numberAndRead is number, and also returns the rows that have a place after the position, if
// these are the rows of the pass and at most limit; later is the number of rows that a later
// call will want. The pass is next, or is found by a look.
func (l *Log) numberAndRead(ctx context.Context, lane int, after log.Position, limit, later int, next *pass) (passed, error) {
	for ; ; next = nil {
		if next == nil {
			v, err := l.look(ctx, lane, after, l.unreadNow(), limit)
			switch {
			case err != nil:
				return passed{}, err
			case after.Server != "" && after.Server != v.last.server:
				return passed{}, elsewhere(after.Server, v.last.server)
			case !v.stands:
				l.unread.Store(nil)
				return passed{}, fmt.Errorf("%w: server %s has lost row %d, which was at place %d of lane %d",
					log.ErrLeaseLost, v.last.server, after.Row, after.ID, lane)
			case !v.whole:
				l.unread.Store(nil)
				continue
			case len(v.ids) == 0:
				if v.last.place > v.checked.place {
					l.saw(lane, nil, v.checked, v.last)
				}
				l.learn(lane, v.last)
				return passed{end: v.last}, nil
			case v.place == 0:
				if _, err := l.db.ExecContext(ctx, l.sql.createLane, lane); err != nil {
					return passed{}, err
				}
				continue
			}
			if next, err = l.agree(ctx, lane, v, limit); err != nil {
				return passed{}, err
			}
			if len(next.ids) == 0 {
				continue
			}
		}
		done, err := l.give(ctx, lane, *next, limit, later)
		if err != nil || done.end.row != 0 {
			return done, err
		}
		// Another reader was first, or a crash has removed rows: the rows without a place may
		// have changed.
	}
}

// pass are rows that may get places.
type pass struct {
	view
	wanted bool // no other row has a place after the position: the rows may be returned
}

// agree returns the view if it shows whole commits; otherwise it looks again and returns the ids
// in both, with the rows if they are wanted.
func (l *Log) agree(ctx context.Context, lane int, v view, limit int) (*pass, error) {
	p := &pass{view: v, wanted: v.last.row == 0 && len(v.ids) <= limit}
	if v.inOrder && (len(v.rows) > 0 || !p.wanted) {
		return p, nil
	}
	var again []seen
	var err error
	if p.wanted {
		p.rows, err = l.lookAtRows(ctx, lane, v)
		for i := range p.rows {
			again = append(again, seen{p.rows[i].ID, p.rows[i].MessageID})
		}
	} else {
		again, err = l.lookAgain(ctx, lane, v)
	}
	p.ids = Sure(v.ids, again, func(s seen) int64 { return s.id })
	n := len(p.ids)
	if err != nil || n == 0 {
		return p, err
	}
	if n < len(v.ids) {
		p.wanted = false // an earlier pass may be between
	}
	last := slices.IndexFunc(again, func(s seen) bool { return s.id == p.ids[n-1] })
	p.message = again[last].message
	if p.wanted {
		p.rows = p.rows[:n]
	}
	return p, nil
}

// give makes a pass, and during it looks for the next one if the pass leaves rows. Its end is
// zero when another reader was first, or when the rows are not those of the look.
func (l *Log) give(ctx context.Context, lane int, p pass, limit, later int) (passed, error) {
	// A row's place is its id, shifted behind the last place given: the order of ids in one
	// pass, and constant for the whole statement.
	row := p.ids[len(p.ids)-1]
	add := p.place + l.leap() - p.ids[0]
	done := passed{end: bound{server: p.last.server, place: row + add, row: row}, more: p.more}

	looking, stop := context.WithCancel(ctx)
	defer stop()
	ahead := make(chan *pass, 1)
	if p.wanted && p.more {
		wanted := cmp.Or(limit-len(p.ids), later)
		go func() { ahead <- l.ahead(looking, lane, p, done.end, wanted) }()
	} else {
		ahead <- nil
	}
	start := time.Now()
	n, err := l.place(ctx, lane, p, done.end.place+1, add)
	took := time.Since(start)
	if n <= int64(len(p.ids)) {
		stop()
		<-ahead
		return passed{}, err
	}
	l.resize(len(p.ids), took)
	l.learn(lane, done.end)
	l.saw(lane, p.ids, p.checked, done.end)
	if done.next = <-ahead; !p.wanted {
		return done, nil
	}
	for i := range p.rows {
		p.rows[i].Position.ID = p.rows[i].ID + add
	}
	done.entries = p.rows
	return done, nil
}

// place sends the statement of a pass. It returns the number of changed rows: those of the list
// and the lane's, or fewer.
func (l *Log) place(ctx context.Context, lane int, p pass, next, add int64) (int64, error) {
	query, args := l.placing(lane, p, next, add)
	res, err := l.db.ExecContext(ctx, query, args...)
	switch {
	case sqltx.IsConflict(err): // a deadlock with the pass of another reader
		return 0, nil
	case err != nil:
		return 0, err
	}
	return res.RowsAffected()
}

// placing returns that statement.
func (l *Log) placing(lane int, p pass, next, add int64) (query string, args []any) {
	first, last := p.ids[0], p.ids[len(p.ids)-1]
	if p.inOrder && last-first == int64(len(p.ids)-1) { // on MySQL, without gaps
		return l.sql.numberRange, []any{next, add, first, last, last, p.message, lane, p.place, p.last.server}
	}
	return l.sql.number, []any{list(p.ids), last, p.message, next, add, lane, p.place, p.last.server}
}

// ahead returns the pass behind one that is under way and ends at end, or nil if it is not
// certain. When it is made, the counter proves that the one under way succeeded, and that no
// other came between.
func (l *Log) ahead(ctx context.Context, lane int, under pass, end bound, limit int) *pass {
	u := under.unread.without(lane, under.ids, end)
	u.last = under.unread.last // end is not there yet
	v, err := l.look(ctx, lane, log.Position{}, u, limit)
	if err != nil || !v.whole || v.last.server != end.server {
		return nil
	}
	// Merged spans hold rows of the pass under way.
	underWay := func(id int64) bool { _, is := slices.BinarySearch(under.ids, id); return is }
	if len(v.ids) == 0 || underWay(v.ids[len(v.ids)-1]) {
		return nil
	}
	v.ids = slices.DeleteFunc(v.ids, underWay)
	v.rows = slices.DeleteFunc(v.rows, func(e log.Entry) bool { return underWay(e.ID) })
	v.place, v.checked, v.last = end.place+1, end, bound{server: end.server}
	p, err := l.agree(ctx, lane, v, limit)
	if err != nil || len(p.ids) == 0 {
		return nil
	}
	return p
}

// following is the next pass of a lane, for the reader that continues behind a position.
type following struct {
	after log.Position
	pass  *pass
}

func (l *Log) keepNext(lane int, after log.Position, p *pass) {
	if p != nil {
		l.next.Store(lane, following{after, p})
	}
}

// takeNext returns the stored pass, if it has at most max rows.
func (l *Log) takeNext(lane int, after log.Position, max int) *pass {
	v, _ := l.next.LoadAndDelete(lane)
	if f, ok := v.(following); ok && f.after == after && len(f.pass.ids) <= max {
		return f.pass
	}
	return nil
}

// passFor returns the number of rows in a pass for a reader of wanted rows: no more, so that they
// can be returned, unless the reader wants few. If several passes are needed, they have one size.
func (l *Log) passFor(wanted int) int {
	rows, size := max(wanted, fewRows), l.passSize()
	passes := (rows + size - 1) / size
	return (rows + passes - 1) / passes
}

func (l *Log) passSize() int { return int(cmp.Or(l.pass.Load(), passSize)) }

// resize adapts the size of a pass to the speed of the server and the size of the rows.
func (l *Log) resize(rows int, took time.Duration) {
	switch size := l.passSize(); {
	case took > passSlow:
		l.pass.Store(int64(max(size/2, passSize/8)))
	case took < passQuick && 2*rows > size: // a read of several passes has them of one size
		l.pass.Store(int64(min(2*size, passMost)))
	}
}

// elsewhere is log.ErrLeaseLost with the reason.
func elsewhere(read, now string) error {
	return fmt.Errorf("%w: the position was read on server %s, and this is %s", log.ErrLeaseLost, read, now)
}

// learn records up to where places were given. The statement that relies on it checks whether
// that still holds.
func (l *Log) learn(lane int, b bound) {
	if b.row != 0 {
		l.given.Store(lane, b)
	}
}

// known returns a row up to which places were given, on a position's server; there may be later
// ones.
func (l *Log) known(lane int, after log.Position) (bound, bool) {
	v, _ := l.given.Load(lane)
	b, _ := v.(bound)
	return b, b.place > after.ID && (after.Server == "" || after.Server == b.server)
}

func randomLeap() int64 { return 1 + rand.Int64N(leap) }

// list returns a JSON array of ids.
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
