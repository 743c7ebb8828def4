package countertest_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/counter/countertest"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
)

// applier is a correct applier with one call replaced.
type applier struct {
	driver.Applier
	lease   func(ctx context.Context, a driver.Applier, name, holder string, ttl time.Duration) (driver.Lease, error)
	release func(ctx context.Context, a driver.Applier, l driver.Lease) error
	apply   func(ctx context.Context, a driver.Applier, l driver.Lease, b driver.Batch) (bool, error)
	totals  func(ctx context.Context, a driver.Applier, name string, keys []string) (map[string]int64, error)
	prune   func(ctx context.Context, a driver.Applier, name string, age time.Duration, limit int) (int, error)
}

func (a applier) Lease(ctx context.Context, name, holder string, ttl time.Duration) (driver.Lease, error) {
	if a.lease != nil {
		return a.lease(ctx, a.Applier, name, holder, ttl)
	}
	return a.Applier.Lease(ctx, name, holder, ttl)
}

func (a applier) Release(ctx context.Context, l driver.Lease) error {
	if a.release != nil {
		return a.release(ctx, a.Applier, l)
	}
	return a.Applier.Release(ctx, l)
}

func (a applier) Apply(ctx context.Context, l driver.Lease, b driver.Batch) (bool, error) {
	if a.apply != nil {
		return a.apply(ctx, a.Applier, l, b)
	}
	return a.Applier.Apply(ctx, l, b)
}

func (a applier) Totals(ctx context.Context, name string, keys []string) (map[string]int64, error) {
	if a.totals != nil {
		return a.totals(ctx, a.Applier, name, keys)
	}
	return a.Applier.Totals(ctx, name, keys)
}

func (a applier) Prune(ctx context.Context, name string, age time.Duration, limit int) (int, error) {
	if a.prune != nil {
		return a.prune(ctx, a.Applier, name, age, limit)
	}
	return a.Applier.Prune(ctx, name, age, limit)
}

// position returns a counter's position, whichever flusher has the lease.
func position(ctx context.Context, a driver.Applier, l driver.Lease) (driver.Lease, error) {
	return a.Lease(ctx, l.Counter, l.Holder, time.Hour)
}

// remembering returns an applier that remembers the newest lease of each counter, and those leases.
func remembering() (applier, func() []driver.Lease) {
	var mu sync.Mutex
	leases := map[string]driver.Lease{}
	a := applier{lease: func(ctx context.Context, a driver.Applier, name, holder string, ttl time.Duration) (driver.Lease, error) {
		l, err := a.Lease(ctx, name, holder, ttl)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			leases[name] = l
		}
		return l, err
	}}
	return a, func() []driver.Lease {
		mu.Lock()
		defer mu.Unlock()
		return slices.Collect(maps.Values(leases))
	}
}

