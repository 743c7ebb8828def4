package outbox

import (
	"context"
	"time"
)

// While a failing event blocks its shard, somebody else's success is what tells
// a poison event from a broker that is away. So with each attempt at the event
// in front one untried event of another key is published too: of the batch, or
// of what is read on when the batch has none left.

// choose makes a round careful, after one in which nothing got through: it tries
// the failing events that are due, and one further.
func (s *shard) choose(ctx context.Context, rd *round) error {
	rd.probe = -2 // nothing
	if !s.wantsProbe(rd.w, rd.start) {
		return nil
	}
	if i, ok := rd.w.untried(); ok {
		rd.probe = i
		return nil
	}
	return s.extend(ctx, rd)
}

// extend adds one event from behind the batch, when the batch is blocked and has
// none of its own left to try.
func (s *shard) extend(ctx context.Context, rd *round) error {
	w := rd.w
	if w.aside || !s.wantsProbe(w, rd.start) || w.failingCount() == 0 {
		return nil
	}
	if _, ok := w.untried(); ok {
		return nil
	}
	i, ok := s.fromSpare(w)
	if !ok && len(w.items) < s.r.cfg.MaxBatch+s.r.cfg.MinBatch {
		b, _, err := s.fetch(ctx, w.next, s.r.cfg.MinBatch)
		if err != nil {
			return err
		}
		w.append(b)
		i, ok = s.fromSpare(w)
	}
	if !ok {
		return nil // nothing else waits, so nothing is held up
	}
	l := w.laneOf(w.items[i].Key)
	l.items = append(l.items, i)
	if rd.probe != all {
		rd.probe = i
	}
	return nil
}

// wantsProbe reports whether the event in front is tried in a round that begins
// now, and there are not enough failing events already. Under ByKey it need not
// be its turn: a success would let the others pass.
func (s *shard) wantsProbe(w *work, now time.Time) bool {
	var front *failure
	n := 0
	for i := range w.lanes {
		for _, f := range w.lanes[i].failing {
			n++
			if front == nil || f.item < front.item {
				front = f
			}
		}
	}
	if front == nil {
		return true
	}
	return n < enoughFailing && (s.r.cfg.Ordering == ByKey || !front.due.After(now))
}

// probeAfter is how long a blocked batch waits at most for its next round.
func (s *shard) probeAfter() time.Duration {
	if s.r.cfg.Ordering == ByKey {
		return s.r.cfg.Interval
	}
	return never
}

func (w *work) failingCount() (n int) {
	for i := range w.lanes {
		n += len(w.lanes[i].failing)
	}
	return n
}

// untried is the first item of the batch that waits and is not blocked.
func (w *work) untried() (int32, bool) {
	first, ok := int32(0), false
	for n := range w.lanes {
		l := &w.lanes[n]
		for _, i := range l.items {
			if w.state[i] == Waiting && !l.isBlocked(w.items[i].Key) {
				if !ok || i < first {
					first, ok = i, true
				}
				break
			}
		}
	}
	return first, ok
}

// fromSpare takes the first spare item that can be tried at once: an untried
// one of a key that neither fails nor stands aside.
func (s *shard) fromSpare(w *work) (int32, bool) {
	var passed map[string]struct{} // keys with an earlier item that stays
	for n, i := range w.spare {
		it := &w.items[i]
		_, behind := passed[it.Key]
		if behind || it.Attempts > 0 || s.aside.has(it.Key) || w.laneOf(it.Key).isBlocked(it.Key) {
			if passed == nil {
				passed = map[string]struct{}{}
			}
			passed[it.Key] = struct{}{}
			continue
		}
		w.spare = append(w.spare[:n:n], w.spare[n+1:]...)
		return i, true
	}
	return 0, false
}

// append reads the batch on. Nothing may point into items from before.
func (w *work) append(b Batch) {
	for _, it := range b.Items {
		w.spare = append(w.spare, int32(len(w.items)))
		w.items = append(w.items, it)
		w.state = append(w.state, Waiting)
	}
	if b.Next != nil {
		w.next = b.Next
	}
}

// asideKeys is how many keys are tried at once of those that stand aside.
func (s *shard) asideKeys() int {
	if s.stalled || s.outages > 0 {
		return failuresInARow
	}
	return 100
}

// tryAside publishes what stands aside of the given keys.
func (s *shard) tryAside(ctx context.Context, keys []string) error {
	limit := max(s.r.cfg.MinBatch, len(keys))
	call, cancel := s.call(ctx)
	b, err := s.r.store.Read(call, s.lease, Query{Keys: keys, Limit: limit})
	cancel()
	if err != nil {
		return s.stumble(ctx, err)
	}
	s.misses = 0
	found := map[string]int{}
	for i := range b.Items {
		found[b.Items[i].Key]++
		b.Items[i].Wait = 0 // the index says that it is due
	}
	if len(b.Items) < limit {
		for _, key := range keys {
			s.aside.correct(key, found[key])
		}
	} else {
		for _, key := range keys {
			if found[key] == 0 { // crowded out by the others
				s.aside.postpone(key, time.Now().Add(s.r.cfg.Interval))
			}
		}
	}
	s.aside.refresh()
	if len(b.Items) > 0 {
		if err := s.round(ctx, s.newWork(b, false, true)); err != nil {
			return err
		}
	}
	if s.cur != nil && len(s.cur.behind) > 0 {
		s.cur.due = time.Now()
	}
	return nil
}
