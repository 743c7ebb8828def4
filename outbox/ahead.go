package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/millrace-go/millrace/outbox/driver"
)

// next makes the next batch the current one: the one whose round has begun, or that was read
// ahead, or that it reads. It reports whether the batch is empty.
func (s *shard) next(ctx context.Context) (idle bool, err error) {
	if s.over != nil {
		s.cur = s.over.w
		return false, nil
	}
	b, limit, err := s.fetch(ctx, s.mark, s.limit())
	if err != nil {
		return false, s.stumble(ctx, err)
	}
	s.misses = 0
	if len(b.Items) == 0 {
		s.pace.idle()
		s.mark, s.moved = b.Next, true
		return true, nil
	}
	s.cur = s.newWork(b, s.spread(len(b.Items)), len(b.Items) >= limit, false)
	return false, nil
}

// fetch returns the batch that was read ahead after the mark, or reads it.
func (s *shard) fetch(ctx context.Context, after driver.Mark, limit int) (driver.Batch, int, error) {
	if a := s.ahead; a != nil {
		s.ahead = nil
		b, err := s.await(ctx, a)
		if err == nil || errors.Is(err, driver.ErrLeaseLost) {
			return b, a.query.Limit, err
		}
	}
	a := s.read(ctx, driver.Query{After: after, Limit: limit})
	b, err := s.await(ctx, a)
	return b, a.query.Limit, err
}

// limit returns how many events are read at once: half a batch, so that the rounds of both halves
// overlap, and a whole one for a publisher that nothing waits for.
func (s *shard) limit() int {
	if s.r.quick() {
		return s.pace.limit
	}
	return max(min(s.r.cfg.MinBatch, s.pace.limit), s.pace.limit/2)
}

func (s *shard) readAhead(ctx context.Context, after driver.Mark) {
	s.ahead = s.read(ctx, driver.Query{After: after, Limit: s.limit()})
}

// reading is a read of the store in flight.
type reading struct {
	query  driver.Query
	cancel context.CancelFunc
	done   chan struct{}

	// Valid once done is closed.
	batch driver.Batch
	err   error
	slow  bool // the read failed because it took too long
	took  time.Duration
}

// read begins to read; after a slow read it asks for fewer events than q.Limit.
func (s *shard) read(ctx context.Context, q driver.Query) *reading {
	q.Limit = s.pace.bound(q.Limit)
	call, cancel := s.r.call(ctx)
	a := &reading{query: q, cancel: cancel, done: make(chan struct{})}
	lease := s.lease
	go func() {
		defer close(a.done)
		defer cancel()
		began := time.Now()
		a.batch, a.err = s.r.store.Read(call, lease, q)
		a.took = time.Since(began)
		a.slow = a.err != nil && ctx.Err() == nil && (tooSlow(a.err) || call.Err() != nil)
	}()
	return a
}

// tooSlow reports whether an error is a timeout.
func tooSlow(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, driver.ErrSlow) || (errors.As(err, &t) && t.Timeout())
}

// await returns the batch of a read. It renews the lease while it waits.
func (s *shard) await(ctx context.Context, a *reading) (driver.Batch, error) {
	timer := time.NewTimer(time.Until(s.term.Next()))
	defer timer.Stop()
	for {
		select {
		case <-a.done:
		case <-timer.C:
			if err := s.renew(ctx); errors.Is(err, driver.ErrLeaseLost) {
				a.cancel()
				<-a.done
				return driver.Batch{}, err
			}
			timer.Reset(time.Until(s.term.Next()))
			continue
		}
		switch {
		case a.slow:
			if s.pace.slow(a.query.Limit, a.took) {
				s.r.cfg.Logger.Warn("outbox: reading took too long; asking for fewer events", "shard", s.id,
					"asked", a.query.Limit, "next", s.pace.cap, "took", a.took, "error", a.err)
				return driver.Batch{}, &lessError{a.err}
			}
		case a.err == nil:
			s.pace.read(a.batch.Items, a.query.Limit, a.took)
		}
		return a.batch, a.err
	}
}

// lessError is the error of a read that is retried at once with a smaller limit.
type lessError struct{ err error }

func (e *lessError) Error() string { return e.err.Error() }
func (e *lessError) Unwrap() error { return e.err }

// forget cancels a read whose batch is not used.
func (a *reading) forget() {
	if a != nil {
		a.cancel()
		<-a.done
	}
}
