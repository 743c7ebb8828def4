package memcounter

import (
	"context"
	"sync"
	"time"

	"github.com/millrace-go/millrace/counter/driver"
)

// applier is a [driver.Applier] in memory. Use NewApplier.
type applier struct {
	mu       sync.Mutex
	counters map[string]*totals
}

type totals struct {
	lease  driver.Lease
	until  time.Time
	totals map[string]int64
	notes  map[string]time.Time // batch id → the time of its application
}

var _ driver.Applier = (*applier)(nil)

// NewApplier makes an applier without totals.
func NewApplier() driver.Applier { return &applier{counters: map[string]*totals{}} }

// of returns the state of a counter; the lock is held.
func (a *applier) of(name string) *totals {
	t := a.counters[name]
	if t == nil {
		t = &totals{lease: driver.Lease{Counter: name}, totals: map[string]int64{}, notes: map[string]time.Time{}}
		a.counters[name] = t
	}
	return t
}

// Lease implements [driver.Applier].
func (a *applier) Lease(ctx context.Context, name, holder string, ttl time.Duration) (driver.Lease, error) {
	if err := ctx.Err(); err != nil {
		return driver.Lease{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.of(name)
	now := time.Now()
	if t.lease.Holder != holder && now.Before(t.until) {
		return driver.Lease{}, driver.ErrLeaseHeld
	}
	t.lease.Holder, t.until = holder, now.Add(ttl)
	t.lease.Token++
	return t.lease, nil
}

// Release implements [driver.Applier].
func (a *applier) Release(ctx context.Context, l driver.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.of(l.Counter); t.lease.Token == l.Token {
		t.until = time.Time{}
	}
	return nil
}

// Apply implements [driver.Applier].
func (a *applier) Apply(ctx context.Context, l driver.Lease, b driver.Batch) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.of(l.Counter)
	if t.lease.Token != l.Token {
		return false, driver.ErrLeaseLost
	}
	if _, applied := t.notes[b.ID]; applied {
		return false, nil
	}
	if b.Interval() {
		if t.lease.Position != b.From {
			return false, driver.ErrMoved
		}
	}
	if b.Verify != nil {
		if err := b.Verify(ctx); err != nil {
			return false, err
		}
	}
	if b.Interval() {
		t.lease.Position = b.To
	}
	for _, d := range b.Deltas {
		t.totals[d.Key] += d.N
	}
	if b.Rows > 0 {
		t.notes[b.ID] = time.Now()
	}
	return true, nil
}

// Totals implements [driver.Applier].
func (a *applier) Totals(ctx context.Context, name string, keys []string) (map[string]int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.of(name)
	out := make(map[string]int64, len(keys))
	for _, key := range keys {
		out[key] = t.totals[key]
	}
	return out, nil
}

// Prune implements [driver.Applier].
func (a *applier) Prune(ctx context.Context, name string, age time.Duration, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t, n := a.of(name), 0
	for id, at := range t.notes {
		if n < limit && time.Since(at) >= age {
			delete(t.notes, id)
			n++
		}
	}
	return n, nil
}
