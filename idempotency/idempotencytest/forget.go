package idempotencytest

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/idempotency/driver"
)

func forgetCases() []testCase {
	return []testCase{
		{Name: "forgotten-keys-are-new", Needs: []conformance.Need{NeedForgetter}, Run: forgottenKeys},
		{Name: "forget-many", Needs: []conformance.Need{NeedForgetter}, Run: forgetMany},
		{Name: "forget-no-empty-key", Needs: []conformance.Need{NeedForgetter}, Run: forgetEmptyKey},
	}
}

func forgetterOf(s driver.Store) driver.Forgetter {
	f, _ := s.(driver.Forgetter) //nolint:errcheck // the need is met
	return f
}

func forgottenKeys(ctx context.Context, h Harness) error {
	f := forgetterOf(h.Store)
	if err := recordKeys(ctx, h, "group:1", "group:2", "group:3", "other:1"); err != nil {
		return err
	}
	asked := []string{"group:1", "group:2", "group:1", "group:none"}
	if n, err := f.Recorded(ctx, asked); n != 2 || err != nil {
		return fmt.Errorf("Recorded of two recorded keys, one of them twice: %d, %w", n, orNil(err))
	}
	if n, err := f.Forget(ctx, asked); n != 2 || err != nil {
		return fmt.Errorf("Forget of two recorded keys, one of them twice: %d, %w", n, orNil(err))
	}
	if n, err := f.Forget(ctx, asked); n != 0 || err != nil {
		return fmt.Errorf("Forget again: %d, %w; want 0", n, orNil(err))
	}
	if n, err := seen(ctx, h, "group:3", "other:1"); n != 2 || err != nil {
		return fmt.Errorf("%d of the 2 other keys are recorded, %w", n, orNil(err))
	}
	for key, want := range map[string]bool{"group:1": true, "group:2": true, "group:3": false} {
		if fresh, err := h.Store.Once(ctx, record(key), func(context.Context) error { return nil }); fresh != want || err != nil {
			return fmt.Errorf("%s afterwards: fresh %v, %w; want %v", key, fresh, orNil(err), want)
		}
	}
	return nil
}

// forgetMany has too many keys for one statement.
func forgetMany(ctx context.Context, h Harness) error {
	f, keys := forgetterOf(h.Store), make([]string, 2500)
	for i := range keys {
		keys[i] = fmt.Sprintf("group:%d", i)
	}
	recorded := []string{keys[0], keys[999], keys[1000], keys[2499]}
	if err := recordKeys(ctx, h, recorded...); err != nil {
		return err
	}
	if n, err := f.Recorded(ctx, keys); n != len(recorded) || err != nil {
		return fmt.Errorf("Recorded of %d keys: %d, %w; want %d", len(keys), n, orNil(err), len(recorded))
	}
	if n, err := f.Forget(ctx, keys); n != len(recorded) || err != nil {
		return fmt.Errorf("Forget of %d keys: %d, %w; want %d", len(keys), n, orNil(err), len(recorded))
	}
	if n, err := seen(ctx, h, recorded...); n != 0 || err != nil {
		return fmt.Errorf("afterwards %d keys are recorded, %w", n, orNil(err))
	}
	return nil
}

func forgetEmptyKey(ctx context.Context, h Harness) error {
	f := forgetterOf(h.Store)
	if err := recordKeys(ctx, h, "group:1"); err != nil {
		return err
	}
	if _, err := f.Forget(ctx, []string{"group:1", ""}); !errors.Is(err, driver.ErrEmptyKey) {
		return fmt.Errorf("Forget with an empty key: %w; want ErrEmptyKey", orNil(err))
	}
	if n, err := seen(ctx, h, "group:1"); n != 1 || err != nil {
		return fmt.Errorf("the refused Forget left %d of 1 key, %w", n, orNil(err))
	}
	return nil
}
