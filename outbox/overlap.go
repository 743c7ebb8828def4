package outbox

import (
	"context"
	"time"
)

// The rounds of two batches overlap: a lane that has published all its events of a batch goes on
// with those of the next batch, while other lanes still wait for the transport and while the
// batch is settled. A lane has all events of its keys, so their order stays. As soon as a lane
// fails, it publishes nothing of the next batch, and both batches become one.

// begin starts the round.
func (rd *round) begin() {
	go func() {
		defer close(rd.ended)
		rd.confirmed = rd.run()
	}()
}

// through reports whether an ended round has published its whole batch.
func (rd *round) through() bool {
	return !rd.stop.Load() && len(rd.confirmed) == len(rd.w.items)
}

// overlap begins the round of the batch that was read ahead, if both batches together are not
// larger than MaxBatch.
func (s *shard) overlap(ctx context.Context, rd *round) {
	a, lanes := s.ahead, len(rd.w.lanes)
	n := len(a.batch.Items)
	if a.err != nil || n == 0 || len(rd.w.items)+n > s.r.cfg.MaxBatch || s.spread(n) != lanes {
		return
	}
	b, limit, err := s.fetch(ctx, rd.w.next, s.limit())
	if err != nil {
		return // the lease is lost: the settlement of rd will say so
	}
	s.over = s.newRound(s.newWork(b, lanes, len(b.Items) >= limit, false))
	s.over.before, s.over.calm = rd.lanes, true
	s.over.begin()
	if s.over.w.full {
		s.readAhead(ctx, s.over.w.next)
	}
}

// join adds the ended round o, which overlapped rd, to rd: the failing events of rd are dealt
// with as if both batches had been read at once.
func (s *shard) join(rd, o *round) {
	s.over = nil
	w, offset := rd.w, int32(len(rd.w.items))
	w.items = append(w.items, o.w.items...)
	w.state = append(w.state, o.w.state...)
	w.next, w.full = o.w.next, o.w.full
	for i := range w.lanes {
		l, other := &w.lanes[i], &o.w.lanes[i]
		for _, n := range other.items {
			l.items = append(l.items, n+offset)
		}
		for _, f := range other.failing {
			f.item += offset
			l.failing = append(l.failing, f)
		}
		for key := range other.blocked {
			l.block(key)
		}
	}
	rd.confirmed = append(rd.confirmed, o.confirmed...)
	if rd.outage == nil {
		rd.outage, rd.culprit = o.outage, o.culprit
	}
	rd.hung = append(rd.hung, o.hung...)
}

// both calls f for the round, and for the one that overlaps it.
func (s *shard) both(rd *round, f func(*round)) {
	f(rd)
	if s.over != nil {
		f(s.over)
	}
}

// reap ends an overlapping round of which nothing can be settled, because the lease is lost, or the
// relay shuts down without a store.
func (s *shard) reap(ctx context.Context) {
	o := s.over
	if o == nil {
		return
	}
	o.stop.Store(true)
	s.revoke(nil)
	select {
	case <-o.ended:
	case <-ctx.Done():
		select {
		case <-o.ended:
		case <-time.After(grace):
			close(o.abandon)
		}
	}
	<-o.ended
	s.hung = append(s.hung, o.hung...)
	s.over = nil
}
