package counter

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/counter/driver"
)

// callLimit bounds one call of a round. A call that hangs, for example on a network that drops
// packets, is cancelled, and the next round retries; all other calls are much faster.
const callLimit = 30 * time.Second

// limitedStore cancels calls that hang. Add and Pending are bounded by [Counter].
type limitedStore struct{ driver.Store }

func (s limitedStore) Take(ctx context.Context, counter string, max int) ([]driver.Taken, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return s.Store.Take(ctx, counter, max)
}

func (s limitedStore) Aside(ctx context.Context, counter string) ([]driver.Taken, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return s.Store.Aside(ctx, counter)
}

func (s limitedStore) Forget(ctx context.Context, counter string, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return s.Store.Forget(ctx, counter, ids)
}

// limitedApplier cancels calls that hang.
type limitedApplier struct{ driver.Applier }

func (a limitedApplier) Lease(ctx context.Context, counter, holder string, ttl time.Duration) (driver.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return a.Applier.Lease(ctx, counter, holder, ttl)
}

func (a limitedApplier) Apply(ctx context.Context, l driver.Lease, b driver.Batch) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return a.Applier.Apply(ctx, l, b)
}

func (a limitedApplier) Prune(ctx context.Context, counter string, age time.Duration, limit int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return a.Applier.Prune(ctx, counter, age, limit)
}

// read reads changes, and is cancelled if it hangs.
func (f *flusher) read(ctx context.Context, after string) ([]Change, string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return f.cfg.Source.Read(ctx, after, f.cfg.Batch)
}

// trim drops change rows that were applied long ago, if the source can do so.
func (f *flusher) trim(ctx context.Context, applied string) (int, error) {
	t, ok := f.cfg.Source.(driver.Trimmer)
	if !ok || applied == "" {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return t.Trim(ctx, applied, f.cfg.Keep, careLimit)
}
