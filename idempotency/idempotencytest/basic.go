package idempotencytest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/steps"
)

var errHandler = errors.New("the handler failed")

func basicCases() []testCase {
	return []testCase{
		{Name: "fresh-then-duplicate", Run: freshThenDuplicate},
		{Name: "error-leaves-no-key", Run: errorLeavesNoKey},
		{Name: "error-is-kept", Run: errorIsKept},
		{Name: "panic-leaves-no-key", Run: panicLeavesNoKey},
		{Name: "cancelled-context", Run: cancelledContext},
	}
}

func freshThenDuplicate(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	e, key := newEffects(h), "group:1"
	steps.Do(e.expect(ctx, "before", key, "one", false, 0))
	for i, want := range []bool{true, false, false} {
		steps.Do(once(ctx, fmt.Sprintf("delivery %d", i+1), h.Store, key, want, e.handler("one")))
		steps.Do(e.expect(ctx, fmt.Sprintf("after delivery %d", i+1), key, "one", true, 1))
	}
	return once(ctx, "another key", h.Store, "group:2", true, e.handler("two"))
}

func errorLeavesNoKey(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	e, key := newEffects(h), "group:1"
	for range 2 {
		fresh, err := h.Store.Once(ctx, record(key), func(ctx context.Context) error { return e.do(ctx, "one", errHandler) })
		if !errors.Is(err, errHandler) || fresh {
			return fmt.Errorf("a failing handler: fresh %v, %w; want false and the handler's error", fresh, orNil(err))
		}
		steps.Do(e.expect(ctx, "after the failure", key, "one", false, 0))
	}
	steps.Do(once(ctx, "the delivery after the failure", h.Store, key, true, e.handler("one")))
	return e.expect(ctx, "at the end", key, "one", true, 1)
}

func errorIsKept(ctx context.Context, h Harness) error {
	want := fault.MarkPermanent(fmt.Errorf("seat taken: %w", errHandler))
	_, err := h.Store.Once(ctx, record("group:1"), func(context.Context) error { return want })
	if !errors.Is(err, errHandler) || fault.Of(err) != fault.Permanent {
		return fmt.Errorf("the handler's permanent error came back as %w, class %v", orNil(err), fault.Of(err))
	}
	if err.Error() != want.Error() {
		return fmt.Errorf("the handler's error %q came back as %q", want, err)
	}
	return nil
}

func panicLeavesNoKey(ctx context.Context, h Harness) error {
	e, key := newEffects(h), "group:1"
	recovered := func() (p any) {
		defer func() { p = recover() }()
		_, err := h.Store.Once(ctx, record(key), func(ctx context.Context) error {
			if err := e.do(ctx, "panicked", nil); err != nil {
				return err
			}
			panic("boom")
		})
		return fmt.Sprintf("no panic, but error %v", err)
	}()
	if recovered != "boom" {
		return fmt.Errorf("the handler's panic came out as %v", recovered)
	}
	if seen, err := h.Store.Seen(ctx, key); seen || err != nil {
		return fmt.Errorf("after the panic: key recorded %v, %w", seen, orNil(err))
	}
	if err := once(ctx, "the delivery after the panic", h.Store, key, true, e.handler("one")); err != nil {
		return err
	}
	if h.DB != nil {
		if n, err := e.of(ctx, "panicked"); n != 0 || err != nil {
			return fmt.Errorf("the panicking handler left %d effects, %w", n, orNil(err))
		}
	}
	return e.expect(ctx, "at the end", key, "one", true, 1)
}

func cancelledContext(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	e, key := newEffects(h), "group:1"
	done, cancel := context.WithCancel(ctx)
	cancel()
	if fresh, err := h.Store.Once(done, record(key), e.handler("one")); !errors.Is(err, context.Canceled) || fresh {
		return fmt.Errorf("a cancelled delivery: fresh %v, %w; want false and context.Canceled", fresh, orNil(err))
	}
	steps.Do(e.expect(ctx, "after the cancelled delivery", key, "one", false, 0))

	// A duplicate that waits for a running call ends with its own context.
	waiting, giveUp := context.WithCancel(ctx)
	defer giveUp()
	steps.Get(h.Store.Once(ctx, record(key), func(ctx context.Context) error {
		result := make(chan error, 1)
		go func() {
			_, err := h.Store.Once(waiting, record(key), func(context.Context) error {
				return errors.New("it did not wait")
			})
			result <- err
		}()
		<-time.After(25 * time.Millisecond) // most likely it waits by now; if not, it must end all the same
		giveUp()
		select {
		case err := <-result:
			if !errors.Is(err, context.Canceled) {
				return fmt.Errorf("a waiting duplicate ended with %w, want context.Canceled", orNil(err))
			}
		case <-ctx.Done():
			return errors.New("a waiting duplicate did not heed its context")
		}
		return e.do(ctx, "one", nil)
	}))
	return e.expect(ctx, "at the end", key, "one", true, 1)
}
