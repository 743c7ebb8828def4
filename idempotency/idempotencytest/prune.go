package idempotencytest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/conformance"
)

func pruneCases() []testCase {
	return []testCase{
		{Name: "prune-keeps-newer", Needs: []conformance.Need{NeedPrune, NeedBackdate}, Run: pruneKeepsNewer},
		{Name: "prune-in-chunks", Needs: []conformance.Need{NeedPrune}, Run: pruneInChunks},
		{Name: "prune-bad-limit", Run: pruneBadLimit},
	}
}

func recordKeys(ctx context.Context, h Harness, keys ...string) error {
	for _, key := range keys {
		if _, err := h.Store.Once(ctx, record(key), func(context.Context) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

func seen(ctx context.Context, h Harness, keys ...string) (n int, err error) {
	for _, key := range keys {
		ok, err := h.Store.Seen(ctx, key)
		if err != nil {
			return 0, err
		}
		if ok {
			n++
		}
	}
	return n, nil
}

func pruneKeepsNewer(ctx context.Context, h Harness) error {
	// Another group has handled the event of an old key just now.
	old, young := []string{"group:o1", "group:o2", "group:o3"}, []string{"group:y1", "group:y2", "other:o1"}
	if err := recordKeys(ctx, h, append(old, young...)...); err != nil {
		return err
	}
	for _, key := range old {
		if err := h.Backdate(ctx, key, 2*time.Hour); err != nil {
			return fmt.Errorf("backdate %s: %w", key, err)
		}
	}
	n, err := h.Store.Prune(ctx, time.Now().Add(-time.Hour), 100)
	if n != len(old) || err != nil {
		return fmt.Errorf("Prune deleted %d, %w; want the %d keys of two hours ago", n, orNil(err), len(old))
	}
	left, err1 := seen(ctx, h, young...)
	gone, err2 := seen(ctx, h, old...)
	if err := errors.Join(err1, err2); err != nil || left != len(young) || gone != 0 {
		return fmt.Errorf("after Prune %d of %d young and %d old keys are recorded, %w", left, len(young), gone, orNil(err))
	}
	// A pruned key is new again.
	fresh, err := h.Store.Once(ctx, record(old[0]), func(context.Context) error { return nil })
	if err != nil || !fresh {
		return fmt.Errorf("a pruned key: fresh %v, %w; want true", fresh, orNil(err))
	}
	return nil
}

func pruneInChunks(ctx context.Context, h Harness) error {
	keys := []string{"group:1", "group:2", "group:3", "group:4", "group:5"}
	if err := recordKeys(ctx, h, keys...); err != nil {
		return err
	}
	if n, err := h.Store.Prune(ctx, time.Now().Add(-time.Hour), 100); n != 0 || err != nil {
		return fmt.Errorf("Prune of what is older than an hour deleted %d, %w; want 0", n, orNil(err))
	}
	left := len(keys)
	for _, want := range []int{2, 2, 1, 0} {
		n, err := h.Store.Prune(ctx, time.Now().Add(time.Hour), 2)
		if n != want || err != nil {
			return fmt.Errorf("Prune with a limit of 2 and %d keys left deleted %d, %w; want %d", left, n, orNil(err), want)
		}
		left -= n
		if got, err := seen(ctx, h, keys...); got != left || err != nil {
			return fmt.Errorf("after Prune %d keys are recorded, %w; want %d", got, orNil(err), left)
		}
	}
	return nil
}

func pruneBadLimit(ctx context.Context, h Harness) error {
	if err := recordKeys(ctx, h, "group:1"); err != nil {
		return err
	}
	for _, limit := range []int{0, -1} {
		if n, err := h.Store.Prune(ctx, time.Now().Add(time.Hour), limit); n != 0 || err == nil {
			return fmt.Errorf("Prune with a limit of %d deleted %d without an error", limit, n)
		}
	}
	return nil
}
