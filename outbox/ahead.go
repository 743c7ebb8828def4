package outbox

import "context"

// next makes the batch at hand from what was read ahead, or reads one. It
// reports whether nothing was there.
func (s *shard) next(ctx context.Context) (idle bool, err error) {
	b, limit, err := s.fetch(ctx, s.mark, s.pace.limit)
	if err != nil {
		return false, s.stumble(ctx, err)
	}
	s.misses = 0
	if len(b.Items) == 0 {
		s.pace.idle()
		s.mark, s.moved = b.Next, true
		return true, nil
	}
	s.cur = s.newWork(b, len(b.Items) >= limit, false)
	return false, nil
}

// fetch returns what was read ahead after the mark, or reads it.
func (s *shard) fetch(ctx context.Context, after Mark, limit int) (Batch, int, error) {
	if a := s.ahead; a != nil {
		s.ahead = nil
		if a.wait(); a.err == nil {
			return a.batch, a.limit, nil
		}
	}
	call, cancel := s.call(ctx)
	defer cancel()
	b, err := s.r.store.Read(call, s.lease, Query{After: after, Limit: limit})
	return b, limit, err
}

// readAhead is the batch after the one at hand, being read meanwhile.
type readAhead struct {
	limit int
	batch Batch
	err   error
	done  chan struct{}
}

func (a *readAhead) wait() {
	if a != nil {
		<-a.done
	}
}

func (s *shard) readAhead(ctx context.Context, after Mark) {
	a := &readAhead{limit: s.pace.limit, done: make(chan struct{})}
	s.ahead = a
	lease := s.lease
	go func() {
		defer close(a.done)
		call, cancel := s.call(ctx)
		defer cancel()
		a.batch, a.err = s.r.store.Read(call, lease, Query{After: after, Limit: a.limit})
	}()
}
