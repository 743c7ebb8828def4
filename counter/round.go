package counter

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/counter/driver"
)

// Round is the result of one flush.
type Round struct {
	Counter string
	// Batches were applied, in this order.
	Batches []driver.Batch
	// Repeated are batches that were still aside although they had been applied, by a flusher
	// that crashed before it forgot them.
	Repeated []string
	// Discarded are deltas of the store that were dropped, because their rows are in the totals
	// by the [driver.Source].
	Discarded []driver.Taken
	// More says that the round reached its bound, with work left: Run continues at once.
	More bool
}

// takes and follows bound a round: how often it takes deltas aside, and how many batches of
// change rows it applies.
const (
	takes   = 64
	follows = 256
)

// flush is [Counter.Flush].
func (f *flusher) flush(ctx context.Context) (Round, error) {
	r := Round{Counter: f.counter}
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		f.stats.count(&r, ctx.Err())
		return r, ctx.Err()
	}
	defer func() { <-f.turn }()
	l, err := f.applier.Lease(ctx, f.counter, f.holder, f.cfg.Lease)
	if err == nil {
		if f.cfg.Source != nil {
			err = f.settle(ctx, l, &r)
		} else {
			err = f.drain(ctx, l, &r)
		}
		if err == nil {
			err = f.care(ctx, l)
		}
	}
	f.stats.count(&r, err)
	if f.cfg.Observe != nil && len(r.Batches)+len(r.Repeated)+len(r.Discarded) > 0 {
		f.cfg.Observe(r)
	}
	if err != nil {
		return r, fmt.Errorf("counter: flush %s: %w", f.counter, err)
	}
	return r, nil
}

// drain applies the store's deltas, first those that are aside already.
func (f *flusher) drain(ctx context.Context, l driver.Lease, r *Round) error {
	for {
		aside, err := f.store.Aside(ctx, f.counter)
		if err != nil {
			return err
		}
		if len(aside) == 0 {
			break
		}
		if err := f.applyAll(ctx, l, aside, r); err != nil {
			return err
		}
	}
	for range takes {
		taken, err := f.store.Take(ctx, f.counter, f.cfg.Batch)
		if err != nil {
			return err
		}
		if err := f.applyAll(ctx, l, taken, r); err != nil {
			return err
		}
		if !f.full(taken) {
			return nil
		}
	}
	r.More = true
	return nil
}

// full reports whether one of the batches is full, so that there may be more. Deltas added
// during a round are for the next one; otherwise the round of a busy counter would never end.
func (f *flusher) full(taken []driver.Taken) bool {
	return slices.ContainsFunc(taken, func(t driver.Taken) bool { return len(t.Deltas) >= f.cfg.Batch })
}

// applyAll applies batches of the store's deltas and forgets each one once it is applied, even
// if another flusher applied it.
func (f *flusher) applyAll(ctx context.Context, l driver.Lease, taken []driver.Taken, r *Round) error {
	for _, t := range taken {
		slices.SortFunc(t.Deltas, func(a, b driver.Delta) int { return cmp.Compare(a.Key, b.Key) })
		b := driver.Batch{ID: t.ID, Rows: len(t.Deltas), Deltas: t.Deltas}
		fresh, err := f.applier.Apply(ctx, l, b)
		if err != nil {
			return err
		}
		if fresh {
			r.Batches = append(r.Batches, b)
		} else {
			r.Repeated = append(r.Repeated, b.ID)
		}
		if err := f.store.Forget(ctx, f.counter, []string{t.ID}); err != nil {
			return err
		}
	}
	return nil
}

// settle applies the change rows, and then drops the deltas that were taken before the rows
// were read: a writer adds after its commit, so their rows have been read.
func (f *flusher) settle(ctx context.Context, l driver.Lease, r *Round) error {
	taken, lost := f.gather(ctx)
	if err := f.follow(ctx, l, r); err != nil {
		return errors.Join(err, lost)
	}
	if len(taken) == 0 || r.More {
		return lost
	}
	ids := make([]string, len(taken))
	for i := range taken {
		ids[i] = taken[i].ID
	}
	if err := f.store.Forget(ctx, f.counter, ids); err != nil {
		return errors.Join(err, lost)
	}
	r.Discarded = taken
	return lost
}

// gather takes deltas aside. If the store fails, the rows are still applied: the deltas aside
// are then dropped in a later round.
func (f *flusher) gather(ctx context.Context) ([]driver.Taken, error) {
	taken, err := f.store.Aside(ctx, f.counter)
	if err != nil {
		return nil, err
	}
	for range takes {
		more, err := f.store.Take(ctx, f.counter, f.cfg.Batch)
		if err != nil {
			return taken, err
		}
		if taken = append(taken, more...); !f.full(more) {
			return taken, nil
		}
	}
	return taken, nil
}

// savePosition is how often a position that moved without rows of this counter is saved.
const savePosition = time.Minute

// follow applies the change rows up to those that were committed when it began.
func (f *flusher) follow(ctx context.Context, l driver.Lease, r *Round) error {
	at := l.Position
	for range follows {
		changes, next, err := f.read(ctx, at)
		if err != nil {
			return err
		}
		if len(changes) > 0 || next != at && time.Since(f.saved) >= savePosition {
			b := driver.Batch{ID: strings.ToLower(rand.Text()), From: at, To: next, Rows: len(changes), Deltas: sums(changes)}
			verified := b
			if v, ok := f.cfg.Source.(driver.Verifier); ok {
				verified.Verify = func(ctx context.Context) error { return v.Verify(ctx, next) }
			}
			if _, err := f.applier.Apply(ctx, l, verified); err != nil {
				return err
			}
			f.saved = time.Now()
			if len(changes) > 0 {
				r.Batches = append(r.Batches, b)
			}
		}
		if at = next; len(changes) < f.cfg.Batch {
			return nil
		}
	}
	r.More = true
	return nil
}

// sums adds changes up, by key.
func sums(changes []Change) []driver.Delta {
	total := make(map[string]int64, len(changes))
	for _, c := range changes {
		total[c.Key] += c.N
	}
	out := make([]driver.Delta, 0, len(total))
	for _, key := range slices.Sorted(maps.Keys(total)) {
		if n := total[key]; n != 0 {
			out = append(out, driver.Delta{Key: key, N: n})
		}
	}
	return out
}

// careEvery is the interval at which old batches and rows are dropped, careLimit how many at
// once, and careSteps how often in one round. While there are more, every round continues.
const (
	careEvery = time.Minute
	careLimit = 1000
	careSteps = 10
)

func (f *flusher) care(ctx context.Context, l driver.Lease) error {
	if time.Since(f.cared) < careEvery {
		return nil
	}
	for range careSteps {
		batches, err := f.applier.Prune(ctx, f.counter, f.cfg.Keep, careLimit)
		if err != nil {
			return err
		}
		// The lease's position is from before this round, hence surely applied.
		rows, err := f.trim(ctx, l.Position)
		if err != nil {
			return err
		}
		if batches < careLimit && rows < careLimit {
			f.cared = time.Now()
			return nil
		}
	}
	return nil
}
