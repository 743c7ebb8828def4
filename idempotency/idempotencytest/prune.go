package idempotencytest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/steps"
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
		if _, err := h.Store.Once(ctx, record(key), nothing); err != nil {
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

func pruneKeepsNewer(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	// Another group has handled the event of an old key just now.
	old, young := []string{"group:o1", "group:o2", "group:o3"}, []string{"group:y1", "group:y2", "other:o1"}
	steps.Do(recordKeys(ctx, h, append(old, young...)...))
	for _, key := range old {
		steps.Named(h.Backdate(ctx, key, 2*time.Hour), "backdate %s", key)
	}
	steps.Do(count("Prune of the keys of two hours ago", len(old))(h.Store.Prune(ctx, time.Hour, 100)))
	steps.Do(count("young keys that are recorded after Prune", len(young))(seen(ctx, h, young...)))
	steps.Do(count("old keys that are recorded after Prune", 0)(seen(ctx, h, old...)))
	// A pruned key is new again.
	return once(ctx, "a pruned key", h.Store, old[0], true, nothing)
}

func pruneInChunks(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	keys := []string{"group:1", "group:2", "group:3", "group:4", "group:5"}
	steps.Do(recordKeys(ctx, h, keys...))
	steps.Do(count("Prune of what is older than an hour", 0)(h.Store.Prune(ctx, time.Hour, 100)))
	left := len(keys)
	for _, want := range []int{2, 2, 1, 0} {
		steps.Do(count(fmt.Sprintf("Prune with a limit of 2 and %d keys left", left), want)(h.Store.Prune(ctx, -time.Hour, 2)))
		left -= want
		steps.Do(count("keys that are recorded after Prune", left)(seen(ctx, h, keys...)))
	}
	return nil
}

func pruneBadLimit(ctx context.Context, h Harness) error {
	if err := recordKeys(ctx, h, "group:1"); err != nil {
		return err
	}
	return refusesLimits(ctx, h.Store)
}

// refusesLimits prunes with limits that are too low.
func refusesLimits(ctx context.Context, s driver.Prunable) error {
	for _, limit := range []int{0, -1} {
		if n, err := s.Prune(ctx, -time.Hour, limit); n != 0 || err == nil {
			return fmt.Errorf("Prune with a limit of %d deleted %d without an error", limit, n)
		}
	}
	return nil
}
