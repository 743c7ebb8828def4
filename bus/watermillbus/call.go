package watermillbus

import (
	"context"
	"fmt"
)

// notCalled is the error of a call that has not called the adapter.
type notCalled struct{ error }

func (e notCalled) Unwrap() error { return e.error }

// call waits for do until the end of ctx, because many adapters ignore ctx. A later result of do
// is discarded.
func call[T any](ctx context.Context, d *adapter, do func(context.Context) (T, error), discard func(T)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, notCalled{context.Cause(ctx)}
	}
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return none, notCalled{errClosed}
	}
	d.calls.Add(1)
	d.mu.Unlock()

	type result struct {
		value T
		err   error
	}
	returned, left := make(chan result), make(chan struct{})
	go func() {
		defer d.calls.Done()
		value, err := guarded(ctx, do)
		select {
		case returned <- result{value, err}:
		case <-left:
			if err == nil && discard != nil {
				discard(value)
			}
		}
	}()
	select {
	case r := <-returned:
		return r.value, r.err
	case <-ctx.Done():
		close(left)
		return none, context.Cause(ctx)
	}
}

// guarded calls do, and makes an error of a panic: it would end the process, because no caller can
// recover it.
func guarded[T any](ctx context.Context, do func(context.Context) (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the adapter panicked: %v", p)
		}
	}()
	return do(ctx)
}
