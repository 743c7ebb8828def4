package idempotencytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

func batchCases() []testCase {
	batch, db := []conformance.Need{NeedBatch}, []conformance.Need{NeedBatch, NeedDB}
	return []testCase{
		{Name: "batch-picks-the-new", Needs: batch, Run: batchPicksTheNew},
		{Name: "batch-all-or-nothing", Needs: batch, Run: batchAllOrNothing},
		{Name: "batch-odd-keys", Needs: batch, Run: batchOddKeys},
		{Name: "batch-large", Needs: batch, Run: batchLarge},
		{Name: "batch-takeover", Needs: batch, Run: batchTakeover},
		{Name: "batch-storm", Needs: batch, Run: batchStorm},
		{Name: "fresh-needs-a-transaction", Needs: batch, Run: freshNeedsTransaction},
		{Name: "fresh-in-a-handler", Needs: batch, Run: freshInHandler},
		{Name: "fresh-in-a-transaction", Needs: db, Run: freshInTransaction},
	}
}

func batchOf(s driver.Store) driver.BatchStore {
	b, _ := s.(driver.BatchStore) // Case.Needs has checked it
	return b
}

func records(keys ...string) []driver.Record {
	out := make([]driver.Record, len(keys))
	for i, key := range keys {
		out[i] = record(key)
	}
	return out
}

func positions(what string, got []int, err error, want ...int) error {
	if err != nil || !slices.Equal(got, want) {
		return fmt.Errorf("%s: new at %v, %w; want %v", what, got, orNil(err), want)
	}
	return nil
}

// batchPicksTheNew: in a batch with old and repeated keys the handler gets the new ones, once,
// in their order.
func batchPicksTheNew(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	e, s := newEffects(h), batchOf(h.Store)
	steps.Do(recordKeys(ctx, h, "group:old"))
	keys := []string{"group:z", "group:a", "group:z", "group:old", "group:m", "group:a"}
	ran := 0
	handler := func(ctx context.Context, fresh []int) error {
		ran++
		for _, i := range fresh {
			if err := e.do(ctx, keys[i], nil); err != nil {
				return err
			}
		}
		return positions("inside the handler", fresh, nil, 0, 1, 4)
	}
	fresh, err := s.OnceBatch(ctx, records(keys...), handler)
	steps.Do(positions("the first delivery", fresh, err, 0, 1, 4))
	fresh, err = s.OnceBatch(ctx, records(keys...), handler)
	steps.Do(positions("the second delivery", fresh, err))
	fresh, err = s.OnceBatch(ctx, nil, handler)
	steps.Do(positions("an empty batch", fresh, err))
	if ran != 1 {
		return fmt.Errorf("the handler ran %d times, want once: without new keys there is nothing to do", ran)
	}
	for _, key := range []string{"group:z", "group:a", "group:m"} {
		steps.Do(e.expect(ctx, "at the end", key, key, true, 1))
	}
	return once(ctx, "a key of the batch by itself", h.Store, "group:m", false, nothing)
}

// batchAllOrNothing: an error, a panic and an invalid key leave no key of the batch.
func batchAllOrNothing(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	e, s := newEffects(h), batchOf(h.Store)
	keys := []string{"group:1", "group:2"}
	nothing := func(when string) error {
		for _, key := range keys {
			if err := e.expect(ctx, when, key, key, false, 0); err != nil {
				return err
			}
		}
		return nil
	}
	both := func(ctx context.Context, result error) error {
		return errors.Join(e.do(ctx, keys[0], result), e.do(ctx, keys[1], result))
	}
	failing := func(ctx context.Context, _ []int) error { return both(ctx, errHandler) }
	if fresh, err := s.OnceBatch(ctx, records(keys...), failing); !errors.Is(err, errHandler) || len(fresh) != 0 {
		return fmt.Errorf("a failing handler: new at %v, %w; want none and the handler's error", fresh, orNil(err))
	}
	steps.Do(nothing("after the failure"))
	recovered := func() (p any) {
		defer func() { p = recover() }()
		_, err := s.OnceBatch(ctx, records(keys...), func(context.Context, []int) error { panic("boom") })
		return fmt.Sprintf("no panic, but error %v", err)
	}()
	if recovered != "boom" {
		return fmt.Errorf("the handler's panic came out as %v", recovered)
	}
	steps.Do(nothing("after the panic"))
	if _, err := s.OnceBatch(ctx, records(keys[0], "", keys[1]), func(context.Context, []int) error {
		return errors.New("the handler ran although a key is empty")
	}); !errors.Is(err, driver.ErrEmptyKey) {
		return fmt.Errorf("a batch with an empty key: %w; want ErrEmptyKey", orNil(err))
	}
	steps.Do(nothing("after the empty key"))
	fresh, err := s.OnceBatch(ctx, records(keys...), func(ctx context.Context, _ []int) error { return both(ctx, nil) })
	steps.Do(positions("the delivery after the failures", fresh, err, 0, 1))
	return e.expect(ctx, "at the end", keys[1], keys[1], true, 1)
}

// batchOddKeys: keys are compared byte by byte in batches too, and the same key is the same
// effect in a batch and alone.
func batchOddKeys(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	s := batchOf(h.Store)
	keys := append(odd(), long()...)
	half := len(keys) / 2
	steps.Do(recordKeys(ctx, h, keys[:half]...))
	all := make([]int, 0, half)
	for i := half; i < len(keys); i++ {
		all = append(all, i)
	}
	fresh, err := s.OnceBatch(ctx, records(keys...), func(context.Context, []int) error { return nil })
	steps.Do(positions("odd keys, half of them handled one by one", fresh, err, all...))
	return count("keys that are recorded after the batch", len(keys))(seen(ctx, h, keys...))
}

// batchLarge has a batch that is too large for one statement.
func batchLarge(ctx context.Context, h Harness) error {
	const n = 2345
	s := batchOf(h.Store)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("group:%d", i)
	}
	var first []string
	var all []int
	for i := 0; i < n; i += 2 {
		first, all = append(first, keys[i]), append(all, len(first))
	}
	ok := func(context.Context, []int) error { return nil }
	fresh, err := s.OnceBatch(ctx, records(first...), ok)
	if err != nil || !slices.Equal(fresh, all) {
		return fmt.Errorf("a batch of %d new keys: %d new, %w", len(first), len(fresh), orNil(err))
	}
	rand.Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	fresh, err = s.OnceBatch(ctx, records(keys...), ok)
	if err != nil || len(fresh) != n-len(first) || !slices.IsSorted(fresh) {
		return fmt.Errorf("a shuffled batch with %d new keys: %d new, sorted %v, %w", n-len(first), len(fresh), slices.IsSorted(fresh), orNil(err))
	}
	return nil
}
