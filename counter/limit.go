package counter

import (
	"context"
	"time"
)

// callLimit is how long one call of a round may take. One that hangs, on a network
// that swallows packets, is given up, and the next round tries again; in any other
// case it is far more than enough.
const callLimit = 30 * time.Second

// limitedStore gives up calls that hang. Add and Pending are bounded by [Counter].
type limitedStore struct{ Store }

func (s limitedStore) Take(ctx context.Context, counter string, max int) ([]Taken, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return s.Store.Take(ctx, counter, max)
}

func (s limitedStore) Aside(ctx context.Context, counter string) ([]Taken, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return s.Store.Aside(ctx, counter)
}

func (s limitedStore) Forget(ctx context.Context, counter string, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return s.Store.Forget(ctx, counter, ids)
}

// limitedApplier gives up calls that hang.
type limitedApplier struct{ Applier }

func (a limitedApplier) Lease(ctx context.Context, counter, holder string, ttl time.Duration) (Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return a.Applier.Lease(ctx, counter, holder, ttl)
}

func (a limitedApplier) Apply(ctx context.Context, l Lease, b Batch) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return a.Applier.Apply(ctx, l, b)
}

func (a limitedApplier) Prune(ctx context.Context, counter string, age time.Duration, limit int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return a.Applier.Prune(ctx, counter, age, limit)
}

// read reads changes, and gives up when that hangs.
func (f *Flusher) read(ctx context.Context, after string) ([]Change, string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return f.cfg.Source.Read(ctx, after, f.cfg.Batch)
}

// trim drops change rows that were applied long ago, when the source can do so.
func (f *Flusher) trim(ctx context.Context, applied string) (int, error) {
	t, ok := f.cfg.Source.(Trimmer)
	if !ok || applied == "" {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return t.Trim(ctx, applied, f.cfg.Keep, careLimit)
}
