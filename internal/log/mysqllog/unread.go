package mysqllog

import (
	"maps"
	"math"
	"strings"
)

// maxSpans is the most ranges of ids that a look distinguishes.
const maxSpans = 8

// unread are the ids at which rows without a place may be in the table, or may still appear: all
// ids except those of rows known to have a place, in any lane. A row that gets its place leaves
// a dead entry in the index, which stays while any session keeps an old snapshot; a look that
// leaves such ids out passes over few of them.
//
// A missing id may belong to an open transaction, so it is never left out, at any age. If more
// ids are missing than spans can distinguish, the nearest spans are merged: a look then passes
// over the entries between them.
type unread struct {
	spans []span // ascending and disjoint; the last one has no end
	// last is, for each lane, the row with the greatest place among those left out. While it is
	// there, no crash has undone its pass, nor any before it.
	last map[int]bound
}

type span struct{ from, to int64 }

// everything is the initial state, without any known place.
func everything() unread {
	return unread{spans: []span{{0, math.MaxInt64}}, last: map[int]bound{}}
}

// on returns the state for a server: everything, if the state belongs to another one.
func (u unread) on(server string) unread {
	for _, b := range u.last {
		if b.server != server {
			return everything()
		}
	}
	return u
}

// without also leaves out further rows of a lane, of which last has the greatest place.
func (u unread) without(lane int, ids []int64, last bound) unread {
	spans := append(make([]span, 0, maxSpans+1), u.spans...)
	for _, id := range ids {
		spans = cut(spans, id)
	}
	lasts := maps.Clone(u.last)
	lasts[lane] = last
	return unread{spans, lasts}
}

// cut removes an id from its span.
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

// unreadNow returns the present state of the table.
func (l *Log) unreadNow() unread {
	if u := l.unread.Load(); u != nil {
		return *u
	}
	return everything()
}

// saw records rows of a lane that have places, up to last. A statement has found checked at its
// place, and then last or the rows: so no crash came between. If another reader has recorded
// rows behind checked since, saw records nothing, since these rows may be undone.
func (l *Log) saw(lane int, ids []int64, checked, last bound) {
	for {
		p := l.unread.Load()
		u := everything()
		if p != nil {
			u = p.on(last.server)
		}
		if had, ok := u.last[lane]; ok && had != checked {
			return
		}
		next := u.without(lane, ids, last)
		if l.unread.CompareAndSwap(p, &next) {
			return
		}
	}
}
