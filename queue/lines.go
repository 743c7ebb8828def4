package queue

import (
	"cmp"
	"slices"
	"time"
)

// idleAfter is the time without a use after which an event is forgotten. What a
// process knows of it is old then: it must not say when a room was lost that others
// have served since.
const idleAfter = 10 * time.Minute

// line returns the state of an event.
func (r *Room) line(event string, now time.Duration) *line {
	if known, ok := r.lines.Load(event); ok {
		l := known.(*line)
		if now-time.Duration(l.used.Load()) < idleAfter {
			l.touch(now)
			return l
		}
		r.drop(l)
	}
	l := newLine(r, event)
	l.used.Store(int64(now))
	if known, ok := r.lines.LoadOrStore(l.event, l); ok {
		return known.(*line)
	}
	if r.count.Add(1) > int64(r.cfg.MaxEvents) || int64(now) >= r.evict.Load() {
		r.forget(now, l)
	}
	return l
}

// forget drops the events that were not used for long, and an eighth of all when
// there are too many: first those without waiting users, then by their last use,
// and never the newest. A call that uses a dropped event ends as usual.
func (r *Room) forget(now time.Duration, newest *line) {
	if !r.evicting.TryLock() {
		return
	}
	defer r.evicting.Unlock()
	r.evict.Store(int64(now + idleAfter/10))
	type candidate struct {
		*line
		busy bool
		used int64
	}
	var all []candidate
	r.lines.Range(func(_, value any) bool {
		l := value.(*line)
		if l == newest {
			return true
		}
		state := l.state.Load()
		all = append(all, candidate{l, state != nil && state.Waiting+state.Active > 0, l.used.Load()})
		return true
	})
	slices.SortFunc(all, func(a, b candidate) int {
		if a.busy != b.busy {
			if b.busy {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.used, b.used)
	})
	excess := 0
	if len(all) >= r.cfg.MaxEvents {
		excess = len(all) - r.cfg.MaxEvents*7/8
	}
	for i, c := range all {
		if i >= excess && now-time.Duration(c.used) < idleAfter {
			continue
		}
		r.drop(c.line)
	}
}

// drop forgets an event.
func (r *Room) drop(l *line) {
	if r.lines.CompareAndDelete(l.event, l) {
		r.count.Add(-1)
	}
}
