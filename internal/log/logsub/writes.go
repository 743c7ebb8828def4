package logsub

import "context"

// Writes collects the writes of cursors within [Backend.Begin], for a server without transactions.
// W is one write. Collected writes are independent: a lost lease does not undo the others.
type Writes[W any] struct {
	// Make makes writes of one or several cursors, those of a cursor in their order.
	Make func(ctx context.Context, writes []W) error
}

// Add makes the writes: within Begin at its end, otherwise at once.
func (w *Writes[W]) Add(ctx context.Context, writes ...W) error {
	if within, ok := ctx.Value(w).(*[]W); ok {
		*within = append(*within, writes...)
		return nil
	}
	return w.make(ctx, writes)
}

// Begin is [Backend.Begin]. It makes no write if fn fails. A Begin within another joins it.
func (w *Writes[W]) Begin(ctx context.Context, fn func(ctx context.Context) error) error {
	if _, joins := ctx.Value(w).(*[]W); joins {
		return fn(ctx)
	}
	var collected []W
	if err := fn(context.WithValue(ctx, w, &collected)); err != nil {
		return err
	}
	return w.make(ctx, collected)
}

func (w *Writes[W]) make(ctx context.Context, writes []W) error {
	if len(writes) == 0 {
		return nil
	}
	return w.Make(ctx, writes)
}
