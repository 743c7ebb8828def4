package mysqllog

import (
	"math"
	"strings"

	"github.com/millrace-go/millrace/internal/sqllog"
)

// maxSpans is how many ranges of ids a look takes apart.
const maxSpans = 8

// unread is where rows without a place may be in a lane, or may still come up: all
// ids but those of rows that are known to have a place. A row that gets its place
// leaves a dead entry in the index, which stays while any session keeps an old
// snapshot; a look that leaves such ids out passes over few of them.
//
// An id that is missing may be of a transaction that is open, so it is never left out,
// however old it is. Where more ids are missing than spans can tell apart, the nearest
// spans become one: a look then passes over the entries between them.
type unread struct {
	// last is the row with the greatest place among those that are left out. While it
	// is there no crash has undone its pass, nor any before it.
	last  bound
	spans []span // ascending, apart from each other; the last one has no end
}

type span struct{ from, to int64 }

// everything is what is known of a lane at first.
func everything() unread { return unread{spans: []span{{0, math.MaxInt64}}} }

// without leaves further rows out, of which last has the greatest place.
func (u unread) without(ids []int64, last bound) unread {
	if last.server != u.last.server {
		u = everything()
	}
	spans := append(make([]span, 0, maxSpans+1), u.spans...)
	for _, id := range ids {
		spans = cut(spans, id)
	}
	if last.place < u.last.place {
		last = u.last
	}
	return unread{last, spans}
}

// cut takes an id out of its span.
func cut(spans []span, id int64) []span {
	for i, s := range spans {
		switch {
		case id > s.to:
			continue
		case id < s.from:
		case s.from == s.to:
			spans = append(spans[:i], spans[i+1:]...)
		case id == s.from:
			spans[i].from++
		case id == s.to:
			spans[i].to--
		default:
			spans = append(spans[:i+1], spans[i:]...)
			spans[i].to, spans[i+1].from = id-1, id+1
		}
		break
	}
	if len(spans) > maxSpans {
		nearest := 1
		for i := range spans[1:] {
			if spans[i+1].from-spans[i].to < spans[nearest].from-spans[nearest-1].to {
				nearest = i + 1
			}
		}
		spans[nearest-1].to = spans[nearest].to
		spans = append(spans[:nearest], spans[nearest+1:]...)
	}
	return spans
}

// inSpans is the condition that an id is in one of the spans; args are its parameters.
var inSpans = `(` + strings.Repeat(`id BETWEEN ? AND ? OR `, maxSpans-1) + `id >= ?)`

func (u unread) args() []any {
	args := make([]any, 0, 2*maxSpans-1)
	end := len(u.spans) - 1
	for _, s := range u.spans[:end] {
		args = append(args, s.from, s.to)
	}
	for len(args) < 2*maxSpans-2 {
		args = append(args, 0, -1) // none
	}
	return append(args, u.spans[end].from)
}

// unreadIn is what is known of a lane.
func (l *Log) unreadIn(lane int) unread {
	if u, ok := l.unread.Load(lane); ok {
		return u.(unread)
	}
	return everything()
}

// saw notes rows that have places, of which last has the greatest.
func (l *Log) saw(lane int, ids []int64, last bound) {
	if len(ids) > 0 {
		l.unread.Store(lane, l.unreadIn(lane).without(ids, last))
	}
}

// sawEntries is saw for entries in the order of their places.
func (l *Log) sawEntries(lane int, entries []sqllog.Entry) {
	ids := make([]int64, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	last := entries[len(entries)-1]
	l.saw(lane, ids, bound{server: last.Position.Server, place: last.Position.ID, row: last.ID})
}
