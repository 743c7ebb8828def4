package outbox

import (
	"context"
	"slices"
	"time"

	"github.com/millrace-go/millrace/outbox/driver"
)

// While a failing event blocks its shard, the success of another event distinguishes a poison
// event from an unreachable broker. So untried events of other keys are published beside the
// attempts at failing events: events of the batch, or one from a further read if the batch has
// none left.

// choose makes a round careful, after a round in which all attempts failed: it tries the
// failing events that are due and some further events. Their number grows with each round, so
// that good events behind several poison events are found soon.
func (s *shard) choose(ctx context.Context, rd *round) error {
	rd.careful = true
	failing, front := rd.w.failingCount(), rd.w.front()
	if failing >= enoughFailing || (front != nil && s.r.cfg.Ordering == Strict && front.due.After(rd.start)) {
		return nil
	}
	n := 1 // a known outage ends with any success
	if s.outages == 0 {
		n = min(s.probing, enoughFailing-failing)
		s.probing = min(4*s.probing, enoughFailing)
	}
	if rd.probes = rd.w.untried(n); len(rd.probes) > 0 {
		return nil
	}
	return s.extend(ctx, rd)
}

// extend adds one event from behind the batch, if the batch is blocked and has no untried event
// left, and the evidence for a failing event is missing.
func (s *shard) extend(ctx context.Context, rd *round) error {
	w := rd.w
	if w.aside || !s.lacksEvidence(w, rd.start) || len(w.untried(1)) > 0 {
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
		return nil // no other event waits, so none is delayed
	}
	l := w.laneOf(w.items[i].Key)
	l.items = append(l.items, i)
	rd.probes = []int32{i}
	return nil
}

// lacksEvidence reports whether a round that begins now will try an event without evidence,
// which means that no event was published since its last attempt, and there are not enough
// failing events already. Under ByKey the event need not be due: a success would let the others
// pass.
func (s *shard) lacksEvidence(w *work, now time.Time) bool {
	n, lacks := 0, false
	seen := s.r.confirmed.Load()
	for i := range w.lanes {
		for _, f := range w.lanes[i].failing {
			n++
			lacks = lacks || s.r.cfg.Ordering == ByKey || (!f.due.After(now) && f.last.seen >= seen)
		}
	}
	return lacks && n < enoughFailing
}

// front returns the first failing event, or nil.
func (w *work) front() (first *failure) {
	for i := range w.lanes {
		for _, f := range w.lanes[i].failing {
			if first == nil || f.item < first.item {
				first = f
			}
		}
	}
	return first
}

// probeAfter returns how long a blocked batch waits at most for its next round.
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

// untried returns the first n items of the batch that wait and are not blocked, each of another
// key, in their order.
func (w *work) untried(n int) []int32 {
	var found []int32
	for i := range w.lanes {
		l, keys := &w.lanes[i], map[string]struct{}{}
		for _, i := range l.items {
			key := w.items[i].Key
			if _, had := keys[key]; w.state[i] != driver.Waiting || had || l.isBlocked(key) {
				continue
			}
			found, keys[key] = append(found, i), struct{}{}
			if len(keys) == n {
				break
			}
		}
	}
	slices.Sort(found)
	return found[:min(n, len(found))]
}

// fromSpare takes the first spare item that can be tried at once: an untried one whose key has
// no failing and no deferred events.
func (s *shard) fromSpare(w *work) (int32, bool) {
	var passed map[string]struct{} // keys with an earlier spare item
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

// append adds a further read to the batch. Pointers to earlier items become invalid.
func (w *work) append(b driver.Batch) {
	for _, it := range b.Items {
		w.spare = append(w.spare, int32(len(w.items)))
		w.items = append(w.items, it)
		w.state = append(w.state, driver.Waiting)
	}
	if b.Next != nil {
		w.next = b.Next
	}
}

// asideKeys returns how many deferred keys are tried at once.
func (s *shard) asideKeys() int {
	if s.stalled || s.outages > 0 {
		return slowFailures
	}
	return 100
}

// tryAside publishes deferred events of the given keys.
func (s *shard) tryAside(ctx context.Context, keys []string) error {
	limit := s.pace.bound(max(s.r.cfg.MinBatch, len(keys)))
	keys = keys[:min(len(keys), limit)]
	b, err := s.await(ctx, s.read(ctx, driver.Query{Keys: keys, Limit: limit}))
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
			if found[key] == 0 { // the limit was used up by other keys
				s.aside.postpone(key, time.Now().Add(s.r.cfg.Interval))
			}
		}
	}
	s.aside.refresh()
	if len(b.Items) > 0 {
		if err := s.round(ctx, s.newWork(b, s.spread(len(b.Items)), false, true)); err != nil {
			return err
		}
	}
	if s.cur != nil && len(s.cur.behind) > 0 {
		s.cur.due = time.Now()
	}
	return nil
}
