package idempotencytest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

func forgetCases() []testCase {
	return []testCase{
		{Name: "forgotten-keys-are-new", Needs: []conformance.Need{NeedForgetter}, Run: forgottenKeys},
		{Name: "forget-many", Needs: []conformance.Need{NeedForgetter}, Run: forgetMany},
		{Name: "forget-while-it-runs", Needs: []conformance.Need{NeedForgetter}, Run: forgetRunning},
		{Name: "forget-no-empty-key", Needs: []conformance.Need{NeedForgetter}, Run: forgetEmptyKey},
	}
}

func forgetterOf(s driver.Store) driver.Forgetter {
	f, _ := s.(driver.Forgetter) //nolint:errcheck // the need is met
	return f
}

func forgottenKeys(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	f := forgetterOf(h.Store)
	steps.Do(recordKeys(ctx, h, "group:1", "group:2", "group:3", "other:1"))
	asked := []string{"group:1", "group:2", "group:1", "group:none"}
	steps.Do(count("Recorded of two recorded keys, one of them twice", 2)(f.Recorded(ctx, asked)))
	steps.Do(count("Forget of two recorded keys, one of them twice", 2)(f.Forget(ctx, asked)))
	steps.Do(count("Forget again", 0)(f.Forget(ctx, asked)))
	steps.Do(count("other keys that are recorded", 2)(seen(ctx, h, "group:3", "other:1")))
	for key, want := range map[string]bool{"group:1": true, "group:2": true, "group:3": false} {
		steps.Do(once(ctx, key+" afterwards", h.Store, key, want, nothing))
	}
	return nil
}

// forgetMany has too many keys for one statement.
func forgetMany(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	f, keys := forgetterOf(h.Store), make([]string, 2500)
	for i := range keys {
		keys[i] = fmt.Sprintf("group:%d", i)
	}
	recorded := []string{keys[0], keys[999], keys[1000], keys[2499]}
	steps.Do(recordKeys(ctx, h, recorded...))
	steps.Do(count("Recorded of many keys", len(recorded))(f.Recorded(ctx, keys)))
	steps.Do(count("Forget of many keys", len(recorded))(f.Forget(ctx, keys)))
	return count("keys that are recorded afterwards", 0)(seen(ctx, h, recorded...))
}

// forgetRunning forgets a key that a running call holds: no other call may run beside that one.
func forgetRunning(ctx context.Context, h Harness) error {
	other := ctx // not the handler's, which may end with it
	result := make(chan error, 1)
	var over atomic.Bool
	_, err := h.Store.Once(ctx, record("group:1"), func(context.Context) error {
		go func() {
			_, forgot := forgetterOf(h.Peer).Forget(other, []string{"group:1"})
			_, err := h.Peer.Once(other, record("group:1"), func(context.Context) error {
				if !over.Load() {
					return errors.New("after Forget a second handler ran beside the first")
				}
				return nil
			})
			result <- errors.Join(forgot, err)
		}()
		select { // most likely both have begun by then; if not, they must work as well
		case early := <-result:
			result <- early
		case <-time.After(h.window() / 2):
		}
		over.Store(true)
		return nil
	})
	return errors.Join(err, <-result)
}

func forgetEmptyKey(ctx context.Context, h Harness) error {
	f := forgetterOf(h.Store)
	if err := recordKeys(ctx, h, "group:1"); err != nil {
		return err
	}
	if _, err := f.Forget(ctx, []string{"group:1", ""}); !errors.Is(err, driver.ErrEmptyKey) {
		return fmt.Errorf("Forget with an empty key: %w; want ErrEmptyKey", orNil(err))
	}
	return count("keys that the refused Forget left", 1)(seen(ctx, h, "group:1"))
}
