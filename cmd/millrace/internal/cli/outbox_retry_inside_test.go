package cli

import (
	"context"
	"slices"
	"testing"

	"github.com/millrace-go/millrace/outbox/driver"
)

// sick is an outbox whose events are parked again as soon as they are retried, behind all others.
type sick struct {
	parked []int64
	calls  []int // how many ids each call of Retry had
	order  []int64
}

func (s *sick) Parked(_ context.Context, after int64, limit int) (out []driver.ParkedEvent, _ error) {
	for _, id := range s.parked {
		if id > after && len(out) < limit {
			out = append(out, driver.ParkedEvent{ID: id})
		}
	}
	return out, nil
}

func (s *sick) Retry(_ context.Context, ids ...int64) (n int, _ error) {
	s.calls, s.order = append(s.calls, len(ids)), append(s.order, ids...)
	for _, id := range ids {
		if i := slices.Index(s.parked, id); i >= 0 {
			last := s.parked[len(s.parked)-1]
			s.parked = append(slices.Delete(s.parked, i, i+1), last+1)
			n++
		}
	}
	return n, nil
}

func (s *sick) Failing(context.Context, int64, int) ([]driver.FailingEvent, error) {
	panic("not asked")
}
func (s *sick) RetryAll(context.Context) (int, error)              { panic("in one step") }
func (s *sick) Stats(context.Context) ([]driver.ShardStats, error) { panic("not asked") }

// Events that are parked again during a retry of all stay parked: else it would never end.
func TestRetryEnds(t *testing.T) {
	s := &sick{}
	for id := range int64(1203) {
		s.parked = append(s.parked, id+1)
	}
	var told []int
	done, missing, err := retry(t.Context(), s, nil, 1203, func(done int) { told = append(told, done) })
	if err != nil || done != 1203 || len(missing) != 0 || len(s.parked) != 1203 {
		t.Errorf("%d given back, %v missing, %d parked: %v", done, missing, len(s.parked), err)
	}
	if !slices.Equal(s.calls, []int{500, 500, 203}) || !slices.Equal(told, []int{500, 1000, 1203}) || !slices.IsSorted(s.order) {
		t.Errorf("in steps of %v, told %v, in order: %v", s.calls, told, slices.IsSorted(s.order))
	}
	_, missing, err = retry(t.Context(), s, []int64{1, 2, s.parked[0]}, 3, func(int) {})
	if err != nil || !slices.Equal(missing, []int64{1, 2}) {
		t.Errorf("missing %v: %v", missing, err)
	}
}
