package sqlstore_test

import (
	"context"
	"slices"
	"testing"

	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
)

// refusing is a store of parked events beside a relay whose publisher refuses all of them: what is
// retried is parked again at once, in a new row.
type refusing struct {
	parked []int64
	next   int64
	calls  int
}

func (s *refusing) Parked(_ context.Context, after int64, limit int) (out []driver.ParkedEvent, _ error) {
	for _, id := range s.parked {
		if id > after && len(out) < limit {
			out = append(out, driver.ParkedEvent{ID: id})
		}
	}
	return out, nil
}

func (s *refusing) Retry(ctx context.Context, ids ...int64) (n int, _ error) {
	s.calls++
	for _, id := range ids {
		if i := slices.Index(s.parked, id); i >= 0 {
			s.parked = append(slices.Delete(s.parked, i, i+1), s.next)
			s.next++
			n++
		}
	}
	return n, ctx.Err()
}

func (s *refusing) RetryAll(ctx context.Context) (int, error) { return sqlstore.RetryAll(ctx, s) }

func (s *refusing) Stats(context.Context) ([]driver.ShardStats, error) {
	return []driver.ShardStats{{Parked: len(s.parked) - 1}, {Parked: 1}}, nil
}

func TestRetryAllEndsBesideARefusingPublisher(t *testing.T) {
	for _, n := range []int64{1, 500, 1200} {
		s := &refusing{next: n + 1}
		for id := range n {
			s.parked = append(s.parked, id+1)
		}
		ctx, cancel := context.WithCancel(t.Context())
		got, err := sqlstore.RetryAll(ctx, endless{s, cancel})
		if int64(got) != n || err != nil || s.parked[0] != n+1 {
			t.Errorf("of %d parked events %d were retried, %v; the first that is parked now is %d", n, got, err, s.parked[0])
		}
		cancel()
	}
}

// endless ends a RetryAll that goes on and on.
type endless struct {
	*refusing
	cancel func()
}

func (s endless) Retry(ctx context.Context, ids ...int64) (int, error) {
	if s.calls > 10 {
		s.cancel()
	}
	return s.refusing.Retry(ctx, ids...)
}