func TestBrokenAppliers(t *testing.T) {
	applying := func(change func(l driver.Lease, b driver.Batch) driver.Batch) applier {
		return applier{apply: func(ctx context.Context, a driver.Applier, l driver.Lease, b driver.Batch) (bool, error) {
			return a.Apply(ctx, l, change(l, b))
		}}
	}
	leasing := func(change func(l *driver.Lease)) applier {
		return applier{lease: func(ctx context.Context, a driver.Applier, name, holder string, ttl time.Duration) (driver.Lease, error) {
			l, err := a.Lease(ctx, name, holder, ttl)
			change(&l)
			return l, err
		}}
	}
	var mu sync.Mutex
	renamed := map[string]int{}
	defects := map[[2]string]applier{
		{"gives the lease to all", "LeaseHeld"}: {lease: func(ctx context.Context, a driver.Applier, name, _ string, ttl time.Duration) (driver.Lease, error) {
			return a.Lease(ctx, name, "all", ttl)
		}},
		{"gives one token to all", "LeaseHeld"}: leasing(func(l *driver.Lease) { l.Token = 7 }),
		{"does not release", "LeaseHeld"}:       {release: func(context.Context, driver.Applier, driver.Lease) error { return nil }},
		{"gives leases too early", "LeaseHeld"}: {lease: func(ctx context.Context, a driver.Applier, name, holder string, _ time.Duration) (driver.Lease, error) {
			return a.Lease(ctx, name, holder, 0)
		}},
		{"fails when a lease is over", "LeaseEnds"}: {lease: func(ctx context.Context, a driver.Applier, name, holder string, ttl time.Duration) (driver.Lease, error) {
			if holder == "other" {
				return driver.Lease{}, errors.New("there was one before")
			}
			return a.Lease(ctx, name, holder, ttl)
		}},
		{"asks for no token", "LeaseLost"}: {apply: func(ctx context.Context, a driver.Applier, l driver.Lease, b driver.Batch) (bool, error) {
			if _, err := a.Apply(ctx, l, b); errors.Is(err, driver.ErrLeaseLost) {
				l.Token++
			}
			return a.Apply(ctx, l, b)
		}},
		{"asks for no token for an interval", "LeaseLost"}: {apply: func(ctx context.Context, a driver.Applier, l driver.Lease, b driver.Batch) (bool, error) {
			if fresh, err := a.Apply(ctx, l, b); !errors.Is(err, driver.ErrLeaseLost) || !b.Interval() {
				return fresh, err
			}
			l.Token++
			return a.Apply(ctx, l, b)
		}},
		{"asks for the holder, not its token", "LeaseLost"}: {apply: func(ctx context.Context, a driver.Applier, l driver.Lease, b driver.Batch) (bool, error) {
			now, err := position(ctx, a, l)
			if err != nil {
				return false, driver.ErrLeaseLost
			}
			return a.Apply(ctx, now, b)
		}},
		{"releases whatever there is", "ReleaseOld"}: {release: func(ctx context.Context, a driver.Applier, l driver.Lease) error {
			l.Token++
			return a.Release(ctx, l)
		}},
		{"applies twice", "AppliedOnce"}: applying(func(_ driver.Lease, b driver.Batch) driver.Batch {
			mu.Lock()
			defer mu.Unlock()
			renamed[b.ID]++
			b.ID += strings.Repeat("'", renamed[b.ID])
			return b
		}),
		{"drops what is below zero", "AppliedOnce"}: applying(func(_ driver.Lease, b driver.Batch) driver.Batch {
			if b.Deltas[0].N < 0 {
				b.Deltas = nil
			}
			return b
		}),
		{"does not look where it stands", "Interval"}: {apply: func(ctx context.Context, a driver.Applier, l driver.Lease, b driver.Batch) (bool, error) {
			now, err := position(ctx, a, l)
			if err != nil {
				return false, err
			}
			b.From = now.Position
			fresh, err := a.Apply(ctx, now, b)
			return fresh, err
		}},
		{"does not move", "Interval"}: applying(func(_ driver.Lease, b driver.Batch) driver.Batch {
			b.From, b.To = "", ""
			return b
		}),
		{"refuses what it applied", "Interval"}: {apply: func(ctx context.Context, a driver.Applier, l driver.Lease, b driver.Batch) (bool, error) {
			fresh, err := a.Apply(ctx, l, b)
			if err == nil && !fresh {
				err = driver.ErrMoved
			}
			return fresh, err
		}},
		{"does not look at the server", "OtherServer"}: leasing(func(l *driver.Lease) { l.Server = "1" }),
		{"verifies too late", "Verify"}: {apply: func(ctx context.Context, a driver.Applier, l driver.Lease, b driver.Batch) (bool, error) {
			verify := b.Verify
			b.Verify = nil
			fresh, err := a.Apply(ctx, l, b)
			return fresh, errors.Join(err, verify(ctx))
		}},
		{"moves for rows only", "EmptyInterval"}: {apply: func(ctx context.Context, a driver.Applier, l driver.Lease, b driver.Batch) (bool, error) {
			if len(b.Deltas) == 0 {
				return true, nil
			}
			return a.Apply(ctx, l, b)
		}},
		{"notes what has no rows", "EmptyInterval"}: applying(func(_ driver.Lease, b driver.Batch) driver.Batch {
			b.Rows = max(b.Rows, 1)
			return b
		}),
		{"mixes keys", "Totals"}: applying(func(_ driver.Lease, b driver.Batch) driver.Batch {
			for i := range b.Deltas {
				b.Deltas[i].Key = strings.TrimSpace(b.Deltas[i].Key)
			}
			return b
		}),
		{"adds in floats", "Totals"}: applying(func(_ driver.Lease, b driver.Batch) driver.Batch {
			for i := range b.Deltas {
				b.Deltas[i].N = int64(float64(b.Deltas[i].N))
			}
			return b
		}),
		{"mixes positions", "CountersApart"}: leasing(func(l *driver.Lease) { l.Position = "p1" }),
		{"mixes totals", "CountersApart"}: {totals: func(ctx context.Context, a driver.Applier, _ string, keys []string) (map[string]int64, error) {
			return map[string]int64{"a": 1}, nil
		}},
		{"moves all counters with one", "CountersApart"}: func() applier {
			a, all := remembering()
			a.apply = func(ctx context.Context, a driver.Applier, l driver.Lease, b driver.Batch) (bool, error) {
				fresh, err := a.Apply(ctx, l, b)
				for _, m := range all() {
					if m.Counter != l.Counter && err == nil {
						_, err = a.Apply(ctx, m, driver.Batch{ID: b.ID + m.Counter, From: b.From, To: b.To})
					}
				}
				return fresh, err
			}
			return a
		}(),
		{"releases all counters with one", "CountersApart"}: func() applier {
			a, all := remembering()
			a.release = func(ctx context.Context, a driver.Applier, _ driver.Lease) (err error) {
				for _, m := range all() {
					err = errors.Join(err, a.Release(ctx, m))
				}
				return err
			}
			return a
		}(),
		{"forgets too early", "Prune"}: {prune: func(ctx context.Context, a driver.Applier, name string, _ time.Duration, limit int) (int, error) {
			return a.Prune(ctx, name, 0, limit)
		}},
		{"forgets without limit", "Prune"}: {prune: func(ctx context.Context, a driver.Applier, name string, age time.Duration, _ int) (int, error) {
			return a.Prune(ctx, name, age, 1000)
		}},
		{"applies some twice", "Concurrent"}: {apply: func(ctx context.Context, a driver.Applier, l driver.Lease, b driver.Batch) (bool, error) {
			fresh, err := a.Apply(ctx, l, b)
			if err == nil && !fresh {
				_, err = a.Apply(ctx, l, driver.Batch{ID: b.ID + "'", Rows: 1, Deltas: b.Deltas})
			}
			return fresh, err
		}},
	}
	var all []conformance.Mutant[countertest.ApplierHarness]
	for names, a := range defects {
		all = append(all, conformance.Mutant[countertest.ApplierHarness]{Name: names[0], Cases: names[1:], Open: func(*testing.T) countertest.ApplierHarness {
			a.Applier = memcounter.NewApplier()
			return countertest.ApplierHarness{Applier: a}
		}})
	}
	countertest.ApplierSuite().Mutants(t, all)
}
