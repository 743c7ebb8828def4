package memratelimit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/internal/budget"
)

// store is a [driver.Store] in memory. It has no limits of its own: each call passes the
// plan.
type store struct {
	now func() time.Time

	mu    sync.Mutex
	state budget.State
}

var _ driver.Store = (*store)(nil)

// New returns an empty store: buckets fill from the first call on. Its clock is the time of New
// plus the elapsed time, so that setting the wall clock changes nothing.
func New() driver.Store {
	start := time.Now()
	return &store{now: func() time.Time { return start.Add(time.Since(start)) }}
}

// server is the name of this process' clock, the only one.
const server = "here"

// Acquire decides the runs; see [driver.Store].
func (s *store) Acquire(ctx context.Context, plan *driver.Plan, ask driver.Ask) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, fmt.Errorf("memratelimit: acquire: %w", err)
	}
	if err := budget.Check(plan, ask); err != nil {
		return driver.Grant{}, fmt.Errorf("memratelimit: acquire: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Acquire(plan, ask, s.moment()), nil
}

// Return gives a permit back; see [driver.Store].
func (s *store) Return(ctx context.Context, plan *driver.Plan, r driver.Returned) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memratelimit: return: %w", err)
	}
	if err := budget.CheckReturned(r); err != nil {
		return fmt.Errorf("memratelimit: return: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Return(plan, r, s.moment())
	return nil
}

func (s *store) moment() budget.Moment {
	return budget.Moment{Server: server, Now: s.now().UnixMicro()}
}
